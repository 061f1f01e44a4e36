"""The bytes of a base file with all its columns, and the key entries of its footer.

The format sheet, sections 3.2 and 3.3, has both. `check_keys` compares the keys in the bytes with
the intended keys. A few keys can be added to the bloom filter that a footer has.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.bloom import (
    ONE_FILTER,
    ROWS,
    BloomFilter,
    BloomSpec,
    Positions,
    read_header,
)
from framework.hudi.codecs.murmur import KeyColumn, key_words
from framework.hudi.codecs.parquet_seal import UNREADABLE, SealedFooter, blank_seal, sealed
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import META_COLUMNS, MetaField
from framework.vocabulary import BloomKind

__all__ = [
    "BLOOM",
    "BLOOM_TYPE",
    "MAX_KEY",
    "META_FIELDS",
    "MIN_KEY",
    "BaseFileBytes",
    "KeyDigest",
    "KeyFooter",
    "check_keys",
    "constant",
    "differs",
    "file_without_rows",
    "grown",
    "key_digest",
    "key_footer",
    "leaf_paths",
    "read_key_footer",
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


BLOOM: Final = "org.apache.hudi.bloomfilter"
BLOOM_TYPE: Final = "hoodie_bloom_filter_type_code"
MIN_KEY: Final = "hoodie_min_record_key"
MAX_KEY: Final = "hoodie_max_record_key"

_KINDS: Final = {"DYNAMIC_V0": BloomKind.DYNAMIC, "SIMPLE": BloomKind.SIMPLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFooter:
    """The part of a footer that describes keys.

    Attributes:
        rows: rows of the file.
        least: least record key in byte order, None if the footer lacks it.
        greatest: greatest record key, as `least`.
        bloom: text and type code of the filter, None without a filter of a known type.
    """

    rows: int
    least: str | None
    greatest: str | None
    bloom: tuple[str, str] | None

    def may_hold(self, keys: pa.Array) -> np.ndarray | None:
        """Return which keys are within the bounds; None if the footer has none."""
        if not self.rows:
            return np.zeros(len(keys), dtype=bool)
        if self.least is None or self.greatest is None:
            return None
        inside: Any = pc.and_(
            pc.greater_equal(keys, self.least), pc.less_equal(keys, self.greatest)
        )
        found: np.ndarray = inside.to_numpy(zero_copy_only=False)
        return found

    def might_contain(self, keys: pa.Array) -> np.ndarray | None:
        """Return which keys the filter does not exclude; None if there is no filter.

        Raises:
            CorruptFileError: as in `BloomFilter.parse`.
        """
        if self.bloom is None or not len(keys):
            return None
        text, code = self.bloom
        return BloomFilter.parse(text, _KINDS[code]).might_contain(keys)


def read_key_footer(storage: Storage, path: str) -> KeyFooter:
    """Return the key entries of a base file's footer; reads only the footer.

    Raises:
        CorruptFileError: `file/not-readable`.
    """
    try:
        with storage.open_input(path) as stream:
            metadata = SealedFooter.read(stream).metadata
    except UNREADABLE as error:
        raise CorruptFileError(
            "file/not-readable",
            f"the file cannot be read: {error}",
            where=Where(file=f"{storage.location}/{path}"),
            remedy="Restore the file from a copy.",
        ) from error
    return key_footer(metadata)


def key_footer(metadata: pq.FileMetaData) -> KeyFooter:
    """Return the key entries of a base file's metadata."""
    entries = metadata.metadata or {}
    texts = {name: _text(entries, name) for name in (BLOOM, BLOOM_TYPE, MIN_KEY, MAX_KEY)}
    text, code = texts[BLOOM], texts[BLOOM_TYPE]
    return KeyFooter(
        rows=metadata.num_rows,
        least=texts[MIN_KEY],
        greatest=texts[MAX_KEY],
        bloom=(text, code) if text is not None and code in _KINDS else None,
    )


def _text(entries: dict[bytes, bytes], name: str) -> str | None:
    """Return the text of one entry, None if it is absent or not text."""
    value = entries.get(name.encode())
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


_FULLEST: Final = 1.1
"""A row takes a tenth more keys than its capacity: a rate of 1e-7 becomes 3.3e-7."""
_ALIKE: Final = 0.01


def grown(text: str, keys: KeyColumn, spec: BloomSpec) -> str | None:
    """Return the text of a dynamic filter's footer with more keys in its last row.

    None if the filter must be rebuilt from all keys: that row would be too full, the filter is not
    of `spec` (another rate or kind), or it cannot be read.

    Args:
        text: of the footer, as returned by `BloomBuilder.footer`.
        keys: text without nulls.
        spec: of the filter that a rebuild would make.
    """
    try:
        data = bytearray(base64.b64decode(text, validate=True))
        rounds, bits = read_header(bytes(data[: ONE_FILTER.size]), 0)
        per_row, in_last, rows = ROWS.unpack_from(data, ONE_FILTER.size)
    except (ValueError, struct.error, CorruptFileError):  # it is rebuilt, so nothing is lost
        return None
    size = ONE_FILTER.size + -(-bits // 8)
    begin = ONE_FILTER.size + ROWS.size
    whole = rows >= 1 and len(data) == begin + rows * size
    if not (whole and _fits(spec, per_row, rounds, bits)):
        return None
    if not 0 <= in_last + len(keys) <= per_row * _FULLEST:
        return None
    last = begin + (rows - 1) * size + ONE_FILTER.size
    packed = np.frombuffer(data, np.uint8, offset=last)
    positions = Positions(bits)
    for block in key_words(keys):
        for _ in range(rounds):
            at = positions.of(block.next_round())
            np.bitwise_or.at(packed, at >> 3, np.left_shift(1, at & 7).astype(np.uint8))
    ROWS.pack_into(data, ONE_FILTER.size, per_row, in_last + len(keys), rows)
    return base64.b64encode(data).decode("ascii")


def _fits(spec: BloomSpec, per_row: int, rounds: int, bits: int) -> bool:
    """Return whether a filter has the rate of `spec`."""
    if spec.kind is not BloomKind.DYNAMIC or rounds != spec.rounds or per_row < 1:
        return False
    wanted = spec.bits / spec.expected_keys
    return abs(bits / per_row - wanted) <= wanted * _ALIKE
