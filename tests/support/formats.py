"""The golden files of formats: which traits they show, and specs that adopt them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.table.schema import full_record_schema, parquet_schema
from framework.vocabulary import SourceTrait
from tests.support.writing import run_spec

__all__ = ["FORMAT_FILES", "READ", "RIGHT", "TRAITS", "adopted", "adopting", "upsert_into"]

FORMAT_FILES: Final[Mapping[str, Path]] = {
    file.stem: file
    for file in sorted((Path(__file__).parents[1] / "golden" / "formats").glob("*.parquet"))
}

TRAITS: Final[Mapping[str, SourceTrait]] = {
    "codec-brotli": SourceTrait.BROTLI,
    "duckdb-brotli": SourceTrait.BROTLI,
    "polars-brotli": SourceTrait.BROTLI,
    "codec-lz4": SourceTrait.LZ4,
    "codec-lzo": SourceTrait.LZO,
    "codec-unknown": SourceTrait.UNKNOWN_CODEC,
    "split-float": SourceTrait.BYTE_STREAM_SPLIT,
    "split-double": SourceTrait.BYTE_STREAM_SPLIT,
    "split-int32": SourceTrait.BYTE_STREAM_SPLIT,
    "split-int64": SourceTrait.BYTE_STREAM_SPLIT,
    "split-fixed": SourceTrait.BYTE_STREAM_SPLIT,
    "split-decimal": SourceTrait.BYTE_STREAM_SPLIT,
    "duckdb-v2": SourceTrait.BYTE_STREAM_SPLIT,
    "decimal-int-9": SourceTrait.DECIMAL_INTEGER,
    "decimal-int-18": SourceTrait.DECIMAL_INTEGER,
    "duckdb-decimal": SourceTrait.DECIMAL_PADDED,
    "decimal-bytes": SourceTrait.DECIMAL_BYTES,
    "decimal-bytes-wide": SourceTrait.DECIMAL_BYTES_WIDE,
    "duckdb-variant": SourceTrait.VARIANT,
    "geometry": SourceTrait.GEOMETRY,
    "geography": SourceTrait.GEOGRAPHY,
    "interval": SourceTrait.INTERVAL,
    "duckdb-interval": SourceTrait.INTERVAL,
    "type-unknown": SourceTrait.UNKNOWN_TYPE,
    "json": SourceTrait.JSON,
    "duckdb-json": SourceTrait.JSON,
    "list-bare": SourceTrait.LIST_BARE,
    "list-item": SourceTrait.LIST_NAMES,
    "list-bag": SourceTrait.LIST_NAMES,
    "list-two-level": SourceTrait.LIST_TWO_LEVEL,
    "fixed": SourceTrait.FIXED_BINARY,
    "delta-fixed": SourceTrait.FIXED_BINARY,
}
"""Files with a trait of codec, encoding or type; the others have none."""

NOT_READ = {SourceTrait.LZO, SourceTrait.UNKNOWN_CODEC}
READ: Final = [name for name, trait in TRAITS.items() if trait not in NOT_READ]
"""Golden files with a trait that pyarrow reads, so that there is something to compare with."""

RIGHT: Final = (
    *("bloom", "bson", "codec-gzip", "codec-lz4-raw", "codec-zstd", "date", "decimal", "enum"),
    *("delta-int32", "delta-text", "duckdb-enum", "duckdb-lz4", "list", "list-null", "pages-v2"),
    *("polars-array", "polars-categorical", "polars-decimal", "polars-zstd", "rle-boolean"),
)
"""Golden files of no trait, which all engines read and upsert."""


def adopted(name: str, folder: Path, mode: str = "metadata_only") -> Path:
    """Adopt one golden file and return the table's location."""
    run_spec(adopting(name, folder, mode), folder)
    return folder / "table"


def upsert_into(name: str) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Return the rows of a golden file, a changed row and a new one, and all rows afterwards."""
    file = pq.ParquetFile(FORMAT_FILES[name])
    rows = file.read().cast(full_record_schema(parquet_schema(file.metadata)))
    changed = rows.slice(0, 1).set_column(1, "v", pa.array(["new"]))
    added = rows.slice(1, 1).set_column(0, "id", pa.array([100], pa.int64()))
    return rows, pa.concat_tables([changed, added]), pa.concat_tables([changed, rows[1:], added])


def adopting(name: str, folder: Path, mode: str) -> dict[str, Any]:
    """Return a spec that adopts one golden file, copied below `folder`, in one mode."""
    source = folder / "source"
    source.mkdir()
    shutil.copy(FORMAT_FILES[name], source / "part.parquet")
    key = {"columns": ["id"], "unique_within": "table"}
    return {
        "version": 1,
        "table": {
            "name": "formats.one",
            "location": str(folder / "table"),
            "type": "copy_on_write",
            "record_key": key,
            "ordering": "commit_time",
        },
        "bootstrap": {"path": str(source), "layout": "none", "mode": mode},
    }
