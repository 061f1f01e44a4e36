"""Parquet files assembled from column chunks of other files, whose bytes are copied unchanged.

Only the footer holds a chunk's offset, so a chunk can move to another file of the same schema if
the new footer has its new offset. Offsets are read with pyarrow, from the source files and again
from the assembled file.

Chunks of other writers' files are made fit for a file of ours (ADR 0012). The values stay as they
are encoded. Every page gets the checksum that ours have; bounds in the statistics that Parquet has
deprecated are left out, since their order was that of signed bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.codecs import thrift_struct
from framework.hudi.codecs.parquet_seal import (
    SealedFooter,
    blank_seal,
    check_pages,
    chunk_start,
    page_headers,
    sealed_footer,
)
from framework.hudi.filegroup.base_file import differs

__all__ = ["Chunk", "ChunkFile", "RowGroup", "adopted_chunk", "assembled", "has_values_of"]

_MAGIC: Final = b"PAR1"
_TAIL_BYTES: Final = 8

# Field ids of parquet.thrift.
_VERSION, _SCHEMA, _ROWS, _ROW_GROUPS, _PAIRS, _CREATED_BY, _COLUMN_ORDERS = range(1, 8)
_COLUMNS, _TOTAL_BYTES, _GROUP_ROWS = 1, 2, 3
_GROUP_OFFSET, _GROUP_COMPRESSED, _GROUP_ORDINAL = 5, 6, 7
_FILE_PATH, _FILE_OFFSET, _METADATA, _ENCRYPTION = 1, 2, 3, 8
_PATH, _UNCOMPRESSED, _COMPRESSED = 3, 6, 7
_DATA_OFFSET, _INDEX_OFFSET, _DICTIONARY_OFFSET, _BLOOM_OFFSET, _BLOOM_BYTES = 9, 10, 11, 14, 15
_ROOT_REPETITION, _ROOT_NAME, _FIELD_ID = 3, 4, 9

_PLACES: Final = frozenset(
    {
        "file_offset",
        "data_page_offset",
        "dictionary_page_offset",
        "index_page_offset",
        "bloom_filter_offset",
        "bloom_filter_length",
        "has_offset_index",
        "has_column_index",
    }
)
"""Facts in pyarrow's metadata of a chunk that depend on its place in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One column of one row group.

    Attributes:
        column: name of the top-level column that it belongs to.
        data: its pages.
        start: their offset in their file.
        metadata: its fields in the footer.
        facts: the same as read by pyarrow, without `_PLACES`.
    """

    column: str
    data: pa.Buffer
    start: int
    metadata: thrift_struct.Struct
    facts: Mapping[str, Any]

    @property
    def path(self) -> str:
        """Dotted path of its leaf column."""
        return str(self.facts["path_in_schema"])

    @property
    def has_dictionary(self) -> bool:
        """Whether its values, or at least the first ones, are dictionary codes."""
        return bool(self.facts["has_dictionary_page"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """The rows of a group, as a chunk for each leaf column in schema order."""

    rows: int
    chunks: Sequence[Chunk]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkFile:
    """A Parquet file in memory, cut into its chunks.

    Attributes:
        metadata: the footer as pyarrow reads it.
        footer: the footer's fields.
        groups: its row groups, in order.
    """

    metadata: pq.FileMetaData
    footer: thrift_struct.Struct
    groups: Sequence[RowGroup]

    @classmethod
    def read(cls, data: pa.Buffer, *, fresh: bool = False) -> ChunkFile:
        """Split a file into its chunks; nothing is copied or decoded, checksums are verified.

        With `fresh`, for bytes that were just made, page checksums are not verified.

        Raises:
            ValueError: the file is damaged or its chunks cannot be moved: encryption, columns in
                other files, or pages without checksums.
            pyarrow.ArrowException: it is not a Parquet file.
        """
        source = pa.BufferReader(data)
        sealed_footer = SealedFooter.read(source)
        sealed_footer.check(source)
        metadata = sealed_footer.metadata
        size = int.from_bytes(data[-_TAIL_BYTES:-4].to_pybytes(), "little")
        end = data.size - _TAIL_BYTES
        footer, _ = thrift_struct.read_struct(data[end - size : end].to_pybytes())
        stored = _items(footer, _ROW_GROUPS)
        groups = [_group(data, fields, metadata.row_group(at)) for at, fields in enumerate(stored)]
        if sealed_footer.checksums is None and not fresh:
            for chunk in (chunk for group in groups for chunk in group.chunks):
                check_pages(chunk.data)
        return cls(metadata=metadata, footer=footer, groups=groups)

    def has_columns_of(self, other: ChunkFile) -> bool:
        """Return whether both files describe their columns identically.

        Ignores what depends on the writer: the root's name and repetition, and field ids.
        """
        return _described(self.footer) == _described(other.footer)


def assembled(
    like: ChunkFile, groups: Sequence[RowGroup], pairs: Mapping[str, str], name: str
) -> bytes:
    """Return a file of these row groups, verified by reading it back.

    Args:
        like: a file with these columns, from which the other footer fields are copied.
        groups: the row groups, with a chunk for each column.
        pairs: key-values of the footer.
        name: of the file, for errors.

    Raises:
        CorruptFileError: `bootstrap/read-back-differs`.
    """
    pieces: list[Any] = []
    at = len(_MAGIC)
    described = []
    for ordinal, group in enumerate(groups):
        described.append(_group_fields(group, at, ordinal))
        pieces += [chunk.data for chunk in group.chunks]
        at += sum(chunk.data.size for chunk in group.chunks)
    entries = {**pairs, **blank_seal(sum(len(group.chunks) for group in groups))}
    blank = thrift_struct.write_struct(_footer(like.footer, groups, described, entries))
    footer = sealed_footer(blank, pieces)
    data = b"".join([_MAGIC, *pieces, footer, len(footer).to_bytes(4, "little"), _MAGIC])
    _check(data, groups, name)
    return data


def _items(fields: thrift_struct.Struct, number: int) -> list[Any]:
    """Return the items of a list field, empty if it is absent."""
    found: list[Any] = fields.get(number, (thrift_struct.LIST, (thrift_struct.STRUCT, [])))[1][1]
    return found


def _described(footer: thrift_struct.Struct) -> list[thrift_struct.Struct]:
    """Return the elements of a schema without the parts that depend on the writer."""
    root, *rest = _items(footer, _SCHEMA)
    without = ({_ROOT_REPETITION, _ROOT_NAME}, *({_FIELD_ID} for _ in rest))
    return [
        {number: field for number, field in element.items() if number not in left}
        for element, left in zip((root, *rest), without, strict=True)
    ]


def _group(data: pa.Buffer, fields: thrift_struct.Struct, metadata: Any) -> RowGroup:
    columns = _items(fields, _COLUMNS)
    # Checked first, since pyarrow crashes on an encrypted column.
    if any(_FILE_PATH in each or _ENCRYPTION in each or _METADATA not in each for each in columns):
        raise ValueError("a column is encrypted or in another file")
    chunks = [_chunk(data, each, metadata.column(place)) for place, each in enumerate(columns)]
    return RowGroup(rows=metadata.num_rows, chunks=chunks)


def _chunk(data: pa.Buffer, fields: thrift_struct.Struct, column: Any) -> Chunk:
    start = chunk_start(column)
    metadata: thrift_struct.Struct = fields[_METADATA][1]
    if start < len(_MAGIC) or start + column.total_compressed_size > data.size:
        raise ValueError("a column is outside the file")
    return Chunk(
        column=_items(metadata, _PATH)[0].decode(),
        data=data.slice(start, column.total_compressed_size),
        start=start,
        metadata=metadata,
        facts=_facts(column),
    )


def _facts(column: Any) -> dict[str, Any]:
    """Return the facts of a chunk that do not depend on its place."""
    found: dict[str, Any] = column.to_dict()
    return {name: value for name, value in found.items() if name not in _PLACES}


def _group_fields(group: RowGroup, at: int, ordinal: int) -> thrift_struct.Struct:
    """Return the footer's fields of a row group that starts at offset `at`."""
    columns = []
    start = at
    for chunk in group.chunks:
        moved = _moved(chunk.metadata, start - chunk.start)
        columns.append(
            {_FILE_OFFSET: (thrift_struct.I64, 0), _METADATA: (thrift_struct.STRUCT, moved)}
        )
        start += chunk.data.size
    uncompressed = sum(chunk.metadata[_UNCOMPRESSED][1] for chunk in group.chunks)
    return {
        _COLUMNS: (thrift_struct.LIST, (thrift_struct.STRUCT, columns)),
        _TOTAL_BYTES: (thrift_struct.I64, uncompressed),
        _GROUP_ROWS: (thrift_struct.I64, group.rows),
        _GROUP_OFFSET: (thrift_struct.I64, at),
        _GROUP_COMPRESSED: (thrift_struct.I64, start - at),
        _GROUP_ORDINAL: (thrift_struct.I16, ordinal),
    }


def _moved(metadata: thrift_struct.Struct, by: int) -> thrift_struct.Struct:
    """Return a chunk's fields after moving it `by` bytes, without its indexes."""
    left = (_INDEX_OFFSET, _BLOOM_OFFSET, _BLOOM_BYTES)
    found = {number: field for number, field in metadata.items() if number not in left}
    for number in (_DATA_OFFSET, _DICTIONARY_OFFSET):
        kind, place = found.pop(number, (thrift_struct.I64, 0))
        if place:
            found[number] = kind, place + by
    return found


def _footer(
    like: thrift_struct.Struct,
    groups: Sequence[RowGroup],
    described: list[thrift_struct.Struct],
    pairs: Mapping[str, str],
) -> thrift_struct.Struct:
    kept = (_VERSION, _SCHEMA, _CREATED_BY, _COLUMN_ORDERS)
    texts = [
        {1: (thrift_struct.BINARY, key.encode()), 2: (thrift_struct.BINARY, text.encode())}
        for key, text in pairs.items()
    ]
    return {
        **{number: like[number] for number in kept if number in like},
        _ROWS: (thrift_struct.I64, sum(group.rows for group in groups)),
        _ROW_GROUPS: (thrift_struct.LIST, (thrift_struct.STRUCT, described)),
        _PAIRS: (thrift_struct.LIST, (thrift_struct.STRUCT, texts)),
    }


def _check(data: bytes, groups: Sequence[RowGroup], name: str) -> None:
    """Find each chunk at its offset in the new footer, and compare its bytes and facts."""
    buffer = pa.py_buffer(data)
    found = pq.read_metadata(pa.BufferReader(buffer))
    if found.num_row_groups != len(groups):
        raise differs(name, "its number of row groups differs")
    for at, group in enumerate(groups):
        columns = found.row_group(at)
        if columns.num_columns != len(group.chunks):
            raise differs(name, f"row group {at} has {columns.num_columns} columns")
        for place, chunk in enumerate(group.chunks):
            column = columns.column(place)
            pages = buffer.slice(chunk_start(column), column.total_compressed_size)
            is_flat = found.schema.column(place).max_repetition_level == 0
            same = repr(_facts(column)) == repr(chunk.facts)  # a bound may be NaN
            same = same and (column.num_values == group.rows or not is_flat)
            if not (same and pages.equals(chunk.data)):
                raise differs(name, f"column {column.path_in_schema} of row group {at} differs")


# Field ids of parquet.thrift.
_PAGE_CRC: Final = 4
_STATISTICS: Final = 12
_OLD_BOUNDS: Final = frozenset({1, 2})
_BOUNDS: Final = frozenset({5, 6})


def adopted_chunk(chunk: Chunk) -> Chunk:
    """Return a chunk with a checksum in each page header; the bodies of pages are not copied twice.

    Raises:
        ValueError: a page does not match the checksum that it has, or is truncated.
    """
    pieces: list[pa.Buffer] = []
    firsts: list[int] = []
    for header, body in page_headers(chunk.data):
        crc = zlib.crc32(body)
        if _PAGE_CRC in header and header[_PAGE_CRC][1] & 0xFFFFFFFF != crc:
            message = f"a page of column {chunk.path} does not match its checksum"
            raise ValueError(message)
        signed = crc - (1 << 32) if crc >> 31 else crc
        stored = thrift_struct.write_struct({**header, _PAGE_CRC: (thrift_struct.I32, signed)})
        firsts.append(len(stored) + body.size)
        pieces += [pa.py_buffer(stored), body]
    data = pa.py_buffer(b"".join(pieces))
    more = data.size - chunk.data.size
    metadata = {
        **chunk.metadata,
        _UNCOMPRESSED: (thrift_struct.I64, chunk.metadata[_UNCOMPRESSED][1] + more),
        _COMPRESSED: (thrift_struct.I64, data.size),
        _DATA_OFFSET: (thrift_struct.I64, chunk.start),
    }
    if chunk.has_dictionary:
        metadata[_DICTIONARY_OFFSET] = thrift_struct.I64, chunk.start
        metadata[_DATA_OFFSET] = thrift_struct.I64, chunk.start + firsts[0]
    facts = {
        **chunk.facts,
        "total_uncompressed_size": metadata[_UNCOMPRESSED][1],
        "total_compressed_size": data.size,
    }
    made = replace(chunk, data=data, metadata=metadata, facts=facts)
    return _without_old_bounds(made)


def has_values_of(column: pq.ColumnSchema, other: pq.ColumnSchema) -> bool:
    """Return whether the pages of two leaf columns are encoded from the same kind of values.

    What a writer says of their meaning is not compared: their Arrow types show that.
    """
    return _encoding(column) == _encoding(other)


def _encoding(column: pq.ColumnSchema) -> tuple[object, ...]:
    levels = column.max_definition_level, column.max_repetition_level
    return column.path, column.physical_type, column.length, levels


def _without_old_bounds(chunk: Chunk) -> Chunk:
    """Return a chunk without statistics that have deprecated bounds alone."""
    found = chunk.metadata.get(_STATISTICS)
    names = frozenset(found[1]) if found is not None else frozenset()
    if not names & _OLD_BOUNDS or names & _BOUNDS:
        return chunk
    metadata = {at: field for at, field in chunk.metadata.items() if at != _STATISTICS}
    facts = {**chunk.facts, "statistics": None, "is_stats_set": False}
    return replace(chunk, metadata=metadata, facts=facts)
