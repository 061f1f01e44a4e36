"""The parts of an HFile, version 3, as bytes: blocks, file info, and trailer.

Numbers are big-endian (format sheet, section 5). A file is: data blocks, root data index, meta
index, file info, trailer. Each block is a 33-byte header, a payload that may be gzip, and one
4-byte checksum per 16 KiB of header and payload:

    offset  size
    0       8     magic
    8       4     bytes after the header: payload on disk and checksums
    12      4     bytes of the payload once decompressed
    16      8     offset of the previous block of this kind, -1 for none
    24      1     checksum type: 0 none, 1 CRC32, 2 CRC32C
    25      4     bytes per checksum
    29      4     header and payload on disk, without checksums

File info and trailer are protobuf messages, the trailer in the last 4096 bytes.

Invalid bytes of a block raise a `ValueError` here; the reader, which knows the offset, turns it
into a `CorruptFileError`.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, unique
from typing import Final

import google_crc32c

from framework.hudi.codecs.varint import read_uvarint, uvarint

__all__ = [
    "DATA",
    "FILE_INFO",
    "HEADER",
    "NO_BLOCK",
    "ROOT_INDEX",
    "TRAILER_SIZE",
    "Checksum",
    "Codec",
    "Header",
    "Trailer",
    "checksums",
    "decode_file_info",
    "decode_trailer",
    "decode_vlong",
    "decompress",
    "encode_block",
    "encode_file_info",
    "encode_trailer",
    "encode_vlong",
    "full_key",
    "with_previous",
]

DATA: Final = b"DATABLK*"
ROOT_INDEX: Final = b"IDXROOT2"
FILE_INFO: Final = b"FILEINF2"
_BYTES_PER_CHECKSUM: Final = 16 * 1024
HEADER: Final = struct.Struct(">8siiqBii")
# No column family, the latest timestamp, type Put.
_KEY_SUFFIX: Final = b"\x00" + struct.pack(">q", 2**63 - 1) + b"\x04"
_GZIP_LEVEL: Final = 3  # on 375 MB of repeated schemas, level 6 saves 10 % and takes twice as long


@unique
class Codec(IntEnum):
    """The trailer's compression codes that Hudi implements."""

    GZIP = 1
    NONE = 2


@unique
class Checksum(IntEnum):
    """The header's checksum types."""

    NONE = 0
    CRC32 = 1
    CRC32C = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A block's header.

    Attributes:
        magic: the kind of block.
        after_header: bytes of payload and checksums on disk.
        plain_size: bytes of the payload once decompressed.
        checksum: type of the block's checksums.
        bytes_per_checksum: bytes that one checksum covers.
        covered: bytes of header and payload on disk.
    """

    magic: bytes
    after_header: int
    plain_size: int
    checksum: Checksum
    bytes_per_checksum: int
    covered: int

    @classmethod
    def decode(cls, data: bytes) -> Header:
        """Decode and check the 33 bytes.

        Raises:
            ValueError: sizes that contradict each other, or an unknown checksum type.
        """
        magic, after, plain, _, kind, per, covered = HEADER.unpack(data)
        if kind not in set(Checksum):
            raise ValueError(f"a block has the unknown checksum type {kind}")
        checksum = Checksum(kind)
        header = cls(
            magic=magic,
            after_header=after,
            plain_size=plain,
            checksum=checksum,
            bytes_per_checksum=per,
            covered=covered,
        )
        payload = covered - HEADER.size
        if plain < 0 or payload < 0 or payload > after:
            raise ValueError(f"a block has impossible sizes: {header}")
        if checksum is not Checksum.NONE and (
            per <= 0 or after - payload != -(-covered // per) * 4
        ):
            raise ValueError(f"a block's checksums do not fit its size: {header}")
        return header


def encode_block(magic: bytes, payload: bytes, codec: Codec, previous: int = -1) -> bytes:
    """Return a whole block: header, payload compressed by `codec`, CRC32C checksums."""
    # mtime 0: the same entries give the same bytes.
    packed = gzip.compress(payload, _GZIP_LEVEL, mtime=0) if codec is Codec.GZIP else payload
    covered = HEADER.size + len(packed)
    after = len(packed) + -(-covered // _BYTES_PER_CHECKSUM) * 4
    header = HEADER.pack(
        magic, after, len(payload), previous, Checksum.CRC32C, _BYTES_PER_CHECKSUM, covered
    )
    body = header + packed
    return body + checksums(body, Checksum.CRC32C, _BYTES_PER_CHECKSUM)


def with_previous(block: bytes, previous: int) -> bytes:
    """Return an encoded block of `encode_block` with another offset of the previous block.

    Only the checksum that covers the header is computed again.
    """
    fields = list(HEADER.unpack_from(block))
    if fields[3] == previous:
        return block
    fields[3] = previous
    covered = fields[6]
    body = HEADER.pack(*fields) + block[HEADER.size : covered]
    first = checksums(body[:_BYTES_PER_CHECKSUM], Checksum.CRC32C, _BYTES_PER_CHECKSUM)
    return body + first + block[covered + len(first) :]


def checksums(body: bytes, kind: Checksum, bytes_per_checksum: int) -> bytes:
    """Return one 4-byte checksum per chunk of `body`; `kind` is CRC32 or CRC32C."""
    function = google_crc32c.value if kind is Checksum.CRC32C else zlib.crc32
    chunks = (body[i : i + bytes_per_checksum] for i in range(0, len(body), bytes_per_checksum))
    return b"".join(function(chunk).to_bytes(4, "big") for chunk in chunks)


def decompress(payload: bytes, codec: Codec, plain_size: int) -> bytes:
    """Return the plain payload, which must have exactly `plain_size` bytes.

    Raises:
        ValueError: another size, or not exactly one gzip member.
    """
    plain = payload
    if codec is Codec.GZIP:
        member = zlib.decompressobj(wbits=31)
        try:
            # One byte more than declared is enough to detect too many.
            plain = member.decompress(payload, plain_size + 1)
        except zlib.error as error:
            raise ValueError(f"a block is not gzip: {error}") from error
        if not member.eof or member.unused_data:
            raise ValueError("a block's gzip does not end where the block ends")
    if len(plain) != plain_size:
        raise ValueError(f"a block has {len(plain)} bytes, not the declared {plain_size}")
    return plain


def full_key(row: bytes) -> bytes:
    """Return the cell key of a row: its length, the row, no family, latest timestamp, Put."""
    return len(row).to_bytes(2, "big") + row + _KEY_SUFFIX


def encode_vlong(value: int) -> bytes:
    """Encode a non-negative number in Hadoop's variable-length form."""
    if value <= 127:  # noqa: PLR2004 - Hadoop's limit of the one-byte form
        return bytes([value])
    size = (value.bit_length() + 7) // 8
    return (256 - 112 - size).to_bytes(1, "big") + value.to_bytes(size, "big")


def decode_vlong(data: bytes, at: int) -> tuple[int, int]:
    """Decode one such number; return it and the offset after it.

    Raises:
        ValueError: the number is negative or truncated.
    """
    if at >= len(data):
        raise ValueError("a number is truncated")
    first = data[at]
    if first <= 127:  # noqa: PLR2004 - Hadoop's limit of the one-byte form
        return first, at + 1
    size = 256 - 112 - first
    if not 1 <= size <= 8 or at + 1 + size > len(data):  # noqa: PLR2004 - bytes of a long
        raise ValueError("a number is negative or truncated")
    return int.from_bytes(data[at + 1 : at + 1 + size], "big"), at + 1 + size


_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

TRAILER_SIZE: Final = 4096
NO_BLOCK: Final = 2**64 - 1
_MAGIC: Final = b'TRABLK"$'
# HBase's own class for Hudi: HBase-based readers load it by name, native ones ignore it.
_COMPARATOR: Final = b"org.apache.hudi.io.storage.HoodieHBaseKVComparator"
_PBUF: Final = b"PBUF"
_VERSION: Final = bytes([3, 0, 0, 3])  # minor 3, then major 3
_MAJOR: Final = _VERSION[1:]


def _encode_field(number: int, value: int | bytes) -> bytes:
    """Return one protobuf field."""
    if isinstance(value, int):
        return uvarint(number << 3 | _VARINT) + uvarint(value)
    return uvarint(number << 3 | _BYTES) + uvarint(len(value)) + value


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a varint, truncated to 64 bits; return it and the offset after it."""
    value, at = read_uvarint(data, at)
    return value & (2**64 - 1), at


def _sized_message(data: bytes, at: int) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of the message whose length is at `at`."""
    size, at = _read_varint(data, at)
    if at + size > len(data):
        raise ValueError(f"a message of {size} bytes is truncated")
    return _fields_of(data[at : at + size])


def _fields_of(message: bytes) -> Iterator[tuple[int, int | bytes]]:
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
        _encode_field(1, key) + _encode_field(2, value) for key, value in sorted(entries.items())
    )
    message = b"".join(_encode_field(1, pair) for pair in pairs)
    return _PBUF + uvarint(len(message)) + message


def decode_file_info(payload: bytes) -> dict[bytes, bytes]:
    """Decode the payload of a file info block.

    Raises:
        ValueError: not a file info payload.
    """
    if payload[:4] != _PBUF:
        raise ValueError("file info has no PBUF mark")
    entries: dict[bytes, bytes] = {}
    for number, pair in _sized_message(payload, 4):
        if number != 1 or not isinstance(pair, bytes):
            raise ValueError("file info has an unknown field")
        fields = {number: value for number, value in _fields_of(pair) if isinstance(value, bytes)}
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
    parts = [_encode_field(number, value) for number, value in enumerate(numbers, start=1)]
    message = b"".join([*parts, _encode_field(11, _COMPARATOR), _encode_field(12, trailer.codec)])
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
    message = _sized_message(data[: -len(_VERSION)], len(_MAGIC))
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
