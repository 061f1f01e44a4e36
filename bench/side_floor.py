"""The lower bound: pyarrow alone, key columns to skeletons; no bloom, proof, index or commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

__all__ = ["start"]

INSTANT = "00000000000001"
CONSTANTS = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_file_name")
NAMES = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
DELTAS = {"_hoodie_commit_seqno": "DELTA_BYTE_ARRAY", "_hoodie_record_key": "DELTA_BYTE_ARRAY"}


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Return the only action; no Spark."""
    pa.set_cpu_count(int(settings["cores"]))

    def bootstrap(source: str, target: str, keys: Sequence[str], **_: object) -> None:
        """Write a skeleton for each source file, one after another."""
        for number, path in enumerate(sorted(Path(source).rglob("*.parquet"))):
            out = Path(target) / path.relative_to(source)
            out.parent.mkdir(parents=True, exist_ok=True)
            partition = path.parent.relative_to(source).as_posix()
            columns = pq.read_table(path, columns=list(keys), partitioning=None)
            _write(_skeleton(columns, partition, number), out)

    return {"bootstrap": bootstrap}


def _skeleton(columns: pa.Table, partition: str, number: int) -> pa.Table:
    """Return the five meta columns of one file."""
    rows = columns.num_rows
    indices = pa.array(np.zeros(rows, np.int32))
    sequence = pc.binary_join_element_wise(
        f"{INSTANT}_{number}", pa.array(np.arange(rows)).cast(pa.string()), "_"
    )
    values = (
        pa.DictionaryArray.from_arrays(indices, [INSTANT]),
        sequence,
        _keys(columns),
        pa.DictionaryArray.from_arrays(indices, [partition]),
        pa.DictionaryArray.from_arrays(indices, [f"{number}_0-0-0_{INSTANT}.parquet"]),
    )
    return pa.table(dict(zip(NAMES, values, strict=True)))


def _keys(columns: pa.Table) -> pa.ChunkedArray:
    """Return the key text: bare for one column, `name:value,…` for several."""
    texts = [column.cast(pa.string()) for column in columns.columns]
    if len(texts) == 1:
        return texts[0]
    named = (
        pc.binary_join_element_wise(f"{name}:", text, "")
        for name, text in zip(columns.column_names, texts, strict=True)
    )
    return pc.binary_join_element_wise(*named, ",")


def _write(skeleton: pa.Table, path: Path) -> None:
    """Write one skeleton with fitting encodings."""
    pq.write_table(
        skeleton,
        path,
        compression="zstd",
        use_dictionary=list(CONSTANTS),
        column_encoding=DELTAS,
        store_schema=False,
    )
