"""Checksums of a Parquet file, so that damage is an error and never a wrong value.

Parquet's own checksum, the `crc` of a page header, covers the body of a page, and every engine
knows it. Nothing covers page headers and the footer: one flipped bit there renames a column or
changes a row count. So our files also have a seal: a footer entry with the CRC-32C of the footer
(its own eight digits taken as zeros), then of each column chunk, including headers, row group by
row group. Other readers skip the entry.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Self

import google_crc32c
import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.codecs.thrift_struct import Struct, read_struct

__all__ = [
    "SEAL",
    "UNREADABLE",
    "SealedFooter",
    "blank_seal",
    "check_pages",
    "chunk_start",
    "naming_bad_chunks",
    "page_headers",
    "sealed",
    "sealed_footer",
]

SEAL: Final = "lakestrap.seal"

UNREADABLE: Final = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    pa.ArrowException,
    struct.error,
    zlib.error,
)
"""Errors that pyarrow, codecs and Python raise for damaged or mislabelled bytes.

Each reader converts them to a `CorruptFileError` with the file's name at its outermost call.
"""

_DIGITS: Final = 8
_BLANK: Final = b"0" * _DIGITS
_NAME: Final = SEAL.encode()
_MAGIC: Final = b"PAR1"
_TRAILER: Final = 8
_TAIL: Final = 64 * 1024
_ENTRY: Final = re.compile(
    re.escape(_NAME) + rb"\x18[\x80-\xff]*[\x00-\x7f]((?:[0-9a-f]{8})+)", re.DOTALL
)
"""The entry in Thrift's compact protocol: key, head of the value, its length, the value."""
_PAGE_HEADER: Final = 1024
_PAGE_BYTES, _PAGE_CRC = 3, 4  # field ids of parquet.thrift


def blank_seal(chunks: int) -> dict[str, str]:
    """Return the footer entry that `sealed` fills in, for a file of `chunks` column chunks."""
    return {SEAL: "0" * _DIGITS * (chunks + 1)}


def sealed(data: Any) -> bytes:
    """Return a Parquet file with its blank seal filled in; other bytes are copied unchanged.

    Raises:
        ValueError: the file has no blank seal for its number of chunks.
    """
    whole = pa.py_buffer(data)
    end = whole.size - _TRAILER
    start = end - _footer_bytes(whole[end:].to_pybytes())
    places = _places(pq.read_metadata(pa.BufferReader(whole)))
    footer = sealed_footer(whole[start:end].to_pybytes(), (whole.slice(*each) for each in places))
    return b"".join([whole[:start], footer, whole[end:]])


def sealed_footer(footer: bytes, chunks: Iterable[Any]) -> bytes:
    """Return a footer, without the length and magic that follow it, with its seal filled in.

    Args:
        footer: with a blank seal.
        chunks: the bytes of each column chunk, row group by row group.

    Raises:
        ValueError: the footer has no blank seal for this number of chunks.
    """
    digits = "".join(f"{google_crc32c.value(chunk):08x}" for chunk in chunks).encode()
    found = _entry(footer)
    if found is None or len(found[1]) != len(digits) + _DIGITS:
        message = "the file has no seal to fill in"
        raise ValueError(message)
    whole = pa.py_buffer(footer)
    head, tail = whole[: found.start(1)], whole[found.end(1) :]
    own = f"{_crc32c(head, _BLANK, digits, tail):08x}".encode()
    return b"".join([head, own, digits, tail])


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedFooter:
    """The footer of a Parquet file, verified against its seal if it has one.

    Attributes:
        metadata: the footer as pyarrow reads it.
        checksums: CRC-32C of each column chunk, row group by row group; None if the file has no
            seal because another writer or an earlier release wrote it.
    """

    metadata: pq.FileMetaData
    checksums: Sequence[int] | None

    @classmethod
    def read(cls, source: Any) -> Self:
        """Read and check the footer of an open file; one read of 64 KiB, two for a longer footer.

        Args:
            source: a `pyarrow.NativeFile`; its position changes.

        Raises:
            ValueError: the file is not Parquet, or its footer does not match its checksum.
            Exception: others of `UNREADABLE`.
        """
        size = source.size()
        tail = _read(source, max(0, size - _TAIL), size)
        length = _footer_bytes(tail[-_TRAILER:].to_pybytes()) + _TRAILER
        if length > size - len(_MAGIC):
            message = f"the footer claims {length} of {size} bytes"
            raise ValueError(message)
        if length > tail.size:
            tail = _read(source, size - length, size)
        digits = _checked(tail[tail.size - length : tail.size - _TRAILER].to_pybytes())
        metadata = pq.read_metadata(pa.BufferReader(tail))
        if digits is None:
            return cls(metadata=metadata, checksums=None)
        pieces = range(_DIGITS, len(digits), _DIGITS)
        found = tuple(int(digits[at : at + _DIGITS], 16) for at in pieces)
        if len(found) != metadata.num_row_groups * metadata.num_columns:
            message = "the footer does not have a checksum for each column chunk"
            raise ValueError(message)
        return cls(metadata=metadata, checksums=found)

    def opened(
        self, source: Any, columns: Collection[str] | None = None, **options: Any
    ) -> pq.ParquetFile:
        """Return the open file after verifying the chunks of some columns against the seal.

        Without a seal, pyarrow verifies pages with a checksum as it decodes them.
        Reads the chunks once more than decoding alone, from the system's cache.

        Args:
            source: the same file.
            columns: names of top-level columns; None verifies all.
            options: of `pyarrow.parquet.ParquetFile`.

        Raises:
            ValueError: a chunk does not match its checksum.
            Exception: others of `UNREADABLE`, here and from reads.
        """
        self.check(source, columns)
        return pq.ParquetFile(
            source,
            metadata=self.metadata,
            page_checksum_verification=self.checksums is None,
            coerce_int96_timestamp_unit="us",
            **options,
        )

    def check(self, source: Any, columns: Collection[str] | None = None) -> None:
        """Verify the chunks of some columns, or all if None; do nothing without a seal.

        Raises:
            ValueError: a chunk does not match its checksum.
        """
        if self.checksums is None:
            return
        count = self.metadata.num_columns
        paths = [self.metadata.schema.column(at).path for at in range(count)]
        wanted = [columns is None or _is_within(path, columns) for path in paths]
        for number, (start, size) in enumerate(_places(self.metadata)):
            at = number % count
            expected = self.checksums[number]
            if wanted[at] and google_crc32c.value(_read(source, start, start + size)) != expected:
                message = f"column {paths[at]} does not match its checksum"
                raise ValueError(message)


def _is_within(path: str, columns: Collection[str]) -> bool:
    """Return whether a leaf column is one of the top-level columns or inside one."""
    parts = path.split(".")
    return any(".".join(parts[:end]) in columns for end in range(1, len(parts) + 1))


def chunk_start(column: Any) -> int:
    """Return the offset of a column chunk's first page, from pyarrow's metadata of the chunk."""
    found: int = column.data_page_offset
    if column.has_dictionary_page and column.dictionary_page_offset:
        found = min(found, column.dictionary_page_offset)
    return found


def check_pages(chunk: pa.Buffer) -> None:
    """Verify the body of each page of a column chunk against the checksum in its header.

    Raises:
        ValueError: a page has another checksum, or none, or is truncated.
    """
    for header, body in page_headers(chunk):
        if _PAGE_CRC not in header:
            message = "a page has no checksum"
            raise ValueError(message)
        if zlib.crc32(body) != header[_PAGE_CRC][1] & 0xFFFFFFFF:
            message = "a page does not match its checksum"
            raise ValueError(message)


def page_headers(chunk: pa.Buffer) -> Iterator[tuple[Struct, pa.Buffer]]:
    """Yield the header and the body of each page of a column chunk.

    Raises:
        ValueError: a page is truncated.
    """
    at = 0
    while at < chunk.size:
        header, end = _page_header(chunk, at)
        size = header[_PAGE_BYTES][1] if _PAGE_BYTES in header else -1
        if not 0 <= size <= chunk.size - end:
            message = f"the page at byte {at} is truncated"
            raise ValueError(message)
        yield header, chunk.slice(end, size)
        at = end + size


def _page_header(chunk: pa.Buffer, at: int) -> tuple[Any, int]:
    """Return the page header at `at` and its end offset."""
    try:
        header, size = read_struct(chunk[at : at + _PAGE_HEADER].to_pybytes())
    except ValueError:  # its statistics may hold long values
        header, size = read_struct(chunk[at:].to_pybytes())
    return header, at + size


def _places(metadata: pq.FileMetaData) -> Iterator[tuple[int, int]]:
    """Yield the start offset and size of each column chunk."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for at in range(metadata.num_columns):
            column = group.column(at)
            yield chunk_start(column), column.total_compressed_size


def _checked(footer: bytes) -> bytes | None:
    """Return the digits of a footer's seal, None if it has none.

    Raises:
        ValueError: the footer does not match its checksum.
    """
    found = _entry(footer)
    if found is None:
        return None
    whole, at = pa.py_buffer(footer), found.start(1)
    own = _crc32c(whole[:at], _BLANK, whole[at + _DIGITS :])
    if own != int(found[1][:_DIGITS], 16):
        message = "the footer does not match its checksum"
        raise ValueError(message)
    return found[1]


def _entry(footer: bytes) -> re.Match[bytes] | None:
    """Return the seal's entry, searched from the end past bloom filters of megabytes."""
    at = footer.rfind(_NAME)
    while at >= 0:
        if found := _ENTRY.match(footer, at):
            return found
        at = footer.rfind(_NAME, 0, at)
    return None


def _crc32c(*pieces: Any) -> int:
    """Return the CRC-32C of consecutive pieces."""
    found: int = reduce(google_crc32c.extend, pieces, 0)
    return found


def _footer_bytes(trailer: bytes) -> int:
    """Return the length of the footer from a file's last eight bytes."""
    if len(trailer) != _TRAILER or trailer[4:] != _MAGIC:
        message = "the file does not end as a Parquet file"
        raise ValueError(message)
    return int.from_bytes(trailer[:4], "little")


def _read(source: Any, start: int, stop: int) -> pa.Buffer:
    """Return the bytes from `start` to `stop` (exclusive), fewer if the file ends earlier."""
    source.seek(start)
    found: pa.Buffer = source.read_buffer(stop - start)
    return found


_BATCH_ROWS: Final = 1 << 17


@contextmanager
def naming_bad_chunks(
    parquet: pq.ParquetFile, groups: Iterable[int], columns: Sequence[str]
) -> Iterator[None]:
    """Add the bad column and row group to the error of a failing read.

    Costs nothing without a failure. After a failure, each column chunk is decoded alone, a batch at
    a time, up to the first that fails.

    Args:
        parquet: the open file that the context reads.
        groups: numbers of the row groups that are read.
        columns: names of the top-level columns that are read; all exist in the file.

    Raises:
        ValueError: a read failed at a column chunk, which the message names.
        Exception: others of `UNREADABLE`, if each chunk alone can be decoded.
    """
    try:
        yield
    except UNREADABLE as error:
        bad = _first_bad(parquet, groups, columns)
        if not bad:
            raise
        raise ValueError(bad) from error


def _first_bad(parquet: pq.ParquetFile, groups: Iterable[int], columns: Sequence[str]) -> str:
    """Return the first chunk that cannot be decoded and the reason, "" if none fails."""
    for group in groups:
        for name in columns:
            fault = _fault(parquet, group, name)
            if fault:
                return f"column {name!r} of row group {group}: {fault}"
    return ""


def _fault(parquet: pq.ParquetFile, group: int, name: str) -> str:
    """Return why a chunk cannot be decoded to its number of rows; "" if it can."""
    rows = parquet.metadata.row_group(group).num_rows
    try:
        found = sum(
            batch.num_rows
            for batch in parquet.iter_batches(
                _BATCH_ROWS, row_groups=[group], columns=[name], use_threads=False
            )
        )
    except UNREADABLE as error:
        return str(error) or type(error).__name__
    return "" if found == rows else f"it has {found} rows, not {rows}"
