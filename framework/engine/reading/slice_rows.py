"""The rows of one file slice with log files: base file, or skeleton and source, and logs merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import pyarrow as pa

from framework.errors import CorruptFileError, SourceDriftError, Where
from framework.hudi.bootstrap.source_schema import decode_schema, encode_schema
from framework.hudi.codecs.parquet_seal import UNREADABLE, SealedFooter, naming_bad_chunks
from framework.hudi.filegroup.base_file import repeating
from framework.hudi.filegroup.log_changes import LogPart, read_changes
from framework.hudi.filegroup.merge import IS_DELETED, MergeRule, merged, remaining, replaced
from framework.hudi.filegroup.slices import FileSlice, SourceFile
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.calendar import LegacyCalendar
from framework.hudi.table.layout import META_COLUMNS, MetaField, name_of, parent_of
from framework.hudi.table.partition_path import PartitionValue
from framework.hudi.table.schema_check import fitted
from framework.hudi.timeline.instant import Instant
from framework.hudi.timeline.timeline import Timeline

__all__ = [
    "SliceFiles",
    "SliceKeys",
    "SliceTable",
    "drifted",
    "slice_changes",
    "slice_columns",
    "slice_gone",
    "slice_keys",
    "slice_rows",
    "stored_schema",
]

_DECIDE: Final = (MetaField.RECORD_KEY.value, IS_DELETED)
"""Columns that decide which version of a record wins, besides the ordering column."""
_META: Final[list[pa.Field]] = [pa.field(name, pa.string()) for name in META_COLUMNS]


def drifted(path: str, what: str) -> SourceDriftError:
    """Return the error for a source file that rows depend on and that has changed."""
    return SourceDriftError(
        "source/drift",
        f"the source file changed since the table adopted it: {what}",
        where=Where(file=path),
        remedy="Restore the file: the table has no copy of its rows.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceTable:
    """The parameters for reading any slice of a table.

    Attributes:
        location: the table's.
        schema: encoded Arrow schema of the table's columns, partition columns included.
        in_folders: those of them that folders stand for.
        ordering: the column whose greater value wins; None if the later write wins.
        instants: file names of the timeline.
        until: the last instant that counts; None if all do.
    """

    location: str
    schema: str
    in_folders: tuple[str, ...]
    ordering: str | None
    instants: tuple[str, ...]
    until: str | None

    @classmethod
    def of(
        cls,
        storage: Storage,
        timeline: Timeline,
        schema: pa.Schema,
        *,
        in_folders: Iterable[str],
        rule: MergeRule,
    ) -> SliceTable:
        """Return the parameters for a table's slices."""
        return cls(
            location=storage.location,
            schema=encode_schema(schema),
            in_folders=tuple(in_folders),
            ordering=rule.ordering,
            instants=tuple(each.file_name for each in timeline.instants),
            until=timeline.until,
        )

    @property
    def timeline(self) -> Timeline:
        """The timeline."""
        found = (Instant.parse(name) for name in self.instants)
        return Timeline(instants=tuple(each for each in found if each), until=self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceFiles:
    """The files of a slice's rows; paths are relative to the table.

    Attributes:
        base: path of the base file or skeleton; None if records are in log files only.
        logs: oldest first.
        source: the file behind a skeleton, else None.
    """

    base: str | None
    logs: tuple[LogPart, ...] = ()
    source: SourceFile | None = None

    @classmethod
    def of(cls, found: FileSlice) -> Self:
        """Return the files of a slice."""
        return cls(
            base=found.base.path if found.base else None,
            logs=tuple(LogPart(log.path, log.committed) for log in found.logs),
            source=found.bootstrap,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceKeys:
    """The record keys of a slice, and those of base rows that are deleted.

    Attributes:
        stored: of all rows of the base file, then of the records that only log files hold.
        deleted: positions of base rows that log files delete, ascending.
    """

    stored: pa.ChunkedArray
    deleted: np.ndarray

    @property
    def rows(self) -> int:
        """The number of records of the slice."""
        return len(self.stored) - self.deleted.size


def slice_rows(
    table: SliceTable,
    found: SliceFiles,
    values: Mapping[str, PartitionValue],
    *,
    meta: Iterable[str] = META_COLUMNS,
    encoded: bool = False,
) -> pa.Table:
    """Return all rows of a slice: meta columns, then the table's columns.

    Holds them in memory. Columns that folders stand for have the folder's value.

    Args:
        table: the parameters of its table.
        found: the slice.
        values: of the partition's columns.
        meta: the requested meta columns, the record key among them.
        encoded: whether texts of a slice without logs that its file has dictionary-encoded may
            stay so: they are read, moved and written in a fraction of the time.

    Raises:
        SourceDriftError: `source/drift`; the file behind a skeleton has changed.
        CorruptFileError: `file/not-readable`, `file/time-zone-unknown`, or see `read_changes` and
            `merged`.
        UnsupportedTableError: see `read_changes`.
    """
    schema, wanted = decode_schema(table.schema), set(meta)
    chosen = [field for field in _META if field.name in wanted]
    stored = [f for f in stored_schema(table) if f.name in wanted or f.name not in META_COLUMNS]
    rows = _stored_rows(table, found, pa.schema(stored), encoded=encoded)
    return _with_folders(table, rows, [*chosen, *schema], values)


def _with_folders(
    table: SliceTable,
    rows: pa.Table,
    fields: Sequence[pa.Field],
    values: Mapping[str, PartitionValue],
) -> pa.Table:
    """Return rows with the columns that folders stand for, in the order of `fields`."""
    columns = [
        pa.repeat(pa.scalar(values[field.name], field.type), rows.num_rows)
        if field.name in table.in_folders
        else rows[field.name]
        for field in fields
    ]
    return pa.Table.from_arrays(columns, names=[field.name for field in fields])


def slice_gone(table: SliceTable, found: SliceFiles) -> np.ndarray:
    """Return which rows of a slice's base file its log files replace or delete, ascending.

    Decodes no more of the base file and the logs than keys and ordering values.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: see `slice_rows`.
    """
    narrow = [field for field in stored_schema(table) if field.name in {*_DECIDE, table.ordering}]
    gone, _ = _replaced(table, found, pa.schema(narrow))
    return gone


def slice_changes(
    table: SliceTable, found: SliceFiles, values: Mapping[str, PartitionValue]
) -> pa.Table:
    """Return the rows of a slice's log files that win, with the columns of `slice_rows`.

    Together with the rows of the base file that are not in `slice_gone` they make up the slice. If
    the later write wins, the base file is not read.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: see `slice_rows`.
    """
    stored = stored_schema(table)
    above = found if table.ordering in stored.names else replace(found, base=None)
    _, rows = _replaced(table, above, stored)
    return _with_folders(table, rows, [*_META, *decode_schema(table.schema)], values)


def _replaced(
    table: SliceTable, found: SliceFiles, stored: pa.Schema
) -> tuple[np.ndarray, pa.Table]:
    """Return the places of base rows that lose, and the columns `stored` of rows that win."""
    storage = open_storage(table.location)
    narrow = [field for field in stored if field.name in {*_DECIDE, table.ordering}]
    base = _base_rows(storage, found, pa.schema(narrow), encoded=False)
    changes = read_changes(storage, found.logs, stored, table.timeline.is_completed)
    return replaced(base, stored, changes, MergeRule(ordering=table.ordering))


def slice_columns(table: SliceTable, found: SliceFiles, names: Iterable[str]) -> pa.Table:
    """Return some stored columns of all rows of a slice, in the row order of `slice_rows`.

    Of a slice without log files nothing else is read; the file behind a skeleton is not opened for
    meta columns. With log files, the key and the ordering column are read too.

    Args:
        table: the parameters of its table.
        found: the slice.
        names: meta columns, or columns that no folder stands for.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: see `slice_rows`.
    """
    wanted = list(names)
    needed = {*wanted, *_DECIDE, table.ordering} if found.logs else {*wanted}
    rows = _stored_rows(
        table, found, pa.schema([field for field in stored_schema(table) if field.name in needed])
    )
    return rows.select(wanted)


def slice_keys(table: SliceTable, found: SliceFiles) -> SliceKeys:
    """Return the record keys of a slice; those that stay have the row order of `slice_rows`.

    Reads the same columns as `slice_columns` of the key, but neither merges nor copies base rows.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: see `slice_rows`.
    """
    storage, key = open_storage(table.location), MetaField.RECORD_KEY.value
    needed = {*_DECIDE, table.ordering} if found.logs else {key}
    stored = pa.schema([field for field in stored_schema(table) if field.name in needed])
    base = _base_rows(storage, found, stored, encoded=False)
    changes = read_changes(storage, found.logs, stored, table.timeline.is_completed)
    deleted, fresh = remaining(base, changes, MergeRule(ordering=table.ordering))
    stored_keys = pa.chunked_array([*base[key].chunks, *fresh.chunks], pa.string())
    return SliceKeys(stored=stored_keys, deleted=deleted)


def stored_schema(table: SliceTable) -> pa.Schema:
    """Return the columns that files hold: meta columns, and those no folder stands for."""
    schema = decode_schema(table.schema)
    return pa.schema([*_META, *(f for f in schema if f.name not in table.in_folders)])


def _stored_rows(
    table: SliceTable, found: SliceFiles, stored: pa.Schema, *, encoded: bool = False
) -> pa.Table:
    """Return the columns `stored` of a slice's rows, logs merged."""
    storage = open_storage(table.location)
    base = _base_rows(storage, found, stored, encoded=encoded and not found.logs)
    if not found.logs:
        return base
    changes = read_changes(storage, found.logs, stored, table.timeline.is_completed)
    return merged(base, changes, MergeRule(ordering=table.ordering))


def _base_rows(
    storage: Storage, found: SliceFiles, schema: pa.Schema, *, encoded: bool
) -> pa.Table:
    """Return the rows of a slice's base file; none if records are in logs only."""
    if found.base is None:
        return schema.empty_table()
    base = _read(storage, found.base, schema, encoded=encoded)
    if found.source is None or set(schema.names) <= set(META_COLUMNS):
        return _fitted(base, schema, _place(storage, found.base), encoded=encoded)
    source = found.source
    folder = open_storage(parent_of(source.uri))
    rows = _source_rows(folder, source, schema, encoded=encoded)
    if rows.num_rows != base.num_rows:
        raise drifted(source.uri, f"it has {rows.num_rows} rows, its skeleton {base.num_rows}")
    for name in base.schema.names:
        rows = rows.append_column(name, base[name])
    return _fitted(rows, schema, Where(file=source.uri), encoded=encoded)


def _source_rows(
    folder: Storage, source: SourceFile, schema: pa.Schema, *, encoded: bool
) -> pa.Table:
    """Return the rows of the file behind a skeleton, which must have its recorded size."""
    name = name_of(source.uri)
    entry = folder.stat(name)
    if entry is None:
        raise drifted(source.uri, "it is missing")
    if entry.size != source.size:
        raise drifted(source.uri, f"it has {entry.size} bytes, not {source.size}")
    data = pa.schema([field for field in schema if field.name not in META_COLUMNS])
    return _read(folder, name, data, encoded=encoded)


def _read(storage: Storage, path: str, schema: pa.Schema, *, encoded: bool) -> pa.Table:
    """Return the columns of a Parquet file that the schema has."""
    try:
        with storage.open_input(path) as stream:
            footer = SealedFooter.read(stream)
            parquet = footer.opened(
                stream,
                schema.names,
                read_dictionary=repeating(footer.metadata, schema) if encoded else None,
            )
            present = [name for name in parquet.schema_arrow.names if name in schema.names]
            with naming_bad_chunks(parquet, range(parquet.num_row_groups), present):
                rows = parquet.read(columns=present, use_threads=False)
            calendar = LegacyCalendar.of(parquet, f"{storage.location}/{path}")
            return rows if calendar is None else calendar.gregorian(rows)
    except UNREADABLE as error:
        raise CorruptFileError(
            "file/not-readable",
            f"the file cannot be read: {error}",
            where=_place(storage, path),
            remedy="Restore the file from a copy.",
        ) from error


def _fitted(rows: pa.Table, schema: pa.Schema, place: Where, *, encoded: bool) -> pa.Table:
    """Return the columns of `schema`; with `encoded`, dictionary-encoded texts stay so."""
    kept = [f for f in schema if encoded and f.name in rows.schema.names]
    kept = [f for f in kept if rows.schema.field(f.name).type == pa.dictionary(pa.int32(), f.type)]
    names = {field.name for field in kept}
    others = fitted(rows, pa.schema([f for f in schema if f.name not in names]), where=place)
    columns = [rows[f.name] if f.name in names else others[f.name] for f in schema]
    return pa.Table.from_arrays(columns, names=schema.names)


def _place(storage: Storage, path: str) -> Where:
    return Where(file=f"{storage.location}/{path}")
