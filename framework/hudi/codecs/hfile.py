"""Write HFiles, version 3, that HBase-based and native Hudi readers accept (format sheet, 5).

One level of index, CRC32C checksums, no meta blocks. Writes are streamed: memory holds one block
and the index, about 100 bytes per block.

Data blocks can be encoded in parts, for instance by tasks, each with `end_part`; `append_part`
copies them into the file without decompressing them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO, Final, NamedTuple

from framework.errors import CorruptFileError
from framework.hudi.codecs import hfile_parts
from framework.hudi.codecs.hfile_parts import NO_BLOCK, Trailer, encode_file_info, encode_trailer

__all__ = ["DataBlock", "HFilePart", "HFileWriter"]

_BLOCK_SIZE: Final = 64 * 1024
_MAX_ROW: Final = 2**15 - 1
_ENTRY: Final = struct.Struct(">ii")
_INDEX_ENTRY: Final = struct.Struct(">qi")
_MVCC: Final = b"\x00"


class DataBlock(NamedTuple):
    """A data block: its first row, its bytes on disk, and the bytes of its plain payload."""

    first_row: bytes
    size: int
    plain: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HFilePart:
    """Consecutive data blocks of an HFile.

    Attributes:
        blocks: in order; empty if the part has no entry.
        last_row: of its last entry; empty if it has none.
        entries: their number.
        key_bytes: of their keys, as cells.
        value_bytes: of their values.
    """

    blocks: tuple[DataBlock, ...]
    last_row: bytes
    entries: int
    key_bytes: int
    value_bytes: int


class HFileWriter:
    """Writer of an HFile in ascending key order; `out` is left open.

    Args:
        out: written from its current position, which must be the file's start; not read.
        compression: `gzip` or `none`, for every block.
        block_size: bytes of uncompressed entries after which a block is closed.
    """

    def __init__(
        self, out: BinaryIO, *, compression: str = "gzip", block_size: int = _BLOCK_SIZE
    ) -> None:
        self._out = out
        self._codec = hfile_parts.Codec[compression.upper()]
        self._block_size = block_size
        self._parts: list[bytes] = []
        self._buffered = 0
        self._first_row = b""
        self._last_row: bytes | None = None
        self._blocks: list[DataBlock] = []
        self._offset = 0
        self._last_block = NO_BLOCK
        self._plain = 0
        self._entries, self._key_bytes, self._value_bytes = 0, 0, 0

    def append(self, key: bytes, value: bytes) -> None:
        """Add one entry.

        Raises:
            CorruptFileError: `hfile/key-order` if `key` is not greater than the previous one in
                unsigned byte order; `hfile/key-too-long` above 32,767 bytes. Discard the file then.
        """
        self._check_order(key)
        if len(key) > _MAX_ROW:
            raise CorruptFileError("hfile/key-too-long", f"a key has {len(key)} bytes")
        if not self._parts:
            self._first_row = key
        cell = hfile_parts.full_key(key)
        self._parts += (_ENTRY.pack(len(cell), len(value)), cell, value, _MVCC)
        self._buffered += _ENTRY.size + len(cell) + len(value) + len(_MVCC)
        self._last_row = key
        self._entries += 1
        self._key_bytes += len(cell)
        self._value_bytes += len(value)
        if self._buffered >= self._block_size:
            self._close_block()

    def end_part(self) -> HFilePart:
        """Write the buffered block and return all blocks, instead of finishing the file."""
        self._close_block()
        return HFilePart(
            blocks=tuple(self._blocks),
            last_row=self._last_row or b"",
            entries=self._entries,
            key_bytes=self._key_bytes,
            value_bytes=self._value_bytes,
        )

    def append_part(self, part: HFilePart, source: BinaryIO) -> None:
        """Copy the blocks of a part, which `source` holds from its current position.

        Raises:
            CorruptFileError: `hfile/key-order`, as of `append`; `hfile/part-truncated`.
        """
        self._close_block()
        for block in part.blocks:
            self._check_order(block.first_row)
            data = source.read(block.size)
            if len(data) != block.size:
                raise CorruptFileError("hfile/part-truncated", "a part has fewer bytes than blocks")
            self._add_block(hfile_parts.with_previous(data, self._previous), block)
            self._last_row = block.first_row
        self._last_row = part.last_row or self._last_row
        self._entries += part.entries
        self._key_bytes += part.key_bytes
        self._value_bytes += part.value_bytes

    def finish(self, file_info: Mapping[bytes, bytes]) -> None:
        """Write the buffered block, the index, the file info with `file_info`, and the trailer."""
        self._close_block()
        load_on_open = self._offset
        index = self._index()
        self._write(hfile_parts.ROOT_INDEX, index)
        self._write(hfile_parts.ROOT_INDEX, b"")  # an index of meta blocks must exist
        file_info_offset = self._offset
        self._write(hfile_parts.FILE_INFO, encode_file_info({**self._usual_info(), **file_info}))
        trailer = Trailer(
            file_info_offset=file_info_offset,
            load_on_open_offset=load_on_open,
            index_plain_size=len(index),
            plain_size=self._plain,
            index_count=len(self._blocks),
            meta_index_count=0,
            entries=self._entries,
            index_levels=1,
            first_data_block=0 if self._blocks else NO_BLOCK,
            last_data_block=self._last_block,
            codec=self._codec,
        )
        self._out.write(encode_trailer(trailer))

    @property
    def _previous(self) -> int:
        """The offset of the last data block, as a block's header has it."""
        return -1 if self._last_block == NO_BLOCK else self._last_block

    def _check_order(self, key: bytes) -> None:
        if self._last_row is not None and key <= self._last_row:
            raise CorruptFileError(
                "hfile/key-order", f"the key {key!r} does not follow {self._last_row!r}"
            )

    def _close_block(self) -> None:
        """Write the buffered entries, if there are any, as a data block."""
        if not self._parts:
            return
        payload = b"".join(self._parts)
        data = hfile_parts.encode_block(hfile_parts.DATA, payload, self._codec, self._previous)
        self._add_block(data, DataBlock(self._first_row, len(data), len(payload)))
        self._parts = []
        self._buffered = 0

    def _add_block(self, data: bytes, block: DataBlock) -> None:
        """Write an encoded data block and add it to the index."""
        self._out.write(data)
        self._blocks.append(block)
        self._last_block = self._offset
        self._offset += len(data)
        self._plain += hfile_parts.HEADER.size + block.plain

    def _index(self) -> bytes:
        """Return the root index: offset, size and first key of each data block."""
        parts, start = [], 0
        for block in self._blocks:
            key = hfile_parts.full_key(block.first_row)
            parts += [
                _INDEX_ENTRY.pack(start, block.size),
                hfile_parts.encode_vlong(len(key)),
                key,
            ]
            start += block.size
        return b"".join(parts)

    def _write(self, magic: bytes, payload: bytes) -> None:
        """Write a block that is no data block."""
        block = hfile_parts.encode_block(magic, payload, self._codec)
        self._out.write(block)
        self._offset += len(block)
        self._plain += hfile_parts.HEADER.size + len(payload)

    def _usual_info(self) -> dict[bytes, bytes]:
        """Return the file info entries that HBase's reader requires."""
        entries = max(1, self._entries)
        return {
            b"KEY_VALUE_VERSION": (1).to_bytes(4, "big"),
            b"MAX_MEMSTORE_TS_KEY": bytes(8),
            b"hfile.AVG_KEY_LEN": (self._key_bytes // entries).to_bytes(4, "big"),
            b"hfile.AVG_VALUE_LEN": (self._value_bytes // entries).to_bytes(4, "big"),
            b"hfile.CREATE_TIME_TS": bytes(8),
            b"hfile.LASTKEY": b""
            if self._last_row is None
            else hfile_parts.full_key(self._last_row),
        }
