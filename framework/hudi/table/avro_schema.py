"""Conversion between Arrow schemas and Avro schemas with Hudi's names (format sheet, section 3.3).

Hudi 0.15 compares names when it merges. The record is `<table>_record` in namespace
`hoodie.<table>`. A nested record is named after its field, in the namespace of the enclosing
record's full name. Array items and map values keep the field's name. A decimal is a fixed
named `fixed` in the namespace `<enclosing full name>.<field>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

import pyarrow as pa

from framework.errors import UnsupportedTableError
from framework.hudi.table.layout import META_COLUMNS

__all__ = ["arrow_schema", "avro_schema", "sanitize_name", "with_meta_columns"]

_Avro = Any
_INVALID_FIRST: Final = re.compile("^[^A-Za-z_]")
_INVALID: Final = re.compile("[^A-Za-z0-9_]")
_MASK: Final = "__"


def sanitize_name(name: str) -> str:
    """Replace each character that Avro forbids by `__`, as Hudi's writers do."""
    return _INVALID.sub(_MASK, _INVALID_FIRST.sub(_MASK, name))


def avro_schema(schema: pa.Schema, *, table: str) -> dict[str, Any]:
    """Return Hudi's Avro schema of the data columns, with all fields nullable at every depth.

    Spark reads columns from files as nullable, so the next writer's schema is nullable, and a
    required field would not match it.

    Args:
        schema: has only types that pass `check_schema`.
        table: the table's name without its database.

    Raises:
        UnsupportedTableError: `schema/type-not-readable`.
    """
    name = sanitize_name(table)
    return _record(list(schema), f"{name}_record", f"hoodie.{name}")


def with_meta_columns(avro: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record schema with Hudi's five meta columns first, as in base files."""
    meta = [
        {"name": name, "type": ["null", "string"], "doc": "", "default": None}
        for name in META_COLUMNS
    ]
    rest = [field for field in avro["fields"] if field["name"] not in META_COLUMNS]
    return {**avro, "fields": meta + deepcopy(rest)}


def arrow_schema(avro: Mapping[str, Any]) -> pa.Schema:
    """Return the Arrow schema of an Avro record schema made by any Hudi writer.

    Raises:
        UnsupportedTableError: `schema/avro-not-supported`.
    """
    kind = _Reader().type_of(dict(avro), "")
    if not pa.types.is_struct(kind):
        raise _unsupported(avro)
    return pa.schema(list(kind))


def _record(fields: list[pa.Field], name: str, namespace: str) -> dict[str, Any]:
    """Return a record of nullable fields."""
    inside = f"{namespace}.{name}"
    entries = [
        {"name": f.name, "type": ["null", _avro_type(f.type, f.name, inside)], "default": None}
        for f in fields
    ]
    return {"type": "record", "name": name, "namespace": namespace, "fields": entries}


def _avro_type(kind: pa.DataType, name: str, namespace: str) -> _Avro:
    """Return the Avro type of a value of the field `name` inside the record `namespace`."""
    if pa.types.is_struct(kind):
        return _record(list(kind), name, namespace)
    if pa.types.is_map(kind):
        return {"type": "map", "values": ["null", _avro_type(kind.item_type, name, namespace)]}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return {"type": "array", "items": ["null", _avro_type(kind.value_type, name, namespace)]}
    if pa.types.is_decimal128(kind):
        return {
            "type": "fixed",
            "name": "fixed",
            "namespace": f"{namespace}.{name}",
            "size": _decimal_size(kind.precision),
            "logicalType": "decimal",
            "precision": kind.precision,
            "scale": kind.scale,
        }
    for check, avro in _SIMPLE_TYPES:
        if check(kind):
            return deepcopy(avro)
    raise UnsupportedTableError(
        "schema/type-not-readable",
        f"column '{name}' is {kind}, for which Hudi has no type",
        remedy="Cast the column in the source.",
    )


def _is_int(kind: pa.DataType) -> bool:
    """Whether Avro's 32-bit int holds it."""
    return bool(pa.types.is_int8(kind) or pa.types.is_int16(kind) or pa.types.is_int32(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    """Whether it is bytes, of variable or fixed length."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _is_moment(kind: pa.DataType) -> bool:
    """Whether it is a point in time."""
    return bool(pa.types.is_timestamp(kind)) and kind.tz is not None and kind.unit in {"ms", "us"}


def _is_local_time(kind: pa.DataType) -> bool:
    """Whether it is a time without a zone."""
    return bool(pa.types.is_timestamp(kind)) and kind.tz is None and kind.unit in {"ms", "us"}


_SIMPLE_TYPES: Final[tuple[tuple[Callable[[pa.DataType], bool], _Avro], ...]] = (
    (pa.types.is_boolean, "boolean"),
    (_is_int, "int"),
    (pa.types.is_int64, "long"),
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (pa.types.is_string, "string"),
    (pa.types.is_large_string, "string"),
    (_is_bytes, "bytes"),
    (pa.types.is_date32, {"type": "int", "logicalType": "date"}),
    (_is_moment, {"type": "long", "logicalType": "timestamp-micros"}),
    (_is_local_time, {"type": "long", "logicalType": "local-timestamp-micros"}),
)


def _decimal_size(precision: int) -> int:
    """Return the number of bytes that hold any signed number of `precision` digits."""
    bits: int = (10**precision - 1).bit_length() + 1
    return (bits + 7) // 8


_PRIMITIVES: Final = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_LOGICAL_TYPES: Final = {
    "date": pa.date32(),
    "timestamp-millis": pa.timestamp("ms", tz="UTC"),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
}


class _Reader:
    """Reader of Avro types, which remembers named types for later references."""

    def __init__(self) -> None:
        self._named: dict[str, pa.DataType] = {}

    def type_of(self, avro: _Avro, namespace: str) -> pa.DataType:
        """Return the Arrow type of a type that is not a union."""
        if isinstance(avro, str):
            return self._by_name(avro, namespace)
        if not isinstance(avro, dict):
            raise _unsupported(avro)
        kind = avro.get("type")
        if isinstance(kind, dict | list):
            return self.field_of("", kind, namespace).type
        logical = self._logical(avro)
        if logical is not None:
            return self._remember(avro, namespace, logical)
        return self._complex(avro, namespace)

    def field_of(self, name: str, avro: _Avro, namespace: str) -> pa.Field:
        """Return a field whose type may be a union with null."""
        if not isinstance(avro, list):
            return pa.field(name, self.type_of(avro, namespace), nullable=False)
        some = [branch for branch in avro if branch != "null"]
        if len(some) != 1:
            raise _unsupported(avro)
        return pa.field(name, self.type_of(some[0], namespace), nullable="null" in avro)

    def _by_name(self, name: str, namespace: str) -> pa.DataType:
        """Return a primitive type or one named earlier."""
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        found = self._named.get(full)
        if found is None:
            raise _unsupported(name)
        return found

    def _logical(self, avro: dict[str, Any]) -> pa.DataType | None:
        """Return the type of an annotated primitive or decimal, None for other types."""
        if avro.get("logicalType") == "decimal":
            return pa.decimal128(int(avro["precision"]), int(avro.get("scale", 0)))
        return _LOGICAL_TYPES.get(str(avro.get("logicalType")))

    def _complex(self, avro: dict[str, Any], namespace: str) -> pa.DataType:
        """Return the type of a record, array, map, fixed, enum or plain primitive."""
        kind: pa.DataType
        match avro["type"]:
            case "array":
                return pa.list_(self.field_of("element", avro["items"], namespace))
            case "map":
                values = self.field_of("value", avro["values"], namespace)
                return pa.map_(pa.field("key", pa.string(), nullable=False), values)
            case "record":
                inside = _full_name(avro, namespace).rpartition(".")[0]
                fields = [self.field_of(f["name"], f["type"], inside) for f in avro["fields"]]
                kind = pa.struct(fields)
            case "fixed":
                kind = pa.binary(int(avro["size"]))
            case "enum":
                kind = pa.string()
            case other:
                kind = self.type_of(other, namespace)
        return self._remember(avro, namespace, kind)

    def _remember(self, avro: dict[str, Any], namespace: str, kind: pa.DataType) -> pa.DataType:
        """Return `kind` after storing it under the full name of `avro`, if it has one."""
        if "name" in avro:
            self._named[_full_name(avro, namespace)] = kind
        return kind


def _full_name(avro: Mapping[str, Any], namespace: str) -> str:
    """Return the full name of a named type inside `namespace`."""
    name = str(avro["name"])
    space = avro.get("namespace", namespace)
    return name if "." in name or not space else f"{space}.{name}"


def _unsupported(avro: object) -> UnsupportedTableError:
    """Return the error for an Avro type without an Arrow counterpart."""
    return UnsupportedTableError(
        "schema/avro-not-supported",
        f"Avro type {str(avro)[:200]} is not supported",
        remedy="Use records, arrays, maps, plain types and unions of one type with null.",
    )
