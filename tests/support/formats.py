"""The golden files of formats: which traits they show, and specs that adopt them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from framework.vocabulary import SourceTrait

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FORMAT_FILES", "TRAITS", "adopting"]

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
}
"""Files with a trait of codec, encoding or type; the others have none."""


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
