"""Layout of a log file's blocks (format sheet, section 6.2).

A block has its length before and after its content, so a reader finds the next block after a torn
or foreign stretch by searching for the magic. Writers append whole blocks after any existing bytes;
every reader skips a torn tail, and none repairs it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, unique
from types import MappingProxyType
from typing import Any, Final

from framework.errors import CorruptFileError, Where

__all__ = ["BlockKind", "HeaderKey", "LogBlock", "encode_block", "read_blocks", "read_content"]

MAGIC: Final = b"#HUDI#"
_FORMAT: Final = 1
_LENGTH: Final = struct.Struct(">q")
_INT: Final = struct.Struct(">i")
_TWO_INTS: Final = struct.Struct(">ii")
_LEAST: Final = 3 * _LENGTH.size + 2 * _INT.size  # a block's length field counts at least these
_MOST_ENTRIES: Final = 64
_WINDOW: Final = 1 << 20


@unique
class BlockKind(IntEnum):
    """The content type of a block; the number is the one in the file."""

    COMMAND = 0
    DELETE = 1
    CORRUPT = 2
    AVRO_DATA = 3
    HFILE_DATA = 4
    PARQUET_DATA = 5
    CDC_DATA = 6


@unique
class HeaderKey(IntEnum):
    """Names of header entries; the number is the one in the file."""

    INSTANT_TIME = 0
    TARGET_INSTANT_TIME = 1
    SCHEMA = 2
    COMMAND_BLOCK_TYPE = 3
    COMPACTED_BLOCK_TIMES = 4
    RECORD_POSITIONS = 5
    BLOCK_IDENTIFIER = 6
    IS_PARTIAL = 7
    BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBlock:
    """One block of a file; its content is read separately.

    Attributes:
        kind: its content type. `CORRUPT` is a stretch that is not a block; then `header` is empty
            and the content is the whole stretch.
        header: texts by name; names from later releases are plain numbers.
        start: offset of the content's first byte.
        size: bytes of content.
    """

    kind: BlockKind
    header: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    start: int
    size: int


def encode_block(kind: BlockKind, header: Mapping[HeaderKey, str], content: bytes) -> bytes:
    """Return one whole block, magic included, with an empty footer.

    Equal arguments give equal bytes: entries are in the order of their numbers.
    """
    body = b"".join(
        (
            _TWO_INTS.pack(_FORMAT, kind),
            _encode_entries(header),
            _LENGTH.pack(len(content)),
            content,
            _encode_entries({}),
        )
    )
    length = len(body) + _LENGTH.size
    whole = len(MAGIC) + _LENGTH.size + len(body)
    return b"".join((MAGIC, _LENGTH.pack(length), body, _LENGTH.pack(whole)))


def read_blocks(source: Any, *, where: Where | None = None) -> Iterator[LogBlock]:
    """Yield the blocks of a log file in order, torn ones as `CORRUPT`; contents are not read.

    Args:
        source: an open file with `size()` and `read_at(size, offset)`.
        where: the location for errors.

    Raises:
        CorruptFileError: `log/block` for a whole block that cannot be parsed: an unknown format or
            kind, or entries that do not fit.
    """
    reader = _Reader(source, where or Where())
    at = 0
    while at < reader.size:
        end = reader.end_of_block(at)
        if end is None:
            end = reader.next_magic(at + 1)
            yield LogBlock(kind=BlockKind.CORRUPT, start=at, size=end - at)
        else:
            yield reader.block(at, end)
        at = end


def read_content(source: Any, block: LogBlock) -> bytes:
    """Return the content of a block that `read_blocks` found in the same file."""
    return bytes(source.read_at(block.size, block.start))


class _Reader:
    """Finds blocks in one file."""

    def __init__(self, source: Any, where: Where) -> None:
        self._source = source
        self._where = where
        self.size: int = source.size()

    def end_of_block(self, at: int) -> int | None:
        """Return the end of the block at `at`, None unless its two lengths agree."""
        head = len(MAGIC) + _LENGTH.size
        data = self._read(at, head)
        if len(data) < head or not data.startswith(MAGIC):
            return None
        (length,) = _LENGTH.unpack_from(data, len(MAGIC))
        end: int = at + head + length
        if length < _LEAST or end > self.size:
            return None
        (whole,) = _LENGTH.unpack(self._read(end - _LENGTH.size, _LENGTH.size))
        if whole != length + len(MAGIC):
            return None
        follows = self._read(end, len(MAGIC))
        return end if MAGIC.startswith(follows) else None  # a tail may be torn inside the magic

    def next_magic(self, at: int) -> int:
        """Return the offset of the next magic, or the end of the file without one."""
        while at < self.size:
            data = self._read(at, _WINDOW)
            found = data.find(MAGIC)
            if found >= 0:
                return at + found
            at += max(len(data) - len(MAGIC) + 1, 1)
        return self.size

    def block(self, at: int, end: int) -> LogBlock:
        """Return the block between two offsets."""
        at += len(MAGIC) + _LENGTH.size
        form, number = _TWO_INTS.unpack(self._read(at, _TWO_INTS.size))
        if form != _FORMAT:
            raise self._fault(at, f"a log block of format {form}; only {_FORMAT} is known")
        try:
            kind = BlockKind(number)
        except ValueError as error:
            raise self._fault(at, f"a log block of the unknown kind {number}") from error
        header, at = self._entries(at + _TWO_INTS.size, end)
        at = self._within(at, _LENGTH.size, end)
        (size,) = _LENGTH.unpack(self._read(at - _LENGTH.size, _LENGTH.size))
        after = self._within(at, size, end)
        _, last = self._entries(after, end)
        if last + _LENGTH.size != end:
            raise self._fault(after, "a log block with bytes after its footer")
        return LogBlock(kind=kind, header=MappingProxyType(header), start=at, size=size)

    def _entries(self, at: int, end: int) -> tuple[dict[int, str], int]:
        """Read a header or footer; return it and the offset after it."""
        found: dict[int, str] = {}
        at = self._within(at, _INT.size, end)
        (count,) = _INT.unpack(self._read(at - _INT.size, _INT.size))
        if not 0 <= count <= _MOST_ENTRIES:
            raise self._fault(at, f"a log block with {count} header entries")
        for _ in range(count):
            at = self._within(at, _TWO_INTS.size, end)
            key, size = _TWO_INTS.unpack(self._read(at - _TWO_INTS.size, _TWO_INTS.size))
            at = self._within(at, size, end)
            try:
                found[key] = self._read(at - size, size).decode()
            except UnicodeDecodeError as error:
                raise self._fault(at, f"header entry {key} is not UTF-8") from error
        return found, at

    def _within(self, at: int, size: int, end: int) -> int:
        """Return the offset after `size` bytes, which must be before the closing length."""
        if size < 0 or at + size > end - _LENGTH.size:
            raise self._fault(at, f"{size} bytes should follow, but the block ends earlier")
        return at + size

    def _read(self, at: int, size: int) -> bytes:
        return bytes(self._source.read_at(min(size, self.size - at), at)) if at < self.size else b""

    def _fault(self, at: int, message: str) -> CorruptFileError:
        place = Where(file=self._where.file, offset=at)
        remedy = "Let Apache Hudi read or compact the file group, or restore the file."
        return CorruptFileError("log/block", message, where=place, remedy=remedy)


def _encode_entries(entries: Mapping[HeaderKey, str]) -> bytes:
    """Encode a header or footer."""
    parts = [_INT.pack(len(entries))]
    for key, text in sorted(entries.items()):
        data = text.encode()
        parts += (_TWO_INTS.pack(key, len(data)), data)
    return b"".join(parts)
