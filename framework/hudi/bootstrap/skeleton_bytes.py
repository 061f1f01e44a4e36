"""The bytes of a skeleton: a Parquet file of the five meta columns.

Only the keys are new information, so only they go through a general Parquet writer of one column.
Three columns have one value each: a dictionary page and one run. Sequence numbers count up
(`seqno_pages`). Their pages are placed around those of the keys, and one footer describes them all.
There are no statistics: key pruning uses the footer's `hoodie_min_record_key`.

    row group: commit time | sequence number | record key | partition path | file name
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.bootstrap.seqno_pages import PAGE_ROWS, RowNumbers, seqno_page
from framework.hudi.codecs.parquet_seal import blank_seal, sealed_footer
from framework.hudi.codecs.thrift_struct import STOP, binary, i16, i32, i64, list_of, struct
from framework.hudi.codecs.varint import uvarint, zigzag
from framework.hudi.table.layout import META_COLUMNS, MetaField

__all__ = ["SkeletonBytes"]

_MAGIC: Final = b"PAR1"
_CREATED_BY: Final = b"lakestrap version 1.0.0"
_LEVEL: Final = 1

# Numbers of parquet.thrift.
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_BYTE_ARRAY, _OPTIONAL, _UTF8 = 6, 1, 0
_PLAIN, _RLE, _DELTA_BYTE_ARRAY, _RLE_DICTIONARY = 0, 3, 7, 8
_UNCOMPRESSED, _ZSTD = 0, 6
_FORMAT_VERSION: Final = 2

_NUMBERS_CODEC: Final = pa.Codec("zstd", compression_level=2)  # smallest for their few bytes
_KEYS: Final = pa.schema([pa.field(MetaField.RECORD_KEY.value, pa.string())])
_KEY_OPTIONS: Final[Mapping[str, Any]] = {
    "compression": "zstd",
    "compression_level": _LEVEL,
    "use_dictionary": False,
    "column_encoding": "DELTA_BYTE_ARRAY",
    "write_statistics": False,
    "store_schema": False,
    "write_page_checksum": True,
}
_LEAVES: Final = [
    i32(1, _BYTE_ARRAY)
    + i32(2, _OPTIONAL)
    + binary(1, name.encode())
    + i32(2, _UTF8)
    + struct(4, struct(1, b""))
    for name in META_COLUMNS
]
_SCHEMA: Final = list_of(1, "struct", [binary(4, b"HoodieRecordKey") + i32(1, 5), *_LEAVES])


@dataclass(frozen=True, slots=True)
class _Chunk:
    """One column of one row group: its pages and their description in the footer.

    `uncompressed` includes page headers; `dictionary` is the size of the dictionary page, 0
    without one.
    """

    data: Any
    uncompressed: int
    codec: int
    encodings: Sequence[int]
    dictionary: int = 0


class SkeletonBytes:
    """Builder of one skeleton in memory, row group by row group."""

    def __init__(
        self,
        *,
        numbers: RowNumbers,
        partition_path: str,
        name: str,
        numbers_are_keys: bool = False,
    ) -> None:
        """Start a file; with `numbers_are_keys`, the keys equal its sequence numbers."""
        self._numbers_are_keys = numbers_are_keys
        self._time, self._partition, self._name = (
            _dictionary_page(text.encode()) for text in (numbers.instant, partition_path, name)
        )
        self._prefix = numbers.prefix
        self._rows: list[int] = []
        self._sink = pa.BufferOutputStream()
        self._metadata: list[Any] = []
        self._writer = pq.ParquetWriter(
            self._sink, _KEYS, metadata_collector=self._metadata, **_KEY_OPTIONS
        )

    def add_row_group(self, keys: Sequence[Any]) -> None:
        """Write at least one key as a row group; `keys` are string arrays without nulls."""
        column = pa.chunked_array(keys, pa.string())
        if not self._numbers_are_keys:
            self._writer.write_table(
                pa.Table.from_arrays([column], schema=_KEYS), row_group_size=len(column)
            )
        self._rows.append(len(column))

    def finish(self, footers: Mapping[str, str]) -> bytes:
        """Close the file with these key-values and return its sealed bytes."""
        self._writer.close()
        keys = self._sink.getvalue()
        metadata = self._metadata[0]
        pieces: list[Any] = []
        at, start = len(_MAGIC), 0
        groups = []
        for ordinal, rows in enumerate(self._rows):
            numbers = _counted(self._prefix, start, rows)
            chunks = [
                _constant(self._time, rows),
                numbers,
                numbers
                if self._numbers_are_keys
                else _key_chunk(keys, metadata.row_group(ordinal).column(0)),
                _constant(self._partition, rows),
                _constant(self._name, rows),
            ]
            groups.append(_row_group(chunks, rows, at, ordinal))
            pieces += [chunk.data for chunk in chunks]
            at += sum(len(chunk.data) for chunk in chunks)
            start += rows
        seal = blank_seal(len(groups) * len(META_COLUMNS))
        footer = sealed_footer(_footer(groups, start, {**footers, **seal}), pieces)
        return b"".join([_MAGIC, *pieces, footer, len(footer).to_bytes(4, "little"), _MAGIC])


def _dictionary_page(value: bytes) -> bytes:
    body = len(value).to_bytes(4, "little") + value
    return _page(_DICTIONARY_PAGE, len(body), body, struct(3, i32(1, 1) + i32(1, _PLAIN)))


def _constant(dictionary: bytes, rows: int) -> _Chunk:
    """Return a column that repeats its dictionary's single value."""
    run = uvarint(rows << 1)
    body = _levels(rows) + b"\1" + run + b"\0"
    data = dictionary + _data_page(rows, len(body), body, _RLE_DICTIONARY)
    encodings = (_PLAIN, _RLE, _RLE_DICTIONARY)
    return _Chunk(data, len(data), _UNCOMPRESSED, encodings, len(dictionary))


def _counted(prefix: str, start: int, rows: int) -> _Chunk:
    """Return the column of sequence numbers for rows from `start`."""
    pages = []
    uncompressed = 0
    for at in range(start, start + rows, PAGE_ROWS):
        count = min(PAGE_ROWS, start + rows - at)
        body = _levels(count) + seqno_page(prefix, at, count)
        packed = _NUMBERS_CODEC.compress(body, asbytes=True)
        page = _data_page(count, len(body), packed, _DELTA_BYTE_ARRAY)
        uncompressed += len(page) - len(packed) + len(body)
        pages.append(page)
    return _Chunk(b"".join(pages), uncompressed, _ZSTD, (_RLE, _DELTA_BYTE_ARRAY))


def _key_chunk(file: Any, column: Any) -> _Chunk:
    """Return the pages of a column written by the general writer."""
    data = file.slice(column.data_page_offset, column.total_compressed_size)
    return _Chunk(data, column.total_uncompressed_size, _ZSTD, (_RLE, _DELTA_BYTE_ARRAY))


def _levels(rows: int) -> bytes:
    """Return definition levels for rows without nulls."""
    run = uvarint(rows << 1) + b"\1"
    return len(run).to_bytes(4, "little") + run


def _data_page(rows: int, uncompressed: int, body: bytes, encoding: int) -> bytes:
    """Return a data page of version 1."""
    header = i32(1, rows) + i32(1, encoding) + i32(1, _RLE) + i32(1, _RLE)
    return _page(_DATA_PAGE, uncompressed, body, struct(1, header))


def _page(kind: int, uncompressed: int, body: bytes, header: bytes) -> bytes:
    """Return a page: its header with a checksum of the body, then the unchanged body.

    `header` starts with the step from the checksum's field, which is signed.
    """
    crc = int.from_bytes(zlib.crc32(body).to_bytes(4), signed=True)
    sizes = i32(1, uncompressed) + i32(1, len(body)) + i32(1, crc)
    return i32(1, kind) + sizes + header + STOP + body


def _row_group(chunks: Sequence[_Chunk], rows: int, at: int, ordinal: int) -> bytes:
    """Return the footer's fields of a row group that starts at `at`."""
    columns = []
    start = at
    for name, chunk in zip(META_COLUMNS, chunks, strict=True):
        columns.append(i64(2, 0) + struct(1, _column(name, chunk, rows, start)))
        start += len(chunk.data)
    return (
        list_of(1, "struct", columns)
        + i64(1, sum(chunk.uncompressed for chunk in chunks))
        + i64(1, rows)
        + i64(2, at)
        + i64(1, start - at)
        + i16(1, ordinal)
    )


def _column(name: str, chunk: _Chunk, rows: int, at: int) -> bytes:
    """Return the footer's fields of a column whose pages start at `at`."""
    fields = (
        i32(1, _BYTE_ARRAY)
        + list_of(1, "i32", [zigzag(code) for code in chunk.encodings])
        + list_of(1, "binary", [name.encode()])
        + i32(1, chunk.codec)
        + i64(1, rows)
        + i64(1, chunk.uncompressed)
        + i64(1, len(chunk.data))
        + i64(2, at + chunk.dictionary)
    )
    return fields + i64(2, at) if chunk.dictionary else fields


def _footer(groups: Sequence[bytes], rows: int, footers: Mapping[str, str]) -> bytes:
    """Return the file's metadata."""
    pairs = [binary(1, key.encode()) + binary(1, text.encode()) for key, text in footers.items()]
    return (
        i32(1, _FORMAT_VERSION)
        + _SCHEMA
        + i64(1, rows)
        + list_of(1, "struct", groups)
        + list_of(1, "struct", pairs)
        + binary(1, _CREATED_BY)
        + STOP
    )
