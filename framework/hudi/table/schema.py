"""The table's schema, with all functions on it under one name.

Three schemas meet in a table: Parquet's (`parquet_schema`), Arrow's, which this project uses
internally, and Avro's, in commits and footers (`avro_schema`, `arrow_schema`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto, unique
from io import BytesIO
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.table.avro_schema import (
    arrow_schema,
    avro_schema,
    sanitize_name,
    with_meta_columns,
)
from framework.hudi.table.schema_check import (
    SchemaIssue,
    check_schema,
    full_record_schema,
    millisecond_columns,
)
from framework.hudi.table.schema_union import (
    SchemaConflict,
    UnifiedSchema,
    Widening,
    unify,
    widenings,
)

__all__ = [
    "Difference",
    "DifferenceKind",
    "SchemaConflict",
    "SchemaIssue",
    "UnifiedSchema",
    "Widening",
    "absent_fields",
    "arrow_schema",
    "avro_schema",
    "check_schema",
    "differences",
    "full_record_schema",
    "int96_columns",
    "millisecond_columns",
    "parquet_schema",
    "sanitize_name",
    "unify",
    "widenings",
    "with_absent_fields",
    "with_meta_columns",
]

_Level = dict[str, pa.Field]
_ARROW_KEY: Final = b"ARROW:schema"
_IGNORED_KEY: Final = b"ARROW:ignore"
_BY_LOGICAL_TYPE: Final = {
    "ENUM": pa.string(),
    "JSON": pa.string(),
    "BSON": pa.binary(),
    "UUID": pa.uuid(),
    "INTERVAL": pa.month_day_nano_interval(),
}


@unique
class DifferenceKind(Enum):
    """How a field of one schema differs from that of another.

    `NEW`: only in the second. `WIDER`: its type in the second holds all values of the first's and
    more. `CONFLICT`: no schema can hold both types.
    """

    NEW = auto()
    WIDER = auto()
    CONFLICT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field that differs between two schemas.

    Attributes:
        kind: how it differs.
        path: dotted path, with `element` for list items and `value` for map values.
        current: the field of the first schema, None if it has none.
        found: the field of the second schema.
    """

    kind: DifferenceKind
    path: str
    current: pa.Field | None
    found: pa.Field


def differences(current: pa.Schema, found: pa.Schema) -> Iterator[Difference]:
    """Yield new fields and changed types of `found` against `current`, in order of `found`.

    Ignores fields that `found` lacks and narrower types. A new struct yields its own path only. A
    nested field that is nullable only in `found` is wider.
    """
    yield from _differences(_by_name(current), _by_name(found), "")


def absent_fields(wanted: pa.Schema, found: pa.Schema) -> Iterator[tuple[str, pa.Field]]:
    """Yield dotted path and field of each field of `wanted` that `found` lacks, at any depth.

    An absent struct yields its own path only. Fields that differ in structure are left to
    `differences`.
    """
    yield from _absent(_by_name(wanted), _by_name(found), "")


def with_absent_fields(found: pa.Schema, wanted: pa.Schema) -> pa.Schema:
    """Return `found` with the fields of `wanted` that it lacks, nullable, after its own."""
    return pa.schema(_filled(_by_name(found), _by_name(wanted)))


def _by_name(fields: Iterable[pa.Field]) -> _Level:
    return {field.name: field for field in fields}


def _levels(left: pa.DataType, right: pa.DataType) -> tuple[_Level, _Level] | None:
    """Return the fields inside two types of the same structure, by path segment."""
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        return _by_name(left), _by_name(right)
    if pa.types.is_list(left) and pa.types.is_list(right):
        return {"element": left.value_field}, {"element": right.value_field}
    if pa.types.is_map(left) and pa.types.is_map(right) and left.key_type == right.key_type:
        return {"value": left.item_field}, {"value": right.item_field}
    return None


def _differences(current: _Level, found: _Level, above: str) -> Iterator[Difference]:
    """Yield the differences of one level and all levels below."""
    for name, field in found.items():
        path, known = f"{above}{name}", current.get(name)
        if known is None:
            yield Difference(kind=DifferenceKind.NEW, path=path, current=None, found=field)
            continue
        if above and field.nullable and not known.nullable:
            yield Difference(kind=DifferenceKind.WIDER, path=path, current=known, found=field)
        inside = _levels(known.type, field.type)
        if inside:
            yield from _differences(*inside, f"{path}.")
        else:
            yield from _of_leaf(known, field, path)


def _of_leaf(current: pa.Field, found: pa.Field, path: str) -> Iterator[Difference]:
    """Yield the difference of two types without a common structure."""
    union = unify([pa.schema([("", kind)]) for kind in (current.type, found.type)])
    if union.conflicts:
        yield Difference(kind=DifferenceKind.CONFLICT, path=path, current=current, found=found)
    elif union.schema.field(0).type != current.type:
        yield Difference(kind=DifferenceKind.WIDER, path=path, current=current, found=found)


def _absent(wanted: _Level, found: _Level, above: str) -> Iterator[tuple[str, pa.Field]]:
    """Yield the absent fields of one level and all levels below."""
    for name, field in wanted.items():
        path, there = f"{above}{name}", found.get(name)
        if there is None:
            yield path, field
        elif inside := _levels(field.type, there.type):
            yield from _absent(*inside, f"{path}.")


def _filled(found: _Level, wanted: _Level) -> list[pa.Field]:
    """Return the fields of one level, followed by the absent ones."""
    own = [
        field.with_type(_filled_type(field.type, wanted[name].type)) if name in wanted else field
        for name, field in found.items()
    ]
    return [*own, *(field.with_nullable(True) for n, field in wanted.items() if n not in found)]


def _filled_type(found: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """Return a type with its absent fields added."""
    inside = _levels(found, wanted)
    if inside is None:
        return found
    fields = _filled(*inside)
    if pa.types.is_struct(found):
        return pa.struct(fields)
    return pa.list_(fields[0]) if pa.types.is_list(found) else pa.map_(found.key_field, fields[0])


def parquet_schema(metadata: pq.FileMetaData) -> pa.Schema:
    """Return the columns of a footer, without metadata of schema or fields.

    List items are named `element`, map entries `key` and `value`. INT96 is a timestamp in
    microseconds, UTC; ENUM and JSON are strings. Types that Spark cannot read keep an Arrow type
    that `check_schema` refuses. Costs one copy of the footer if it has `ARROW:schema`.
    """
    if _ARROW_KEY in (metadata.metadata or {}):
        metadata = _without_arrow_schema(metadata)
    schema = metadata.schema
    leaves = (schema.column(i) for i in range(len(schema)))
    return pa.schema([_field(field, leaves) for field in schema.to_arrow_schema()])


def int96_columns(metadata: pq.FileMetaData) -> tuple[str, ...]:
    """Return the dotted paths of INT96 columns, which Apache Hudi reads but cannot rewrite."""
    schema = metadata.schema
    columns = (schema.column(i) for i in range(len(schema)))
    return tuple(c.path for c in columns if c.physical_type == "INT96")


def _without_arrow_schema(metadata: pq.FileMetaData) -> pq.FileMetaData:
    """Return the footer with its Arrow schema under a key that is not read."""
    out = BytesIO()
    metadata.write_metadata_file(out)
    return pq.read_metadata(BytesIO(out.getvalue().replace(_ARROW_KEY, _IGNORED_KEY)))


def _field(field: pa.Field, leaves: Iterator[Any]) -> pa.Field:
    """Return a field with Spark's type, taking its leaves in order."""
    return pa.field(field.name, _type(field.type, leaves), nullable=field.nullable)


def _type(kind: pa.DataType, leaves: Iterator[Any]) -> pa.DataType:
    """Return Spark's type for an Arrow type, taking its leaves in order."""
    if pa.types.is_struct(kind):
        return pa.struct([_field(child, leaves) for child in kind])
    if pa.types.is_map(kind):
        key = pa.field("key", _type(kind.key_type, leaves), nullable=False)
        value = _type(kind.item_type, leaves)
        return pa.map_(key, pa.field("value", value, nullable=kind.item_field.nullable))
    if pa.types.is_list(kind):
        child = kind.value_field
        return pa.list_(pa.field("element", _type(child.type, leaves), nullable=child.nullable))
    return _leaf(kind, next(leaves))


def _leaf(kind: pa.DataType, column: Any) -> pa.DataType:
    """Return Spark's type for one physical column."""
    if column.physical_type == "INT96":
        return pa.timestamp("us", tz="UTC")
    logical = column.logical_type.type
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    found = _BY_LOGICAL_TYPE.get(logical, kind)
    return pa.timestamp(found.unit, tz="UTC") if _has_zone(found) else found


def _has_zone(kind: pa.DataType) -> bool:
    """Whether a timestamp is a point in time."""
    return bool(pa.types.is_timestamp(kind)) and kind.tz is not None
