"""Column chunks of other writers' files, made fit for a file of ours (ADR 0012).

The values stay as they are encoded. Every page gets the checksum that ours have; bounds in the
statistics that Parquet has deprecated are left out, since their order was that of signed bytes.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.hudi.codecs import thrift_struct
from framework.hudi.codecs.parquet_seal import page_headers
from framework.hudi.filegroup.column_chunks import Chunk

__all__ = ["adopted_chunk", "has_values_of"]

# Field ids of parquet.thrift.
_PAGE_CRC: Final = 4
_UNCOMPRESSED, _COMPRESSED, _DATA_OFFSET, _DICTIONARY_OFFSET, _STATISTICS = 6, 7, 9, 11, 12
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
