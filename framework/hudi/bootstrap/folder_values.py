"""A partition column that the files hold as well must say there what the folder says.

Readers take the value from one of the two places and writers from the other: where they differ, a
row would be found in one partition and its next version written to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from framework.errors import CorruptFileError, Where
from framework.hudi.bootstrap.source_file import SourceReader
from framework.hudi.table.partition_path import PartitionValue

__all__ = ["check_folder_values"]


def check_folder_values(
    source: SourceReader, schema: Any, values: Mapping[str, PartitionValue], partition_path: str
) -> None:
    """Compare each partition column that the file has with its folder's value.

    Costs a read of these columns; their bytes are few, since they hold one value.

    Args:
        source: the open file.
        schema: the table's Arrow schema.
        values: typed values of the folder; None stands for null and, in text, for nothing.
        partition_path: the folder, for errors.

    Raises:
        CorruptFileError: `source/value-is-not-its-folders`, or as of `SourceReader.batches`.
    """
    for name, value in values.items():
        if source.lacks(name):
            continue
        field = schema.field(name)
        for group in source.row_groups():
            if not _holds(source, group, field, value):
                raise CorruptFileError(
                    "source/value-is-not-its-folders",
                    f"column '{name}' has other values than its folder's {value!r}"
                    f" in row group {group}",
                    where=Where(file=source.file, partition=partition_path),
                    remedy="Correct the file or move its rows to their folders; or leave the"
                    " partition out with `mode: skip`.",
                )


def _holds(source: SourceReader, group: int, field: Any, value: PartitionValue) -> bool:
    """Return whether all rows of a row group have the value."""
    for batch in source.batches(group, pa.schema([field])):
        column = batch.column(0)
        if value is None:
            blank = pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
            same = pc.or_kleene(column.is_null(), pc.equal(column, "")) if blank else None
            same = column.is_null() if same is None else same
        else:
            same = pc.fill_null(pc.equal(column, pa.scalar(value, field.type)), fill_value=False)
        if not pc.all(same).as_py():
            return False
    return True
