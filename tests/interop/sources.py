"""Source data sets as values: files of rows, each with its partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["PartitionValue", "Row", "SourceFile", "rows_of", "source_schema", "write_source"]

PartitionValue = object
"""A typed value of a partition column: int, str, date, bool, or None for the default partition."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One Parquet file of a source.

    Attributes:
        path: relative to the source.
        rows: the columns that the file holds.
        partition: column to typed value, as the path says it.
        partition_path: the folder, which is also the path of the Hudi partition.
        options: further arguments for pyarrow's writer.
    """

    path: str
    rows: pa.Table
    partition: Mapping[str, PartitionValue] = field(default_factory=dict)
    partition_path: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


def write_source(files: Sequence[SourceFile], source: Path) -> None:
    """Write the files as another engine would: snappy, no Arrow schema in the footer."""
    for file in files:
        path = source / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(file.rows, path, **{"store_schema": False, **file.options})


def source_schema(files: Sequence[SourceFile], types: Mapping[str, pa.DataType]) -> pa.Schema:
    """Return the table's columns: those of all files, widened, then path-only partition columns."""
    schema = pa.unify_schemas([file.rows.schema for file in files], promote_options="permissive")
    for name, kind in types.items():
        schema = schema if name in schema.names else schema.append(pa.field(name, kind))
    return pa.schema([pa.field(column.name, column.type) for column in schema])


def rows_of(files: Sequence[SourceFile], names: Sequence[str]) -> list[Row]:
    """Return the rows that a table over these files must have, in file order.

    Each row includes `_hoodie_partition_path`; a column that a file lacks is None, unless the
    path has it.
    """
    found: list[Row] = []
    for file in files:
        for row in file.rows.to_pylist():
            values = {name: row.get(name, file.partition.get(name)) for name in names}
            found.append({**values, "_hoodie_partition_path": file.partition_path})
    return found
