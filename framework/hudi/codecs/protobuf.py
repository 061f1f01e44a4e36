"""The little of protobuf's wire format that an HFile needs: varints, and fields of a message.

HFile's two messages (file info and trailer) have numbers and bytes only, so a message is read as a
stream of `(field number, value)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["encode_field", "encode_varint", "fields_of", "sized_message"]

_VARINT_BYTES: Final = 10
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def encode_field(number: int, value: int | bytes) -> bytes:
    """Return one protobuf field."""
    if isinstance(value, int):
        return encode_varint(number << 3 | _VARINT) + encode_varint(value)
    return encode_varint(number << 3 | _BYTES) + encode_varint(len(value)) + value


def encode_varint(value: int) -> bytes:
    """Return a protobuf varint of a number that is not negative."""
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a varint; return it and the place after it."""
    value = 0
    for index, byte in enumerate(data[at : at + _VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:  # noqa: PLR2004 - the bit that says "more follows"
            return value & (2**64 - 1), at + index + 1
    raise ValueError("a protobuf number is cut or too long")


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
