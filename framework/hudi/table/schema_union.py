"""One schema for many files: columns added, types widened, conflicts as values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

__all__ = ["SchemaConflict", "UnifiedSchema", "Widening", "unify", "widenings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaConflict:
    """A column for which two schemas cannot be combined in one table.

    Attributes:
        column: dotted path of the column.
        left: type in the schema at `left_index`, the first that had the column.
        right: type in the schema at `right_index`.
        left_index: position of that schema, from 0.
        right_index: likewise; always greater than `left_index`.
    """

    column: str
    left: str
    right: str
    left_index: int
    right_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnifiedSchema:
    """The schema of all files; a column with a conflict keeps its first type."""

    schema: pa.Schema
    conflicts: tuple[SchemaConflict, ...]


def unify(schemas: Iterable[pa.Schema]) -> UnifiedSchema:
    """Return one schema that each of `schemas` fits into.

    Columns keep the order of their first appearance. A column that some schema lacks, or has as
    nullable, is nullable. Integers widen to longer ones, float to double, decimals of one scale to
    more digits, milliseconds to microseconds, fixed-length bytes to plain bytes. Costs one pass
    over each schema, so pass distinct ones.
    """
    union = _Union()
    for index, schema in enumerate(schemas):
        union.add(schema, index)
    return UnifiedSchema(schema=pa.schema(union.fields()), conflicts=tuple(union.conflicts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Widening:
    """A leaf whose type in a table differs from its type in a file.

    Attributes:
        narrow: its type in the file.
        is_nested: whether it is in a struct, list or map.
    """

    narrow: pa.DataType
    is_nested: bool


def widenings(
    narrow: pa.DataType, wide: pa.DataType, *, is_nested: bool = False
) -> Iterator[Widening]:
    """Yield leaves of `narrow` whose type differs in `wide`, a union that includes `narrow`.

    Skips fields that only `wide` has, and fixed-length bytes versus plain ones, which every reader
    treats alike.
    """
    if pa.types.is_struct(narrow) and pa.types.is_struct(wide):
        pairs = [(f.type, wide.field(f.name).type) for f in narrow]
    elif pa.types.is_map(narrow) and pa.types.is_map(wide):
        pairs = [(narrow.item_type, wide.item_type)]
    elif pa.types.is_list(narrow) and pa.types.is_list(wide):
        pairs = [(narrow.value_type, wide.value_type)]
    else:
        if narrow != wide and not (_is_bytes(narrow) and _is_bytes(wide)):
            yield Widening(narrow=narrow, is_nested=is_nested)
        return
    for before, after in pairs:
        yield from widenings(before, after, is_nested=True)


def _is_bytes(kind: pa.DataType) -> bool:
    """Whether it is a type of bytes, of any length."""
    return bool(pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind))


class _Union:
    """Merges fields by name."""

    def __init__(self) -> None:
        self.conflicts: list[SchemaConflict] = []
        self._fields: dict[str, pa.Field] = {}
        self._first: dict[str, int] = {}
        self._schemas = 0

    def fields(self) -> list[pa.Field]:
        """Return the merged fields in order of appearance."""
        return list(self._fields.values())

    def add(self, schema: pa.Schema, index: int) -> None:
        """Add a schema."""
        for field in schema:
            self._add_field(field, index)
        for name in self._fields.keys() - set(schema.names):
            self._fields[name] = self._fields[name].with_nullable(True)
        self._schemas += 1

    def _add_field(self, field: pa.Field, index: int) -> None:
        """Add one field; a column that earlier schemas lacked is nullable."""
        known = self._fields.get(field.name)
        if known is None:
            self._first[field.name] = index
            nullable = field.nullable or self._schemas > 0
            self._fields[field.name] = field.with_nullable(nullable).remove_metadata()
            return
        kind, faults = _wider(known.type, field.type, field.name)
        nullable = known.nullable or field.nullable
        self._fields[field.name] = pa.field(field.name, kind, nullable=nullable)
        self.conflicts += [
            SchemaConflict(
                column=column,
                left=str(left),
                right=str(right),
                left_index=self._first[field.name],
                right_index=index,
            )
            for column, left, right in faults
        ]


_Faults = list[tuple[str, pa.DataType, pa.DataType]]


def _wider(left: pa.DataType, right: pa.DataType, path: str) -> tuple[pa.DataType, _Faults]:
    """Return the type that holds both, and the conflicts."""
    if left == right:
        return left, []
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        return _wider_struct(left, right, path)
    if pa.types.is_list(left) and pa.types.is_list(right):
        item, faults = _wider_field(left.value_field, right.value_field, f"{path}.element")
        return pa.list_(item), faults
    if pa.types.is_map(left) and pa.types.is_map(right) and left.key_type == right.key_type:
        item, faults = _wider_field(left.item_field, right.item_field, f"{path}.value")
        return pa.map_(left.key_field, item), faults
    kind = _wider_leaf(left, right)
    return (left, [(path, left, right)]) if kind is None else (kind, [])


def _wider_field(left: pa.Field, right: pa.Field, path: str) -> tuple[pa.Field, _Faults]:
    kind, faults = _wider(left.type, right.type, path)
    return pa.field(left.name, kind, nullable=left.nullable or right.nullable), faults


def _wider_struct(
    left: pa.StructType, right: pa.StructType, path: str
) -> tuple[pa.DataType, _Faults]:
    others = {field.name: field for field in right}
    fields: list[pa.Field] = []
    faults: _Faults = []
    for field in left:
        other = others.pop(field.name, None)
        if other is None:
            fields.append(field.with_nullable(True))
            continue
        wider, more = _wider_field(field, other, f"{path}.{field.name}")
        fields.append(wider)
        faults += more
    return pa.struct([*fields, *(field.with_nullable(True) for field in others.values())]), faults


_INTEGERS: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


def _wider_leaf(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Return the wider of two leaf types, None if neither holds the other."""
    if left in _INTEGERS and right in _INTEGERS:
        return max(left, right, key=_INTEGERS.index)
    if {left, right} == {pa.float32(), pa.float64()}:
        return pa.float64()
    if pa.types.is_decimal128(left) and pa.types.is_decimal128(right):
        wider = left if left.precision > right.precision else right
        return wider if left.scale == right.scale else None
    if pa.types.is_timestamp(left) and pa.types.is_timestamp(right):
        return _wider_timestamp(left, right)
    return pa.binary() if _is_bytes(left) and _is_bytes(right) else None


def _wider_timestamp(left: pa.TimestampType, right: pa.TimestampType) -> pa.DataType | None:
    """Return microseconds for a pair of milli- and microseconds of the same kind."""
    same = left.tz == right.tz and {left.unit, right.unit} == {"ms", "us"}
    return pa.timestamp("us", tz=left.tz) if same else None
