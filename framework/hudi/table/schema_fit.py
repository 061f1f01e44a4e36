"""Rows of an older or foreign file in the columns of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from framework.errors import CorruptFileError, Where

__all__ = ["fitted", "fitted_column"]


def fitted(rows: pa.Table, schema: pa.Schema, *, where: Where | None = None) -> pa.Table:
    """Return the rows with the columns of `schema`, in its order and types.

    Columns that are absent are null, those that the schema lacks are dropped.

    Raises:
        CorruptFileError: `file/value-does-not-fit`.
    """

    def fault(message: str, row: int) -> CorruptFileError:
        return CorruptFileError(
            "file/value-does-not-fit",
            f"row {row}: {message}",
            where=where,
            remedy="Read the table with Apache Hudi; report how the file was made.",
        )

    columns = [fitted_column(rows, field, fault) for field in schema]
    if not columns:
        return rows.select([])
    nullable: list[pa.Field] = [field.with_nullable(True) for field in schema]
    return pa.Table.from_arrays(columns, schema=pa.schema(nullable))


def fitted_column(rows: Any, field: pa.Field, fault: Callable[[str, int], CorruptFileError]) -> Any:
    """Return one column of a table or record batch in the field's type, null where it is absent.

    Raises:
        CorruptFileError: what `fault` makes of a message and the number, from 0, of the first row
            whose value does not fit.
    """
    at = rows.schema.get_field_index(field.name)
    if at < 0:
        return pa.nulls(rows.num_rows, field.type)
    column = rows.column(at)
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        message = f"column '{field.name}' ({column.type}) does not fit {field.type}: {error}"
        raise fault(message, _first_misfit(column, field.type)) from error


def _first_misfit(column: Any, kind: pa.DataType) -> int:
    """Return the first row that has no value in a type; some row has none."""
    first, end = 0, len(column)
    while end - first > 1:
        middle = (first + end) // 2
        try:
            column.slice(first, middle - first).cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            end = middle
        else:
            first = middle
    return first
