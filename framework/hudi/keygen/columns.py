"""Key columns of a batch: found in the files, or constant from the folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from framework.errors import PlanError
from framework.hudi.table.partition_path import PartitionValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.hudi.keygen.rule import KeyRule

__all__ = ["Columns", "KeyPart", "key_parts"]

Columns: TypeAlias = pa.RecordBatch | pa.Table

# Offsets of a string array are 32 bits wide.
_MAX_STRING_BYTES: Final = 2**31 - 1

# One array of the batch's length, or the one value that all its rows have.
KeyPart: TypeAlias = pa.Array | PartitionValue


def key_parts(
    rule: KeyRule, columns: Columns, partition_values: Mapping[str, PartitionValue]
) -> list[KeyPart]:
    """Return each key column, in the rule's order; chunks are combined.

    A column of the file wins over the folder's value of the same name.

    Raises:
        PlanError: `key/column-missing`.
    """
    return [_part(name, columns, partition_values) for name in rule.record_key]


def _part(name: str, columns: Columns, partition_values: Mapping[str, PartitionValue]) -> KeyPart:
    """Return one key column."""
    if name in columns.schema.names:
        return _one_array(columns.column(name))
    if name in partition_values:
        return partition_values[name]
    raise PlanError(
        "key/column-missing",
        f"key column '{name}' is in neither the file nor the folder",
        remedy=f"Columns are {', '.join(columns.schema.names)}.",
    )


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_string(column.type) and column.nbytes > _MAX_STRING_BYTES:
        column = column.cast(pa.large_string())
    return column.combine_chunks()
