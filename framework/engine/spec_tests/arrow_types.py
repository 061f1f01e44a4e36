"""Types in Spark SQL's normal text as Arrow's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["arrow_type", "type_text"]

_PLAIN: Final[Mapping[str, pa.DataType]] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_NESTED: Final = ("decimal", "array", "map", "struct")
_NAMES: Final = {kind: name for name, kind in _PLAIN.items()}
_TOKEN: Final = re.compile(r"`(?:``|[^`])+`|\w+|[<>(),:]")


def arrow_type(text: str) -> pa.DataType:
    """Return the type that a text means: a normal one, or one of Spark's own.

    Raises:
        ValueError: no table can have it.
    """
    words = _TOKEN.findall(text)[::-1]
    return _type(words)


def type_text(kind: pa.DataType) -> str:
    """Return the name of a type for people: Spark SQL's where it has one."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return _NAMES.get(kind, str(kind))


def _type(words: list[str]) -> pa.DataType:
    """Return the type that comes next; `words` are reversed, and what is read is taken off."""
    name = words.pop()
    if name in _PLAIN:
        return _PLAIN[name]
    if name not in _NESTED:
        raise ValueError(name)
    words.pop()  # the bracket
    if name == "decimal":
        precision, _, scale, _ = (words.pop() for _ in range(4))
        return pa.decimal128(int(precision), int(scale))
    if name == "array":
        kind = pa.list_(_type(words))
        words.pop()
        return kind
    if name == "map":
        key = _type(words)
        words.pop()
        kind = pa.map_(key, _type(words))
        words.pop()
        return kind
    return pa.struct(_fields(words))


def _fields(words: list[str]) -> list[pa.Field]:
    """Return the fields of a struct up to its closing bracket."""
    fields = []
    while words[-1] != ">":
        if words[-1] == ",":
            words.pop()
        name = words.pop()
        words.pop()  # the colon
        plain = name[1:-1].replace("``", "`") if name.startswith("`") else name
        fields.append(pa.field(plain, _type(words)))
    words.pop()
    return fields
