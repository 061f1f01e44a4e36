"""Just enough of Thrift's compact protocol to write Parquet's page headers and footers.

A struct is the concatenation of its fields, in ascending order of their ids, and a zero byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.hudi.codecs.varint import uvarint, zigzag

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["STOP", "binary", "i16", "i32", "i64", "list_of", "struct"]

STOP: Final = b"\0"

_I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 4, 5, 6, 8, 9, 12
_SHORT_LIST: Final = 15


def i16(step: int, value: int) -> bytes:
    """Return a field whose id is `step` (1 to 15) above the one before it."""
    return bytes((step << 4 | _I16,)) + zigzag(value)


def i32(step: int, value: int) -> bytes:
    """Return a field; `step` as in `i16`."""
    return bytes((step << 4 | _I32,)) + zigzag(value)


def i64(step: int, value: int) -> bytes:
    """Return a field; `step` as in `i16`."""
    return bytes((step << 4 | _I64,)) + zigzag(value)


def binary(step: int, value: bytes) -> bytes:
    """Return a field of bytes or text; `step` as in `i16`."""
    return bytes((step << 4 | _BINARY,)) + uvarint(len(value)) + value


def struct(step: int, fields: bytes) -> bytes:
    """Return a field that is a struct of these fields; `step` as in `i16`."""
    return bytes((step << 4 | _STRUCT,)) + fields + STOP


def list_of(step: int, kind: str, items: Sequence[bytes]) -> bytes:
    """Return a field that is a list; `step` as in `i16`.

    Args:
        step: as in `i16`.
        kind: `i32` for items from `zigzag`, `binary` for plain bytes, `struct` for fields.
        items: the items; lengths and ends are added here.
    """
    code = {"i32": _I32, "binary": _BINARY, "struct": _STRUCT}[kind]
    count = len(items)
    head = (
        bytes((count << 4 | code,))
        if count < _SHORT_LIST
        else bytes((0xF0 | code,)) + uvarint(count)
    )
    if kind == "binary":
        items = [uvarint(len(item)) + item for item in items]
    elif kind == "struct":
        items = [item + STOP for item in items]
    return bytes((step << 4 | _LIST,)) + head + b"".join(items)
