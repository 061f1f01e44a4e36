"""Where two schemas differ, at any depth: fields of structs, of structs in lists and in maps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto, unique
from typing import TYPE_CHECKING

import pyarrow as pa

from framework.hudi.table.schema_union import unify

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Difference", "DifferenceKind", "absent_fields", "differences", "with_absent_fields"]


@unique
class DifferenceKind(Enum):
    """How a field of one schema differs from that of another.

    `NEW` is only in the second, `WIDER` has a type there that holds all values of the first's and
    more, `CONFLICT` one that no schema can hold together with it.
    """

    NEW = auto()
    WIDER = auto()
    CONFLICT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field of a schema that another one does not have so.

    Attributes:
        kind: how it differs.
        path: dotted path; `element` is that of a list, `value` that of a map.
        current: the field of the first schema, None where it has none.
        found: the field of the second schema.
    """

    kind: DifferenceKind
    path: str
    current: pa.Field | None
    found: pa.Field


def differences(current: pa.Schema, found: pa.Schema) -> Iterator[Difference]:
    """Yield where `found` has new fields and other types than `current`, in its order.

    Fields that `found` lacks and narrower types are no differences. Of a new struct its own path
    alone is yielded. A nested field that may be null in `found` alone is wider.
    """
    yield from _differences(_by_name(current), _by_name(found), "")


def absent_fields(wanted: pa.Schema, found: pa.Schema) -> Iterator[tuple[str, pa.Field]]:
    """Yield dotted path and field of what `wanted` has and `found` lacks, at any depth.

    Of a struct that is absent its own path alone is yielded. Fields of another structure in the two
    are left to `differences`.
    """
    yield from _absent(_by_name(wanted), _by_name(found), "")


def with_absent_fields(found: pa.Schema, wanted: pa.Schema) -> pa.Schema:
    """Return `found` with the fields of `wanted` that it lacks, nullable, after its own."""
    return pa.schema(_filled(_by_name(found), _by_name(wanted)))


_Level = dict[str, pa.Field]


def _by_name(fields: Iterable[pa.Field]) -> _Level:
    """Return fields by their name."""
    return {field.name: field for field in fields}


def _levels(left: pa.DataType, right: pa.DataType) -> tuple[_Level, _Level] | None:
    """Return the fields inside two types of one structure, by the next step of their paths."""
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        return _by_name(left), _by_name(right)
    if pa.types.is_list(left) and pa.types.is_list(right):
        return {"element": left.value_field}, {"element": right.value_field}
    if pa.types.is_map(left) and pa.types.is_map(right) and left.key_type == right.key_type:
        return {"value": left.item_field}, {"value": right.item_field}
    return None


def _differences(current: _Level, found: _Level, above: str) -> Iterator[Difference]:
    """Yield the differences of one level and all below it."""
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
    """Yield the difference of two types without a structure in common."""
    union = unify([pa.schema([("", kind)]) for kind in (current.type, found.type)])
    if union.conflicts:
        yield Difference(kind=DifferenceKind.CONFLICT, path=path, current=current, found=found)
    elif union.schema.field(0).type != current.type:
        yield Difference(kind=DifferenceKind.WIDER, path=path, current=current, found=found)


def _absent(wanted: _Level, found: _Level, above: str) -> Iterator[tuple[str, pa.Field]]:
    """Yield what one level lacks, and all below it."""
    for name, field in wanted.items():
        path, there = f"{above}{name}", found.get(name)
        if there is None:
            yield path, field
        elif inside := _levels(field.type, there.type):
            yield from _absent(*inside, f"{path}.")


def _filled(found: _Level, wanted: _Level) -> list[pa.Field]:
    """Return the fields of one level, then those that it lacks."""
    own = [
        field.with_type(_filled_type(field.type, wanted[name].type)) if name in wanted else field
        for name, field in found.items()
    ]
    return [*own, *(field.with_nullable(True) for n, field in wanted.items() if n not in found)]


def _filled_type(found: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """Return a type with the fields that it lacks."""
    inside = _levels(found, wanted)
    if inside is None:
        return found
    fields = _filled(*inside)
    if pa.types.is_struct(found):
        return pa.struct(fields)
    return pa.list_(fields[0]) if pa.types.is_list(found) else pa.map_(found.key_field, fields[0])
