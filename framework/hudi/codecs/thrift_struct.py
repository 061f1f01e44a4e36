"""Structs of Thrift's compact protocol as values that are read, edited and written back.

The meaning of fields is not interpreted, so fields of later format versions are preserved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from framework.hudi.codecs.varint import read_uvarint, uvarint, zigzag

__all__ = [
    "BINARY",
    "I16",
    "I32",
    "I64",
    "LIST",
    "STOP",
    "STRUCT",
    "Struct",
    "binary",
    "i16",
    "i32",
    "i64",
    "list_of",
    "read_struct",
    "struct",
    "write_struct",
]


STOP: Final = b"\0"

_I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 4, 5, 6, 8, 9, 12
_SHORT_LIST: Final = 15

TRUE: Final = 1
FALSE: Final = 2
BYTE: Final = 3
I16: Final = 4
I32: Final = 5
I64: Final = 6
DOUBLE: Final = 7
BINARY: Final = 8
LIST: Final = 9
SET: Final = 10
MAP: Final = 11
STRUCT: Final = 12
Struct: TypeAlias = "dict[int, tuple[int, Any]]"
"""Field id to (type, value).

The value of a boolean field is None, since its type holds it; of a list or set it is (type of
items, items); of a map (type of keys, type of values, pairs); of a double its eight bytes.
"""
_SIZES: Final = {TRUE: 1, FALSE: 1, BYTE: 1, DOUBLE: 8}
"""Sizes in bytes of the fixed-size types, as items."""
_LONG_LIST: Final = 15
_MOST_STEP: Final = 15
_DEEPEST: Final = 32


def i16(step: int, value: int) -> bytes:
    """Return a field whose id is `step` (1 to 15) above the previous field's id."""
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


def read_struct(data: bytes, at: int = 0) -> tuple[Struct, int]:
    """Return the struct that starts at offset `at`, and the offset after it.

    Raises:
        ValueError: the bytes are not a struct.
    """
    try:
        return _read_fields(data, at, _DEEPEST)
    except IndexError:
        raise ValueError("a struct is truncated") from None


def write_struct(fields: Struct) -> bytes:
    """Return the bytes of a struct, its fields in ascending order of their ids."""
    out = []
    last = 0
    for number in sorted(fields):
        kind, value = fields[number]
        step = number - last
        head = bytes((step << 4 | kind,)) if 0 < step <= _MOST_STEP else _long_head(number, kind)
        out += [head, b"" if kind in {TRUE, FALSE} else _written(kind, value)]
        last = number
    return b"".join([*out, STOP])


def _long_head(number: int, kind: int) -> bytes:
    """Return the head of a field whose id is more than 15 above the previous one."""
    return bytes((kind,)) + zigzag(number)


def _read_fields(data: bytes, at: int, depth: int) -> tuple[Struct, int]:
    if depth < 0:
        raise ValueError("structs are nested too deeply")
    found: Struct = {}
    number = 0
    while data[at]:
        kind, step = data[at] & 0x0F, data[at] >> 4
        at += 1
        if step:
            number += step
        else:
            number, at = _read_integer(data, at)
        if kind in {TRUE, FALSE}:
            found[number] = kind, None
        else:
            value, at = _read(data, at, kind, depth)
            found[number] = kind, value
    return found, at + 1


def _read(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """Return one value and the offset after it."""
    if kind in _SIZES:
        return _cut(data, at, _SIZES[kind])
    if kind not in _READERS:
        message = f"the type {kind} is unknown"
        raise ValueError(message)
    found: tuple[Any, int] = _READERS[kind](data, at, depth - 1)
    return found


def _cut(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    if at + size > len(data):
        raise ValueError("a value is truncated")
    return bytes(data[at : at + size]), at + size


def _read_binary(data: bytes, at: int, _depth: int) -> tuple[bytes, int]:
    """Return length-prefixed bytes."""
    size, at = read_uvarint(data, at)
    return _cut(data, at, size)


def _read_integer(data: bytes, at: int, _depth: int = 0) -> tuple[int, int]:
    raw, at = read_uvarint(data, at)
    return (raw >> 1) ^ -(raw & 1), at


def _read_list(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    """Return the items of a list with their type."""
    kind, count = data[at] & 0x0F, data[at] >> 4
    at += 1
    if count == _LONG_LIST:
        count, at = read_uvarint(data, at)
    items = []
    for _ in range(count):
        item, at = _read(data, at, kind, depth)
        items.append(item)
    return (kind, items), at


def _read_map(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    """Return the pairs of a map with their types."""
    count, at = read_uvarint(data, at)
    if not count:
        return (0, 0, []), at
    keys, values = data[at] >> 4, data[at] & 0x0F
    at += 1
    pairs = []
    for _ in range(count):
        key, at = _read(data, at, keys, depth)
        value, at = _read(data, at, values, depth)
        pairs.append((key, value))
    return (keys, values, pairs), at


def _written(kind: int, value: Any) -> bytes:
    return bytes(value) if kind in _SIZES else _WRITERS[kind](value)


def _written_binary(value: bytes) -> bytes:
    """Return length-prefixed bytes."""
    return uvarint(len(value)) + value


def _written_list(value: tuple[int, list[Any]]) -> bytes:
    kind, items = value
    count = len(items)
    short = count < _LONG_LIST
    head = bytes(((count if short else _LONG_LIST) << 4 | kind,))
    return b"".join([head if short else head + uvarint(count), *(_written(kind, i) for i in items)])


def _written_map(value: tuple[int, int, list[tuple[Any, Any]]]) -> bytes:
    keys, values, pairs = value
    if not pairs:
        return b"\0"
    parts = [_written(keys, key) + _written(values, value) for key, value in pairs]
    return b"".join([uvarint(len(pairs)), bytes((keys << 4 | values,)), *parts])


_READERS: Final[dict[int, Callable[[bytes, int, int], tuple[Any, int]]]] = {
    **dict.fromkeys((I16, I32, I64), _read_integer),
    BINARY: _read_binary,
    STRUCT: _read_fields,
    **dict.fromkeys((LIST, SET), _read_list),
    MAP: _read_map,
}
_WRITERS: Final[dict[int, Callable[[Any], bytes]]] = {
    **dict.fromkeys((I16, I32, I64), zigzag),
    BINARY: _written_binary,
    STRUCT: write_struct,
    **dict.fromkeys((LIST, SET), _written_list),
    MAP: _written_map,
}
