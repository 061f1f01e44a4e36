"""What a file group holds before a load, as column chunks that may be taken as they are (ADR 0012).

A base file is one Parquet file. An adopted slice is two: the skeleton, and the source file with the
same row groups, whose columns that folders stand for are constant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.load.input_rows import KEY
from framework.hudi.filegroup import base_file
from framework.hudi.filegroup.base_file import KeyFooter, key_footer
from framework.hudi.filegroup.column_chunks import Chunk, ChunkFile, adopted_chunk, has_values_of
from framework.hudi.table.calendar import LegacyCalendar
from framework.hudi.table.layout import META_COLUMNS, MetaField
from framework.hudi.table.partition_path import PartitionValue

__all__ = ["OldChunks", "SourceBytes"]

_LEAST_GROUP_ROWS: Final = 1 << 14
"""Adopted row groups that are smaller on average are written anew, as larger ones."""
_LARGE: Final = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBytes:
    """The source file of a skeleton: its bytes, and values of the columns that it does not hold."""

    data: pa.Buffer
    constant: Mapping[str, PartitionValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class OldChunks:
    """The rows of a file group.

    Attributes:
        schema: the table's columns without meta columns.
        footer: the key entries.
        rows: rows of each row group.
        files: the Parquet files, each with the names of the columns that it is read for.
        constant: values of the columns that folders stand for; they have no chunks.
        parts: the chunks of the files.
    """

    schema: pa.Schema
    footer: KeyFooter
    rows: Sequence[int]
    files: Sequence[tuple[frozenset[str], pq.ParquetFile]]
    constant: Mapping[str, PartitionValue] = field(default_factory=lambda: MappingProxyType({}))
    parts: Sequence[ChunkFile]

    @classmethod
    def of_base(cls, schema: pa.Schema, like: ChunkFile, data: pa.Buffer) -> Self | None:
        """Return the chunks of a base file; None if it describes its columns unlike `like`.

        Raises:
            Exception: one of `UNREADABLE`; the file is damaged, or pages have no checksum.
        """
        found = ChunkFile.read(data)
        if not found.has_columns_of(like):
            return None
        return cls._checked(schema, [(found, data, frozenset({*META_COLUMNS, *schema.names}))])

    @classmethod
    def of_adopted(
        cls,
        schema: pa.Schema,
        like: ChunkFile,
        data: pa.Buffer,
        behind: SourceBytes,
    ) -> Self | None:
        """Return the chunks of a skeleton and its source file; None if they cannot be taken.

        They cannot if the source has other row groups than the skeleton or very small ones, or
        lacks a column or stores it otherwise than the table.

        Args:
            schema: as the attribute.
            like: a base file of the table without rows.
            data: the skeleton.
            behind: the source file.

        Raises:
            Exception: as `of_base`.
        """
        skeleton = ChunkFile.read(data)
        source = ChunkFile.read(behind.data, fresh=True)
        rows = [group.rows for group in skeleton.groups]
        stored = frozenset(schema.names) - behind.constant.keys()
        if rows != [group.rows for group in source.groups] or not _is_stored(source, like, stored):
            return None
        if len(rows) > 1 and sum(rows) < len(rows) * _LEAST_GROUP_ROWS:
            return None
        parts = [(skeleton, data, frozenset(META_COLUMNS)), (source, behind.data, stored)]
        return cls._checked(schema, parts, behind.constant)

    @classmethod
    def _checked(
        cls,
        schema: pa.Schema,
        parts: Sequence[tuple[ChunkFile, pa.Buffer, frozenset[str]]],
        constant: Mapping[str, PartitionValue] = MappingProxyType({}),
    ) -> Self | None:
        """Return the chunks; None if values are read in other types or in an old calendar."""
        first = parts[0][0]
        files = [(names, _opened(part, data, schema, names)) for part, data, names in parts]
        found = cls(
            schema=schema,
            footer=key_footer(first.metadata),
            rows=[group.rows for group in first.groups],
            files=files,
            constant=constant,
            parts=[part for part, *_ in parts],
        )
        old = any(LegacyCalendar.of(parquet, "") is not None for _, parquet in files)
        return None if old or not found._has_types() else found

    def _has_types(self) -> bool:
        """Return whether flat columns are read in the table's types, apart from encoded texts."""
        types = {
            name: self._type_in(parquet, name)
            for names, parquet in self.files
            for name in names - {*META_COLUMNS}
        }
        return all(
            pa.types.is_nested(each.type)
            or each.name in self.constant
            or types[each.name] in {each.type, pa.dictionary(pa.int32(), each.type)}
            for each in self.schema
        )

    @staticmethod
    def _type_in(parquet: pq.ParquetFile, name: str) -> pa.DataType:
        found = parquet.schema_arrow.field(name).type
        return _LARGE.get(found, found)

    def chunks(self, number: int, names: Collection[str]) -> Mapping[str, Chunk]:
        """Return the chunks of some columns of a row group by path, in the form of ours."""
        own, *others = self.parts
        found = {each.path: each for each in own.groups[number].chunks if each.column in names}
        for (held, _), other in zip(self.files[1:], others, strict=True):
            for chunk in other.groups[number].chunks:
                if chunk.column in held and chunk.column in names:
                    found[chunk.path] = adopted_chunk(chunk)
        return found

    def plain(self, number: int) -> Sequence[str]:
        """Return the columns of a row group that have no dictionary."""
        groups = [part.groups[number].chunks for part in self.parts]
        return [each.column for chunks in groups for each in chunks if not each.has_dictionary]

    def read(self, number: int, names: Iterable[str]) -> pa.Table:
        """Return some columns of a row group; fields of nested ones have the table's names."""
        columns: dict[str, pa.Array | pa.ChunkedArray] = {}
        wanted = list(names)
        for held, parquet in self.files:
            mine = [name for name in wanted if name in held]
            if mine:
                found = parquet.read_row_group(number, columns=mine, use_threads=False)
                columns |= {name: self._fitted(name, found[name]) for name in mine}
        for name in self.constant.keys() & wanted:
            columns[name] = self.constant_column(name, self.rows[number])
        return pa.Table.from_arrays([columns[name] for name in wanted], names=wanted)

    def constant_column(self, name: str, rows: int) -> pa.Array:
        """Return a column that a folder stands for."""
        return pa.repeat(pa.scalar(self.constant[name], self.schema.field(name).type), rows)

    def _fitted(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if name in META_COLUMNS or pa.types.is_dictionary(column.type):
            return column
        wanted = self.schema.field(name).type
        return column if column.type == wanted else column.cast(wanted)

    def keys(self) -> pa.ChunkedArray:
        """Return all record keys."""
        parts = [self.read(number, [KEY])[KEY] for number in range(len(self.rows))]
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], pa.string())

    @property
    def starts(self) -> np.ndarray:
        """The place of each row group's first row, and the number of all rows."""
        found: np.ndarray = np.cumsum([0, *self.rows])
        return found


def _opened(
    part: ChunkFile, data: pa.Buffer, schema: pa.Schema, names: frozenset[str]
) -> pq.ParquetFile:
    """Return a file that is read with encoded texts."""
    texts = base_file.repeating(part.metadata, schema)
    return pq.ParquetFile(
        pa.BufferReader(data),
        metadata=part.metadata,
        read_dictionary=[*({MetaField.COMMIT_TIME.value} & names), *texts],
        page_checksum_verification=True,
        coerce_int96_timestamp_unit="us",
    )


def _is_stored(source: ChunkFile, like: ChunkFile, names: frozenset[str]) -> bool:
    """Return whether a source has each leaf of some columns, encoded from the same values."""
    has, wants = source.metadata.schema, like.metadata.schema
    found = {has.column(at).path: has.column(at) for at in range(len(has))}
    for at in range(len(wants)):
        leaf = wants.column(at)
        if leaf.path.partition(".")[0] in names or leaf.path in names:
            other = found.get(leaf.path)
            if other is None or not has_values_of(other, leaf):
                return False
    return True
