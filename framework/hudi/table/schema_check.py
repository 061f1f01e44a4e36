"""Checks on the schemas of Parquet files in a Hudi table, and casts to a table's columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa

from framework.errors import CorruptFileError, Where
from framework.vocabulary import ReservedPrefix, SparkColumn

__all__ = [
    "SchemaIssue",
    "check_schema",
    "fitted",
    "fitted_column",
    "full_record_schema",
    "is_internal_column",
    "millisecond_columns",
]

_AVRO_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaIssue:
    """One problem of a schema.

    Attributes:
        condition: stable id, `schema/...`.
        column: dotted path of the column; `""` is the whole schema.
        message: one sentence.
        remedy: the fix.
        full_record_helps: whether a copy of the rows in `full_record_schema` avoids the issue.
    """

    condition: str
    column: str
    message: str
    remedy: str
    full_record_helps: bool = False


def check_schema(schema: pa.Schema) -> tuple[SchemaIssue, ...]:
    """Return every issue of the data columns, in column order; empty if all are readable.

    Names must be valid in Avro, also those of `ARROW:schema`: pass the result of `parquet_schema`.
    """
    if not len(schema):
        return (_issue("no-columns", "", "the files have no columns", "Check the source."),)
    reserved = sorted(filter(None, map(_reserved_issue, schema.names)), key=attrgetter("condition"))
    return (*reserved, *_fields_issues(list(schema), ""))


def is_internal_column(name: str) -> bool:
    """Whether Spark's scans or our readers use this column name internally."""
    lowered = name.lower()
    return lowered in set(SparkColumn) or lowered.startswith(ReservedPrefix.LAKESTRAP)


def _reserved_issue(name: str) -> SchemaIssue | None:
    """Return the issue of a reserved top-level name, None for others."""
    remedy = "Rename the column, or remove it."
    if name.lower().startswith(ReservedPrefix.HUDI):
        return _issue("meta-column", name, f"column '{name}' is reserved for Hudi", remedy)
    if is_internal_column(name):
        owner = "Spark" if name.lower() in set(SparkColumn) else "Lakestrap"
        message = f"column '{name}' has a name that {owner} uses internally when reading files"
        return _issue("reserved-column", name, message, remedy)
    return None


def full_record_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with unreadable types replaced by lossless types that Spark reads.

    Nanoseconds and milliseconds become microseconds (the cast must fail if digits are lost), half
    floats become floats, unsigned integers the next wider signed ones, and fixed-length bytes
    plain ones, as in Avro and Spark.
    """
    return pa.schema([_readable_field(field) for field in schema])


def millisecond_columns(schema: pa.Schema) -> tuple[str, ...]:
    """Return the dotted paths of timestamps in milliseconds.

    Every release reads them correctly, but Apache Hudi 0.15.0 treats them as microseconds when it
    rewrites their rows, without an error: 1999 becomes 1970.
    """
    return tuple(path for field in schema for path in _milliseconds(field.type, field.name))


def _fields_issues(fields: Sequence[pa.Field], path: str) -> Iterator[SchemaIssue]:
    """Yield the issues of one level and all levels below."""
    lowered = Counter(field.name.lower() for field in fields)
    exact = Counter(field.name for field in fields)
    for field in fields:
        column = f"{path}.{field.name}" if path else field.name
        yield from _name_issues(field.name, column, exact, lowered)
        yield from _type_issues(field.type, column)


def _name_issues(
    name: str, column: str, exact: Counter[str], lowered: Counter[str]
) -> Iterator[SchemaIssue]:
    """Yield the issues of one name among its siblings."""
    if not _AVRO_NAME.fullmatch(name):
        yield _issue(
            "name-not-avro",
            column,
            f"column '{column}' has a name that Avro forbids",
            "Use letters, digits and `_` only, no digit first; rename the column in the source.",
        )
    if exact[name] > 1:
        yield _issue("duplicate-name", column, f"column '{column}' occurs twice", "Rename one.")
    elif lowered[name.lower()] > 1:
        yield _issue(
            "same-but-case",
            column,
            f"column '{column}' differs from another by case only, and Spark treats both as one",
            "Rename one of them in the source.",
        )


def _type_issues(kind: pa.DataType, column: str) -> Iterator[SchemaIssue]:
    """Yield the issues of one type and the types inside it."""
    if pa.types.is_struct(kind):
        if not kind.num_fields:
            why = f"column '{column}' is a struct without fields, which Spark cannot read"
            yield _issue("empty-struct", column, why, "Write the files again without the column.")
        yield from _fields_issues(list(kind), column)
    elif pa.types.is_map(kind):
        yield from _map_issues(kind, column)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _type_issues(kind.value_type, f"{column}.element")
    else:
        yield from _leaf_issues(kind, column)


def _map_issues(kind: pa.DataType, column: str) -> Iterator[SchemaIssue]:
    """Yield the issues of a map."""
    if not pa.types.is_string(kind.key_type):
        yield _issue(
            "map-key-not-string",
            column,
            f"map '{column}' has keys of type {kind.key_type}; Avro's maps have string keys",
            "Write the keys as strings, or as a list of structs.",
        )
    yield from _type_issues(kind.item_type, f"{column}.value")


def _leaf_issues(kind: pa.DataType, column: str) -> Iterator[SchemaIssue]:
    """Yield the issues of a leaf type."""
    for check, condition, why in _UNREADABLE:
        if check(kind):
            readable = _readable_type(kind)
            helps = readable != kind
            yield _issue(
                condition,
                column,
                f"column '{column}' is {kind}: {why}",
                f"Rewrite the files with {readable}, or set `full_record` for their partitions."
                if helps
                else "Rewrite the column in the source.",
                helps=helps,
            )
            return


def _is_nanoseconds(kind: pa.DataType) -> bool:
    """Whether it is a timestamp with more precision than Spark's."""
    return bool(pa.types.is_timestamp(kind)) and kind.unit == "ns"


def _is_wide_decimal(kind: pa.DataType) -> bool:
    """Whether it is a decimal that Spark cannot hold."""
    return bool(pa.types.is_decimal256(kind)) or (
        bool(pa.types.is_decimal(kind)) and not 0 <= kind.scale <= kind.precision
    )


def _is_known(kind: pa.DataType) -> bool:
    """Whether Spark and Hudi read it."""
    return any(check(kind) for check in _KNOWN)


_KNOWN: Final[tuple[Callable[[pa.DataType], bool], ...]] = (
    pa.types.is_boolean,
    pa.types.is_signed_integer,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_date32,
    pa.types.is_timestamp,
    pa.types.is_decimal128,
)
_UNREADABLE: Final[tuple[tuple[Callable[[pa.DataType], bool], str, str], ...]] = (
    (_is_nanoseconds, "nanosecond-timestamp", "Spark cannot read nanoseconds"),
    (pa.types.is_time, "time", "Spark has no type for a time of day"),
    (pa.types.is_float16, "float16", "Spark has no half-precision floats"),
    (pa.types.is_unsigned_integer, "unsigned-integer", "Spark and Avro have no unsigned integers"),
    (_is_wide_decimal, "decimal-too-wide", "Spark's decimals have at most 38 digits"),
    (lambda kind: not _is_known(kind), "type-not-readable", "Spark has no reader for it"),
)


def _readable_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _readable_type(field.type), nullable=field.nullable)


def _readable_type(kind: pa.DataType) -> pa.DataType:
    """Return the type readable by Spark that holds all values of `kind`, or `kind` if none."""
    if pa.types.is_struct(kind):
        return pa.struct([_readable_field(child) for child in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field, _readable_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_readable_field(kind.value_field))
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    return pa.binary() if pa.types.is_fixed_size_binary(kind) else _SIGNED.get(kind, kind)


_SIGNED: Final = {
    pa.float16(): pa.float32(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}


def _milliseconds(kind: pa.DataType, path: str) -> Iterator[str]:
    """Yield the paths of timestamps in milliseconds within one column."""
    if pa.types.is_timestamp(kind) and kind.unit == "ms":
        yield path
    elif pa.types.is_struct(kind):
        for child in kind:
            yield from _milliseconds(child.type, f"{path}.{child.name}")
    elif pa.types.is_map(kind):
        yield from _milliseconds(kind.item_type, f"{path}.value")
    elif pa.types.is_list(kind):
        yield from _milliseconds(kind.value_type, f"{path}.element")


def _issue(
    condition: str, column: str, message: str, remedy: str, *, helps: bool = False
) -> SchemaIssue:
    return SchemaIssue(
        condition=f"schema/{condition}",
        column=column,
        message=message,
        remedy=remedy,
        full_record_helps=helps,
    )


def fitted(rows: pa.Table, schema: pa.Schema, *, where: Where | None = None) -> pa.Table:
    """Return the rows with the columns of `schema`, in its order and types.

    Absent columns are null; columns that the schema lacks are dropped.

    Raises:
        CorruptFileError: `file/value-does-not-fit`.
    """

    def fault(message: str, row: int) -> CorruptFileError:
        return CorruptFileError(
            "file/value-does-not-fit",
            f"row {row}: {message}",
            where=where,
            remedy="Read the table with Apache Hudi, and report which writer made the file.",
        )

    columns = [fitted_column(rows, field, fault) for field in schema]
    if not columns:
        return rows.select([])
    nullable: list[pa.Field] = [field.with_nullable(True) for field in schema]
    return pa.Table.from_arrays(columns, schema=pa.schema(nullable))


def fitted_column(rows: Any, field: pa.Field, fault: Callable[[str, int], CorruptFileError]) -> Any:
    """Return one column of a table or record batch in the field's type, null if absent.

    Raises:
        CorruptFileError: made by `fault` from a message and the number, from 0, of the first row
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
    """Return the first row whose value does not fit a type; there must be one."""
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
