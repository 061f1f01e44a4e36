"""Read HFiles, version 3, written by us, by HBase, or by Apache Hudi's native writer.

Every length is checked against the file before memory is allocated, and every block whose header
names a checksum type is verified. Memory holds the index and one block.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from framework.errors import CorruptFileError, UnsupportedTableError, Where
from framework.hudi.codecs import hfile_parts

__all__ = ["HFileReader"]

_ENTRY: Final = struct.Struct(">iih")
_LENGTHS: Final = 8
_ROW_LENGTH: Final = 2
_INDEX_ENTRY: Final = struct.Struct(">qi")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """One index entry: the block's offset, its size on disk, and a row.

    The row is at most the block's first row and above the last row of the previous block. HBase may
    shorten it, so it need not be in the file.
    """

    offset: int
    size: int
    row: bytes


class HFileReader:
    """An open HFile; index and file info are read at once, data blocks on demand.

    Args:
        source: seekable and readable; left open.
        file: the file name for errors.

    Raises:
        CorruptFileError: `hfile/corrupt`, here and from each method, with file and offset.
        UnsupportedTableError: `hfile/unsupported`: another codec or more than one index level.
    """

    def __init__(self, source: Any, *, file: str = "") -> None:
        self._source = source
        self._file = file
        self._size = int(source.seek(0, 2) or source.tell())
        self._checksum: hfile_parts.Checksum | None = None
        self._trailer = self._read_trailer()
        self._codec = hfile_parts.Codec(self._trailer.codec)
        self._end = self._size - hfile_parts.TRAILER_SIZE
        start = self._trailer.load_on_open_offset
        index, meta_at = self._block(start, hfile_parts.ROOT_INDEX)
        self._index = self._read_index(index)
        _, info_at = self._block(meta_at, hfile_parts.ROOT_INDEX)
        if info_at != self._trailer.file_info_offset:
            raise self._corrupt("file info is not at the offset in the trailer", info_at)
        info, _ = self._block(info_at, hfile_parts.FILE_INFO)
        try:
            self.file_info = hfile_parts.decode_file_info(info)
        except ValueError as error:
            raise self._corrupt(str(error), info_at) from error
        self._rows = [block.row for block in self._index]
        self._cached: tuple[int, bytes] = (-1, b"")

    @property
    def entries(self) -> int:
        """Number of entries according to the trailer; a full `scan` checks it."""
        return self._trailer.entries

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`, None if absent; reads at most one block."""
        place = bisect_right(self._rows, key) - 1
        if place < 0:
            return None
        for row, value in self._entries_of(place):
            if row >= key:
                return value if row == key else None
        return None

    def scan(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield the entries whose key starts with `prefix`, ascending.

        A scan without prefix that reaches the end also checks the number of entries.
        """
        count = 0
        for place in range(max(0, bisect_right(self._rows, prefix) - 1), len(self._index)):
            if self._rows[place] > prefix and not self._rows[place].startswith(prefix):
                return
            for row, value in self._entries_of(place):
                if row.startswith(prefix):
                    count += 1
                    yield row, value
                elif row > prefix:
                    return
        if not prefix and count != self.entries:
            raise self._corrupt(f"{count} entries, but the trailer has {self.entries}", self._end)

    def _read_trailer(self) -> hfile_parts.Trailer:
        """Read the last 4096 bytes and refuse unsupported files."""
        if self._size < hfile_parts.TRAILER_SIZE:
            raise self._corrupt(f"{self._size} bytes are less than a trailer", 0)
        start = self._size - hfile_parts.TRAILER_SIZE
        try:
            trailer = hfile_parts.decode_trailer(self._read(start, hfile_parts.TRAILER_SIZE))
        except ValueError as error:
            raise self._corrupt(str(error), start) from error
        if trailer.codec not in set(hfile_parts.Codec) or trailer.index_levels != 1:
            raise UnsupportedTableError(
                "hfile/unsupported",
                f"an HFile with compression {trailer.codec} and {trailer.index_levels} index "
                "levels; only gzip or none with one level can be read",
                where=Where(file=self._file or None, offset=start),
            )
        return trailer

    def _read_index(self, payload: bytes) -> list[_Block]:
        """Read the root index, whose blocks must not overlap and whose rows must ascend."""
        blocks: list[_Block] = []
        at, expected = 0, 0
        for _ in range(self._trailer.index_count):
            block, at = self._index_entry(payload, at)
            ascending = not blocks or blocks[-1].row < block.row
            if block.offset < expected or block.size <= 0 or not ascending:
                raise self._corrupt(
                    f"the index is out of order at {block}", self._trailer.load_on_open_offset
                )
            expected = block.offset + block.size
            blocks.append(block)
        if at != len(payload) or expected > self._trailer.load_on_open_offset:
            raise self._corrupt(
                f"the index has {len(payload)} bytes, of which {at} list blocks up to {expected}",
                self._trailer.load_on_open_offset,
            )
        return blocks

    def _index_entry(self, payload: bytes, at: int) -> tuple[_Block, int]:
        """Read one index entry; return it and the offset after it."""
        start = self._trailer.load_on_open_offset
        if at + _INDEX_ENTRY.size > len(payload):
            raise self._corrupt("the index is truncated", start)
        offset, size = _INDEX_ENTRY.unpack_from(payload, at)
        try:
            length, at = hfile_parts.decode_vlong(payload, at + _INDEX_ENTRY.size)
        except ValueError as error:
            raise self._corrupt(f"the index: {error}", start) from error
        key = payload[at : at + length]
        # The native writer ends an index key after the row; HBase writes the whole cell key.
        row_end = _ROW_LENGTH + int.from_bytes(key[:_ROW_LENGTH], "big")
        if len(key) != length or row_end > length:
            raise self._corrupt("a key of the index is truncated", start)
        return _Block(offset=offset, size=size, row=key[_ROW_LENGTH:row_end]), at + length

    def _entries_of(self, place: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield row and value of each entry of a data block, ascending."""
        block = self._index[place]
        payload = self._data(place)
        last = block.row
        at = 0
        while at < len(payload):
            row, value_at, end = self._entry(payload, at, block)
            if row < last:
                raise self._corrupt(f"the key {row!r} is out of order", block.offset)
            yield row, payload[value_at : end - 1]
            last, at = row, end
        if place + 1 < len(self._rows) and last >= self._rows[place + 1]:
            raise self._corrupt(f"the key {last!r} belongs to a later block", block.offset)

    def _entry(self, payload: bytes, at: int, block: _Block) -> tuple[bytes, int, int]:
        """Return an entry's row and the offsets of its value and of the next entry."""
        if at + _ENTRY.size > len(payload):
            raise self._corrupt(f"an entry is truncated at byte {at} of the block", block.offset)
        key_size, value_size, row_size = _ENTRY.unpack_from(payload, at)
        row_at = at + _ENTRY.size
        value_at = at + _LENGTHS + key_size
        end = value_at + value_size + 1  # the MVCC timestamp, which is always 0
        inside = 0 <= row_size <= key_size - _ROW_LENGTH and value_size >= 0 and end <= len(payload)
        if not inside or payload[end - 1] != 0:
            raise self._corrupt(f"an entry has bad lengths at byte {at} of the block", block.offset)
        return payload[row_at : row_at + row_size], value_at, end

    def _data(self, place: int) -> bytes:
        """Return the payload of a data block; the last one is cached."""
        if self._cached[0] != place:
            block = self._index[place]
            body = self._read(block.offset, block.size)
            payload, end = self._decoded(body, block.offset, hfile_parts.DATA)
            if end != block.offset + block.size:
                raise self._corrupt("a block's size differs from the index", block.offset)
            self._cached = (place, payload)
        return self._cached[1]

    def _block(self, offset: int, magic: bytes) -> tuple[bytes, int]:
        """Return the payload of a block that no index entry describes, and its end."""
        if offset + hfile_parts.HEADER.size > self._end:
            raise self._corrupt("a block starts past the end", offset)
        header = self._header(self._read(offset, hfile_parts.HEADER.size), offset)
        size = hfile_parts.HEADER.size + header.after_header
        self._check_header(header, magic, offset, offset + size)
        return self._decoded(self._read(offset, size), offset, magic)

    def _decoded(self, body: bytes, offset: int, magic: bytes) -> tuple[bytes, int]:
        """Return the verified, decompressed payload of the block in `body`, and its end."""
        header = self._header(body, offset)
        end = offset + hfile_parts.HEADER.size + header.after_header
        self._check_header(header, magic, offset, end)
        if end > offset + len(body):
            raise self._corrupt("a block's size differs from the index", offset)
        body = body[: end - offset]
        self._verify(header, body, offset)
        payload = body[hfile_parts.HEADER.size : header.covered]
        try:
            return hfile_parts.decompress(payload, self._codec, header.plain_size), end
        except ValueError as error:
            raise self._corrupt(str(error), offset) from error

    def _header(self, body: bytes, offset: int) -> hfile_parts.Header:
        """Return the header at the start of a block."""
        if len(body) < hfile_parts.HEADER.size:
            raise self._corrupt("a block is shorter than its header", offset)
        try:
            return hfile_parts.Header.decode(body[: hfile_parts.HEADER.size])
        except ValueError as error:
            raise self._corrupt(str(error), offset) from error

    def _check_header(
        self, header: hfile_parts.Header, magic: bytes, offset: int, end: int
    ) -> None:
        """Refuse another kind of block, a truncated one, or another checksum type."""
        if header.magic != magic:
            raise self._corrupt(f"{header.magic!r} instead of {magic!r}", offset)
        if end > self._end:
            raise self._corrupt(f"a block of {end - offset} bytes is truncated", offset)
        # A file has one type; otherwise a flipped bit could disable the check.
        self._checksum = header.checksum if self._checksum is None else self._checksum
        if header.checksum is not self._checksum:
            raise self._corrupt("a block has another checksum type than the index", offset)

    def _verify(self, header: hfile_parts.Header, body: bytes, offset: int) -> None:
        """Verify the checksums, if there are any."""
        if header.checksum is hfile_parts.Checksum.NONE:
            return
        expected = hfile_parts.checksums(
            body[: header.covered], header.checksum, header.bytes_per_checksum
        )
        if body[header.covered :] != expected:
            raise self._corrupt("a block's checksum does not match its bytes", offset)

    def _read(self, offset: int, size: int) -> bytes:
        """Read exactly `size` bytes."""
        self._source.seek(offset)
        data = bytes(self._source.read(size))
        if len(data) != size:
            raise self._corrupt(f"{len(data)} of {size} bytes could be read", offset)
        return data

    def _corrupt(self, what: str, offset: int) -> CorruptFileError:
        """Return the error for this file at `offset`."""
        return CorruptFileError(
            "hfile/corrupt",
            what,
            where=Where(file=self._file or None, offset=offset),
            remedy="Restore the file from a copy, or recreate the table.",
        )
