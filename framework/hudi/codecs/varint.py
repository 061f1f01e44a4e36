"""Variable-length integers, as in Avro, protobuf and Thrift.

Seven bits per byte, lowest first.
"""

from __future__ import annotations

from typing import Final

__all__ = ["read_uvarint", "uvarint", "zigzag"]

_MOST_BYTES: Final = 10
_BITS: Final = 0x7F
_MORE: Final = 0x80  # the bit that says "more follows"


def uvarint(value: int) -> bytes:
    """Encode a non-negative integer."""
    if value < _MORE:
        return _SMALL[value]
    out = bytearray()
    while value >= _MORE:
        out.append(value & _BITS | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    """Encode a signed 64-bit integer; small absolute values take few bytes."""
    if 0 <= value < len(_SMALL_ZIGZAG):
        return _SMALL_ZIGZAG[value]
    return uvarint((value << 1) ^ (value >> 63))


def read_uvarint(data: bytes, at: int) -> tuple[int, int]:
    """Return the integer at `at`, of up to 70 bits, and the offset after it.

    Raises:
        ValueError: it is truncated or takes more than ten bytes.
    """
    value = shift = 0
    for byte in data[at : at + _MOST_BYTES]:
        at += 1
        if byte < _MORE:
            return value | byte << shift, at
        value |= (byte & _BITS) << shift
        shift += 7
    raise ValueError("a number is truncated or too long")


_SMALL: Final = [bytes((value,)) for value in range(_MORE)]
# Most numbers are lengths of short texts.
_SMALL_ZIGZAG: Final = [uvarint(value << 1) for value in range(1024)]
