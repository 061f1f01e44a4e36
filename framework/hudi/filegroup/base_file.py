"""The bytes of a base file with all its columns (format sheet, sections 3.2 and 3.3).

`check_keys` compares the keys in the bytes with the intended keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.parquet_seal import blank_seal, sealed
from framework.hudi.table.layout import META_COLUMNS, MetaField

__all__ = [
    "META_FIELDS",
    "BaseFileBytes",
    "KeyDigest",
    "check_keys",
    "constant",
    "differs",
    "file_without_rows",
    "key_digest",
    "leaf_paths",
    "repeating",
    "row_group_file",
    "varied",
]

_DELTA: Final = (MetaField.COMMIT_SEQNO.value, MetaField.RECORD_KEY.value)
_SAMPLE_ROWS: Final = 2_048
_VARIED: Final = 0.9
_ENCODED_BYTES: Final = 4
_CONSTANT: Final = pa.dictionary(pa.int32(), pa.string())

META_FIELDS: Final = [
    pa.field(name, pa.string() if name in _DELTA else _CONSTANT) for name in META_COLUMNS
]
"""The meta columns as passed in: those with few distinct values as dictionaries."""


class BaseFileBytes:
    """Builder of one base file in memory, row group by row group."""

    def __init__(self, schema: pa.Schema, *, plain: Collection[str] = ()) -> None:
        """Start a file of the table's columns `schema`, without meta columns.

        Texts may be passed as dictionaries; the schema says for which columns they are. No
        dictionary is tried for the columns `plain`.
        """
        self._sink = pa.BufferOutputStream()
        self._schema: pa.Schema = pa.schema([*META_FIELDS, *schema])
        self._writer = _writer(self._sink, self._schema, plain)
        self._groups = 0

    def add_row_group(self, columns: list[Any]) -> None:
        """Write the meta columns, then the others, as one row group."""
        table = pa.Table.from_arrays(columns, schema=self._schema)
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._groups += 1

    def finish(self, footers: Mapping[str, str]) -> bytes:
        """Close the file with these key-values and return its sealed bytes."""
        chunks = self._groups * len(leaf_paths(self._schema))
        self._writer.add_key_value_metadata({**footers, **blank_seal(chunks)})
        self._writer.close()
        return sealed(self._sink.getvalue())


def row_group_file(columns: pa.Table, plain: Collection[str] = ()) -> pa.Buffer:
    """Return some of a base file's columns as a Parquet file of one row group, encoded alike.

    Args:
        columns: the columns; meta columns as in `META_FIELDS`.
        plain: as in `BaseFileBytes`.
    """
    sink = pa.BufferOutputStream()
    with _writer(sink, columns.schema, plain) as writer:
        writer.write_table(columns, row_group_size=max(1, columns.num_rows))
    return sink.getvalue()


def file_without_rows(schema: pa.Schema) -> pa.Buffer:
    """Return a base file of the table's columns `schema` without rows and key-values."""
    sink = pa.BufferOutputStream()
    with _writer(sink, pa.schema([*META_FIELDS, *schema]), ()):
        pass
    return sink.getvalue()


def _writer(sink: Any, schema: pa.Schema, plain: Collection[str]) -> pq.ParquetWriter:
    """Return a writer that encodes columns as in a base file."""
    without = {*_DELTA, *plain}
    return pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        use_dictionary=[path for path in leaf_paths(schema) if path not in without],
        column_encoding={name: "DELTA_BYTE_ARRAY" for name in _DELTA if name in schema.names},
        store_schema=False,
        write_page_checksum=True,
    )


def varied(schema: pa.Schema, columns: Sequence[Any]) -> list[str]:
    """Return the names of flat columns whose values rarely repeat in a sample of rows.

    A dictionary of such a column takes more time and space than the values.
    """
    found = []
    for field, column in zip(schema, columns, strict=True):
        step = len(column) // _SAMPLE_ROWS
        if step and not (pa.types.is_nested(field.type) or pa.types.is_dictionary(column.type)):
            sample = column.take(pa.array(np.arange(0, step * _SAMPLE_ROWS, step)))
            if pc.count_distinct(sample).as_py() > _SAMPLE_ROWS * _VARIED:
                found.append(field.name)
    return found


def repeating(metadata: pq.FileMetaData, schema: pa.Schema) -> list[str]:
    """Return the text columns of `schema` that a file stores as codes of small dictionaries.

    A column whose dictionary grew too large continues with plain values; its size shows that.
    """
    found = []
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    for at in range(metadata.num_columns):
        name = metadata.schema.column(at).path
        if name not in schema.names or not pa.types.is_string(schema.field(name).type):
            continue
        chunks = [group.column(at) for group in groups]
        size = sum(chunk.total_uncompressed_size for chunk in chunks)
        is_encoded = all(chunk.has_dictionary_page for chunk in chunks)
        if is_encoded and size <= metadata.num_rows * _ENCODED_BYTES:
            found.append(name)
    return found


def constant(text: str, rows: int) -> pa.DictionaryArray:
    """Return a column with the same text in all rows."""
    places: Any = pa.repeat(pa.scalar(0, pa.int32()), rows)
    return pa.DictionaryArray.from_arrays(places, pa.array([text], pa.string()))


@lru_cache(maxsize=8)
def leaf_paths(schema: Any) -> tuple[str, ...]:
    """Return the Parquet paths of the leaf columns; a nested column has several."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink, store_schema=False)
    columns = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return tuple(columns.column(at).path for at in range(len(columns)))


KeyDigest = tuple[int, int, int]
"""Rows, checksum of the text and checksum of the lengths of some keys."""

_KEY: Final = [MetaField.RECORD_KEY.value]


def key_digest(texts: Sequence[Any]) -> KeyDigest:
    """Return the digest of string arrays without nulls, independent of their chunking."""
    rows = text = lengths = 0
    for array in texts:
        _, offsets_buffer, data = array.buffers()
        offsets = np.frombuffer(offsets_buffer, np.int32)[array.offset :][: len(array) + 1]
        rows += len(array)
        begin, end = int(offsets[0]), int(offsets[-1])
        text = google_crc32c.extend(text, data.slice(begin, end - begin))
        lengths = google_crc32c.extend(lengths, np.diff(offsets).tobytes())
    return rows, text, lengths


def check_keys(data: bytes | pa.Buffer, digests: Sequence[KeyDigest], name: str) -> None:
    """Read the keys back from a base file's bytes and compare each row group.

    Raises:
        CorruptFileError: `bootstrap/read-back-differs`.
    """
    parquet = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
    if parquet.num_row_groups != len(digests):
        raise differs(name, f"{parquet.num_row_groups} row groups, not {len(digests)}")
    for group, expected in enumerate(digests):
        table = parquet.read_row_group(group, columns=_KEY, use_threads=False)
        if key_digest(table.column(0).chunks) != expected:
            raise differs(name, f"row group {group} holds other keys than were written")


def differs(name: str, message: str) -> CorruptFileError:
    """Return the error for a base file with other content than intended."""
    return CorruptFileError(
        "bootstrap/read-back-differs",
        f"the file just written is wrong: {message}",
        where=Where(file=name),
        remedy="This is a fault of the machine or of this program; nothing was published.",
    )
