"""Write HFiles, version 3, that HBase-based and native Hudi readers accept (format sheet, 5).

One level of index, CRC32C checksums, no meta blocks. Writes are streamed: memory holds one block
and the index, about 100 bytes per block.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import BinaryIO, Final

from framework.errors import CorruptFileError
from framework.hudi.codecs import hfile_blocks
from framework.hudi.codecs.hfile_trailer import NO_BLOCK, Trailer, encode_file_info, encode_trailer

__all__ = ["HFileWriter"]

_BLOCK_SIZE: Final = 64 * 1024
_MAX_ROW: Final = 2**15 - 1
_ENTRY: Final = struct.Struct(">ii")
_INDEX_ENTRY: Final = struct.Struct(">qi")
_MVCC: Final = b"\x00"


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
        self._codec = hfile_blocks.Codec[compression.upper()]
        self._block_size = block_size
        self._parts: list[bytes] = []
        self._buffered = 0
        self._first_row = b""
        self._last_row: bytes | None = None
        self._index: list[bytes] = []
        self._offset = 0
        self._first_block, self._last_block = NO_BLOCK, NO_BLOCK
        self._plain = 0
        self._entries, self._key_bytes, self._value_bytes = 0, 0, 0

    def append(self, key: bytes, value: bytes) -> None:
        """Add one entry.

        Raises:
            CorruptFileError: `hfile/key-order` if `key` is not greater than the previous one in
                unsigned byte order; `hfile/key-too-long` above 32,767 bytes. Discard the file then.
        """
        if self._last_row is not None and key <= self._last_row:
            raise CorruptFileError(
                "hfile/key-order", f"the key {key!r} does not follow {self._last_row!r}"
            )
        if len(key) > _MAX_ROW:
            raise CorruptFileError("hfile/key-too-long", f"a key has {len(key)} bytes")
        if not self._parts:
            self._first_row = key
        cell = hfile_blocks.full_key(key)
        self._parts += (_ENTRY.pack(len(cell), len(value)), cell, value, _MVCC)
        self._buffered += _ENTRY.size + len(cell) + len(value) + len(_MVCC)
        self._last_row = key
        self._entries += 1
        self._key_bytes += len(cell)
        self._value_bytes += len(value)
        if self._buffered >= self._block_size:
            self._close_block()

    def finish(self, file_info: Mapping[bytes, bytes]) -> None:
        """Write the buffered block, the index, the file info with `file_info`, and the trailer."""
        if self._parts:
            self._close_block()
        load_on_open = self._offset
        index = b"".join(self._index)
        self._write(hfile_blocks.ROOT_INDEX, index)
        self._write(hfile_blocks.ROOT_INDEX, b"")  # an index of meta blocks must exist
        file_info_offset = self._offset
        self._write(hfile_blocks.FILE_INFO, encode_file_info({**self._usual_info(), **file_info}))
        trailer = Trailer(
            file_info_offset=file_info_offset,
            load_on_open_offset=load_on_open,
            index_plain_size=len(index),
            plain_size=self._plain,
            index_count=len(self._index),
            meta_index_count=0,
            entries=self._entries,
            index_levels=1,
            first_data_block=self._first_block,
            last_data_block=self._last_block,
            codec=self._codec,
        )
        self._out.write(encode_trailer(trailer))

    def _close_block(self) -> None:
        """Write the buffered entries as a data block and add it to the index."""
        start = self._offset
        previous = -1 if self._last_block == NO_BLOCK else self._last_block
        size = self._write(hfile_blocks.DATA, b"".join(self._parts), previous)
        key = hfile_blocks.full_key(self._first_row)
        self._index.append(
            _INDEX_ENTRY.pack(start, size) + hfile_blocks.encode_vlong(len(key)) + key
        )
        self._first_block = min(self._first_block, start)
        self._last_block = start
        self._parts = []
        self._buffered = 0

    def _write(self, magic: bytes, payload: bytes, previous: int = -1) -> int:
        """Write one block; return its size on disk."""
        block = hfile_blocks.encode_block(magic, payload, self._codec, previous)
        self._out.write(block)
        self._offset += len(block)
        self._plain += hfile_blocks.HEADER.size + len(payload)
        return len(block)

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
            else hfile_blocks.full_key(self._last_row),
        }
