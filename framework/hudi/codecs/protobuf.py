"""The little of protobuf's wire format that an HFile needs: the fields of a message.

HFile's two messages (file info and trailer) have numbers and bytes only, so a message is read as a
stream of `(field number, value)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.hudi.codecs.varint import read_uvarint, uvarint

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["encode_field", "fields_of", "sized_message"]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def encode_field(number: int, value: int | bytes) -> bytes:
    """Return one protobuf field."""
    if isinstance(value, int):
        return uvarint(number << 3 | _VARINT) + uvarint(value)
    return uvarint(number << 3 | _BYTES) + uvarint(len(value)) + value


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a varint, of which 64 bits count; return it and the place after it."""
    value, at = read_uvarint(data, at)
    return value & (2**64 - 1), at


def sized_message(data: bytes, at: int) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of the message whose length stands at `at`."""
    size, at = _read_varint(data, at)
    if at + size > len(data):
        raise ValueError(f"a message of {size} bytes is cut")
    return fields_of(data[at : at + size])


def fields_of(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field of a message."""
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _read_varint(message, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, at = _read_varint(message, at)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"a protobuf field has the unknown wire type {kind}")
        if at + size > len(message):
            raise ValueError(f"a protobuf field of {size} bytes is cut")
        yield tag >> 3, message[at : at + size]
        at += size
