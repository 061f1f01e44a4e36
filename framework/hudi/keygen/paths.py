"""Partition paths of rows, as Apache Hudi writes them (format sheet, section 3.6)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.errors import CorruptFileError, PlanError, Where
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.table import partition_path

__all__ = ["Columns", "KeyPart", "key_parts", "partition_paths"]


Columns: TypeAlias = pa.RecordBatch | pa.Table

# Offsets of a string array are 32 bits wide.
_MAX_STRING_BYTES: Final = 2**31 - 1

# One array of the batch's length, or one value shared by all its rows.
KeyPart: TypeAlias = pa.Array | partition_path.PartitionValue

_COUNTED: Final = 1 << 20


def key_parts(
    rule: KeyRule, columns: Columns, partition_values: Mapping[str, partition_path.PartitionValue]
) -> list[KeyPart]:
    """Return each key column, in the rule's order; chunks are combined.

    A column of the file wins over the folder's value of the same name.

    Raises:
        PlanError: `key/column-missing`.
    """
    return [_part(name, columns, partition_values) for name in rule.record_key]


def _part(
    name: str, columns: Columns, partition_values: Mapping[str, partition_path.PartitionValue]
) -> KeyPart:
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
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_string(column.type) and column.nbytes > _MAX_STRING_BYTES:
        column = column.cast(pa.large_string())
    return column.combine_chunks()


def partition_paths(rule: KeyRule, columns: Columns) -> pa.DictionaryArray:
    """Return the partition path of each row; the dictionary holds each path that occurs once.

    Null is Hive's default partition. Unpartitioned tables have `""` everywhere. Each distinct
    path is checked to parse back to the values it was made from.

    Args:
        rule: names the partition columns.
        columns: holds all of them.

    Raises:
        PlanError: `partition/column-missing`.
        CorruptFileError: `partition/value-not-a-path` for a value that no folder can represent.
    """
    rows = columns.num_rows
    encoded = [_encoded(columns, field) for field in rule.partition]
    codes = np.zeros(rows, np.int64)
    for each in encoded:
        codes = codes * len(each.dictionary) + each.indices.to_numpy(zero_copy_only=False)
    found, places = _distinct(codes, math.prod(len(each.dictionary) for each in encoded))
    values = [_values(encoded, int(code)) for code in found]
    paths = pa.array([_path(rule, each) for each in values], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), paths)


def _distinct(codes: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct codes, ascending, and each row's index into them.

    All codes are less than `limit`; if it is small, counting is faster than sorting.
    """
    if limit > _COUNTED:
        found, places = np.unique(codes, return_inverse=True)
        return found, places
    present = np.bincount(codes, minlength=limit) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[codes]


def _encoded(columns: Columns, field: partition_path.PartitionField) -> Any:
    """Return one partition column as a dictionary array whose last code is null."""
    at = columns.schema.get_field_index(field.name)
    if at < 0:
        raise PlanError(
            "partition/column-missing",
            f"partition column '{field.name}' is not among the columns",
            remedy=f"Columns are {', '.join(columns.schema.names)}.",
        )
    column = columns.column(at)
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    found = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    indices = pc.fill_null(found.indices, len(found.dictionary))
    return pa.DictionaryArray.from_arrays(
        indices, pa.concat_arrays([found.dictionary, pa.nulls(1, found.dictionary.type)])
    )


def _values(encoded: list[Any], code: int) -> tuple[Any, ...]:
    """Return the values of a combined code."""
    values = []
    for each in reversed(encoded):
        code, at = divmod(code, len(each.dictionary))
        values.append(each.dictionary[at].as_py())
    return tuple(reversed(values))


def _path(rule: KeyRule, values: tuple[Any, ...]) -> str:
    """Return the path of the values; raise unless it parses back to them."""
    path = partition_path.render_partition(values, rule.partition, rule.layout)
    if "%" in path and not rule.url_encode:
        raise _not_a_path(path, "the table does not escape special characters")
    try:
        same = partition_path.parse_partition(path, rule.partition, rule.layout) == values
    except PlanError as error:
        raise _not_a_path(path, error.message) from error
    if not same:
        raise _not_a_path(path, f"{values!r} would be read back as other values")
    return path


def _not_a_path(path: str, message: str) -> CorruptFileError:
    """Return the error for values that no folder can represent."""
    return CorruptFileError(
        "partition/value-not-a-path",
        f"a row's partition value cannot be a folder name: {message}",
        where=Where(partition=path),
        remedy="Correct the value in the source or by a transform; null is a partition of its own.",
    )
