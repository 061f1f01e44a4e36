"""Rows of an older or foreign file in the columns of a table."""

from __future__ import annotations

import pyarrow as pa

from framework.errors import CorruptFileError, Where

__all__ = ["fitted"]


def fitted(rows: pa.Table, schema: pa.Schema, *, where: Where | None = None) -> pa.Table:
    """Return the rows with the columns of `schema`, in its order and types.

    Columns that are absent are null, those that the schema lacks are dropped.

    Raises:
        CorruptFileError: `file/value-does-not-fit`.
    """
    columns = [_column(rows, field, where or Where()) for field in schema]
    if not columns:
        return rows.select([])
    return pa.Table.from_arrays(columns, schema=_nullable(schema))


def _column(rows: pa.Table, field: pa.Field, where: Where) -> pa.ChunkedArray:
    """Return one column in the field's type."""
    at = rows.schema.get_field_index(field.name)
    if at < 0:
        return pa.chunked_array([pa.nulls(rows.num_rows, field.type)])
    column = rows.column(at)
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CorruptFileError(
            "file/value-does-not-fit",
            f"column '{field.name}' ({column.type}) does not fit {field.type}: {error}",
            where=where,
            remedy="Read the table with Apache Hudi; tell us how the file came to be.",
        ) from error


def _nullable(schema: pa.Schema) -> pa.Schema:
    """Return the schema in which everything may be null."""
    fields: list[pa.Field] = [field.with_nullable(True) for field in schema]
    return pa.schema(fields)
