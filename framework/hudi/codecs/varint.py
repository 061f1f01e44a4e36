"""Numbers of variable length, as Avro, protobuf and Thrift have them.

Seven bits a byte, lowest first.
"""

from __future__ import annotations

from typing import Final

__all__ = ["read_uvarint", "uvarint", "zigzag"]

_MOST_BYTES: Final = 10
_BITS: Final = 0x7F
_MORE: Final = 0x80  # the bit that says "more follows"


def uvarint(value: int) -> bytes:
    """Return a number that is not negative."""
    if value < _MORE:
        return _SMALL[value]
    out = bytearray()
    while value >= _MORE:
        out.append(value & _BITS | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    """Return a signed 64-bit number, small ones of either sign as small unsigned ones."""
    if 0 <= value < len(_SMALL_ZIGZAG):
        return _SMALL_ZIGZAG[value]
    return uvarint((value << 1) ^ (value >> 63))


def read_uvarint(data: bytes, at: int) -> tuple[int, int]:
    """Read a number; return it, up to 70 bits long, and the place after it.

    Raises:
        ValueError: it is cut or takes more than ten bytes.
    """
    value = shift = 0
    for byte in data[at : at + _MOST_BYTES]:
        at += 1
        if byte < _MORE:
            return value | byte << shift, at
        value |= (byte & _BITS) << shift
        shift += 7
    raise ValueError("a number is cut or too long")


_SMALL: Final = [bytes((value,)) for value in range(_MORE)]
# Most numbers are lengths of short texts.
_SMALL_ZIGZAG: Final = [uvarint(value << 1) for value in range(1024)]
