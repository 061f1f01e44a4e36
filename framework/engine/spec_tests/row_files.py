"""Rows of a test as Parquet files, as a source or the source of a bootstrap has them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.table.partition_path import PartitionField, PartitionValue, render_partition
from framework.vocabulary import SourceLayout

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["lay_file", "lay_partitions"]

_NAME = "rows.parquet"


def lay_file(rows: pa.Table, folder: str) -> str:
    """Write rows into a new file of a folder, which is made, and return its path; none as none."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    path = f"{folder}/{_NAME}"
    if rows.num_rows:
        pq.write_table(rows, path)
    return path


def lay_partitions(
    rows: pa.Table, folder: str, fields: Sequence[PartitionField], layout: SourceLayout
) -> None:
    """Write rows into one file for each partition, whose folder says the partition's values.

    The files do not have the partition columns; one that the rows do not have is null.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    if layout is SourceLayout.NONE:
        lay_file(rows, folder)
        return
    paths = _partition_paths(rows, fields, layout)
    kept = rows.drop_columns([f.name for f in fields if f.name in rows.column_names])
    for path in dict.fromkeys(paths):
        chosen = kept.filter(pa.array([each == path for each in paths]))
        lay_file(chosen, f"{folder}/{path}")


def _partition_paths(
    rows: pa.Table, fields: Sequence[PartitionField], layout: SourceLayout
) -> list[str]:
    """Return the partition path of each row."""
    nothing: list[PartitionValue] = [None] * rows.num_rows
    columns = [
        rows[each.name].to_pylist() if each.name in rows.column_names else nothing
        for each in fields
    ]
    return [render_partition(values, fields, layout) for values in zip(*columns, strict=True)]
