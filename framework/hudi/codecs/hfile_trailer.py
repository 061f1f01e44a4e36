"""The HFile's two protobuf messages: file info, and the trailer in the last 4096 bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from framework.hudi.codecs.varint import read_uvarint, uvarint

__all__ = [
    "NO_BLOCK",
    "TRAILER_SIZE",
    "Trailer",
    "decode_file_info",
    "decode_trailer",
    "encode_field",
    "encode_file_info",
    "encode_trailer",
    "fields_of",
    "sized_message",
]


_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

TRAILER_SIZE: Final = 4096
NO_BLOCK: Final = 2**64 - 1
_MAGIC: Final = b'TRABLK"$'
# HBase's own class for Hudi: HBase-based readers load it by name, native ones ignore it.
_COMPARATOR: Final = b"org.apache.hudi.io.storage.HoodieHBaseKVComparator"
_PBUF: Final = b"PBUF"
_VERSION: Final = bytes([3, 0, 0, 3])  # minor 3, then major 3
_MAJOR: Final = _VERSION[1:]


def encode_field(number: int, value: int | bytes) -> bytes:
    """Return one protobuf field."""
    if isinstance(value, int):
        return uvarint(number << 3 | _VARINT) + uvarint(value)
    return uvarint(number << 3 | _BYTES) + uvarint(len(value)) + value


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a varint, truncated to 64 bits; return it and the offset after it."""
    value, at = read_uvarint(data, at)
    return value & (2**64 - 1), at


def sized_message(data: bytes, at: int) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of the message whose length is at `at`."""
    size, at = _read_varint(data, at)
    if at + size > len(data):
        raise ValueError(f"a message of {size} bytes is truncated")
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
            raise ValueError(f"a protobuf field of {size} bytes is truncated")
        yield tag >> 3, message[at : at + size]
        at += size


@dataclass(frozen=True, slots=True, kw_only=True)
class Trailer:
    """The content of the last 4096 bytes; names follow HBase's message `FileTrailerProto`.

    Attributes:
        first_data_block: `NO_BLOCK` in a file without entries; `last_data_block` is that or 0.
    """

    file_info_offset: int
    load_on_open_offset: int
    index_plain_size: int
    plain_size: int
    index_count: int
    meta_index_count: int
    entries: int
    index_levels: int
    first_data_block: int
    last_data_block: int
    codec: int


def encode_file_info(entries: Mapping[bytes, bytes]) -> bytes:
    """Return the payload of the file info block, sorted by key as in HBase."""
    pairs = (
        encode_field(1, key) + encode_field(2, value) for key, value in sorted(entries.items())
    )
    message = b"".join(encode_field(1, pair) for pair in pairs)
    return _PBUF + uvarint(len(message)) + message


def decode_file_info(payload: bytes) -> dict[bytes, bytes]:
    """Decode the payload of a file info block.

    Raises:
        ValueError: not a file info payload.
    """
    if payload[:4] != _PBUF:
        raise ValueError("file info has no PBUF mark")
    entries: dict[bytes, bytes] = {}
    for number, pair in sized_message(payload, 4):
        if number != 1 or not isinstance(pair, bytes):
            raise ValueError("file info has an unknown field")
        fields = {number: value for number, value in fields_of(pair) if isinstance(value, bytes)}
        entries[fields.get(1, b"")] = fields.get(2, b"")
    return entries


def encode_trailer(trailer: Trailer) -> bytes:
    """Return the last 4096 bytes of a file."""
    numbers = (
        trailer.file_info_offset,
        trailer.load_on_open_offset,
        trailer.index_plain_size,
        trailer.plain_size,
        trailer.index_count,
        trailer.meta_index_count,
        trailer.entries,
        trailer.index_levels,
        trailer.first_data_block,
        trailer.last_data_block,
    )
    parts = [encode_field(number, value) for number, value in enumerate(numbers, start=1)]
    message = b"".join([*parts, encode_field(11, _COMPARATOR), encode_field(12, trailer.codec)])
    head = _MAGIC + uvarint(len(message)) + message
    return head.ljust(TRAILER_SIZE - len(_VERSION), b"\x00") + _VERSION


def decode_trailer(data: bytes) -> Trailer:
    """Decode the last 4096 bytes of a file.

    Raises:
        ValueError: not a trailer of version 3, an encrypted file, or fields missing.
    """
    if data[: len(_MAGIC)] != _MAGIC:
        raise ValueError("the trailer's magic is missing")
    if data[-len(_MAJOR) :] != _MAJOR:
        raise ValueError(f"the trailer has the version {data[-4:].hex()}")
    message = sized_message(data[: -len(_VERSION)], len(_MAGIC))
    fields = {number: value for number, value in message if isinstance(value, int)}
    numbers = {n: fields.get(n, 0) for n in (*range(1, 11), 12)}
    return Trailer(
        file_info_offset=numbers[1],
        load_on_open_offset=numbers[2],
        index_plain_size=numbers[3],
        plain_size=numbers[4],
        index_count=numbers[5],
        meta_index_count=numbers[6],
        entries=numbers[7],
        index_levels=numbers[8],
        first_data_block=numbers[9],
        last_data_block=numbers[10],
        codec=numbers[12],
    )
