"""A base file after a load, made from the column chunks of the previous one (ADR 0012).

An upsert changes a few columns of a few rows. A column chunk whose values all stay is copied; only
the others are decoded and encoded again. New rows get a row group of their own, until the last one
has enough rows. Rows and their order are those of `combined`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.engine.load import group_rows
from framework.engine.load.job import LoadJob
from framework.engine.load.key_input import KEY
from framework.hudi.codecs.bloom_growth import grown
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.filegroup import base_file
from framework.hudi.filegroup.column_chunks import ChunkFile, RowGroup, assembled
from framework.hudi.filegroup.key_footer import KeyFooter, key_footer
from framework.hudi.table.calendar import LegacyCalendar
from framework.hudi.table.layout import MetaField

__all__ = ["Patched", "patched"]

_SMALL_GROUP_ROWS: Final = 1 << 17
"""A last row group with fewer rows is written again together with new ones."""

_FLOATS: Final = {pa.float16(): pa.int16(), pa.float32(): pa.int32(), pa.float64(): pa.int64()}
_META: Final = {field.name: field for field in base_file.META_FIELDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patched:
    """A base file, and what a load did to it.

    Attributes:
        data: its bytes.
        rows: number of its rows.
        fresh: the keys of new rows.
        updated: rows that were replaced.
        bounds: its least and greatest key.
    """

    data: bytes
    rows: int
    fresh: pa.Array
    updated: int
    bounds: tuple[str, str]


def patched(
    job: LoadJob, data: pa.Buffer, changes: group_rows.Changes, file: group_rows.NewFile
) -> Patched | None:
    """Return the base file `data` after `changes`; None if it must be written whole.

    It must if rows are deleted, nothing of it would stay, its footer lacks bounds of its keys, it
    describes its columns differently than the table does now, or some of its days are in Spark's
    old calendar. Holds the file's bytes twice, and decodes one column of a row group at a time.

    Raises:
        CorruptFileError: `bootstrap/read-back-differs`.
    """
    if changes.gone.size:
        return None
    try:
        return _patched(job, data, changes, file)
    except UNREADABLE:  # reading it whole reports the error
        return None


def _patched(
    job: LoadJob, data: pa.Buffer, changes: group_rows.Changes, file: group_rows.NewFile
) -> Patched | None:
    """Return the file; None if its columns or its footer do not allow it."""
    old = ChunkFile.read(data)
    footer = key_footer(old.metadata)
    like = ChunkFile.read(base_file.file_without_rows(job.table_schema))
    if footer.least is None or footer.greatest is None or not old.has_columns_of(like):
        return None
    patch = _Patch(job, data, old, file)
    kept = patch.kept(changes)
    if not (kept and patch.has_types() and patch.is_gregorian):
        return None
    return patch.made(changes, kept, footer, like)


class _Patch:
    """Makes one file."""

    def __init__(
        self, job: LoadJob, data: pa.Buffer, old: ChunkFile, file: group_rows.NewFile
    ) -> None:
        self._job = job
        self._file = file
        self._old = old
        texts = base_file.repeating(old.metadata, job.table_schema)
        self._parquet = pq.ParquetFile(
            pa.BufferReader(data),
            metadata=old.metadata,
            read_dictionary=[MetaField.COMMIT_TIME.value, *texts],
        )
        self._starts = np.cumsum([0, *(group.rows for group in old.groups)])

    def has_types(self) -> bool:
        """Return whether flat columns are read in the table's types, apart from encoded texts."""
        found = self._parquet.schema_arrow
        return all(
            pa.types.is_nested(each.type)
            or found.field(each.name).type in {each.type, pa.dictionary(pa.int32(), each.type)}
            for each in self._job.table_schema
        )

    @property
    def is_gregorian(self) -> bool:
        """Whether old chunks and new ones have the same calendar."""
        return LegacyCalendar.of(self._parquet, self._file.name) is None

    def kept(self, changes: group_rows.Changes) -> int:
        """Return how many row groups are kept; new rows may join the last one."""
        groups = self._old.groups
        joins = changes.rows.num_rows > changes.places.size
        joins = joins and bool(groups) and groups[-1].rows < _SMALL_GROUP_ROWS
        return len(groups) - int(joins)

    def made(
        self, changes: group_rows.Changes, kept: int, footer: KeyFooter, like: ChunkFile
    ) -> Patched:
        """Return the file with its first `kept` row groups, followed by one or more."""
        groups: list[RowGroup] = []
        updated = 0
        for number in range(kept):
            local = self._local(changes, number)
            group, count = self._group(number, local, replace(self._file, first=updated))
            groups.append(group)
            updated += count
        count = changes.places.size
        fresh: pa.Array = changes.rows[KEY].combine_chunks().slice(count)
        if len(fresh):
            more, replaced = self._behind(changes, kept, replace(self._file, first=updated))
            groups += more
            updated += replaced
        bounds = _widened(footer, fresh)
        bloom = self._bloom(footer, fresh)
        name = self._file.name
        return Patched(
            data=assembled(like, groups, group_rows.footers_of(self._job, bounds, bloom), name),
            rows=sum(group.rows for group in groups),
            fresh=fresh,
            updated=updated,
            bounds=bounds,
        )

    def _local(self, changes: group_rows.Changes, number: int) -> group_rows.Changes:
        """Return the changes to the rows of one row group, without new rows."""
        start, stop = self._starts[number], self._starts[number + 1]
        mine = np.flatnonzero((changes.places >= start) & (changes.places < stop))
        rows = changes.rows.take(pa.array(mine))
        return replace(changes, places=changes.places[mine] - start, rows=rows)

    def _group(
        self, number: int, changes: group_rows.Changes, file: group_rows.NewFile
    ) -> tuple[RowGroup, int]:
        """Return a row group of kept and new chunks, and the number of rows replaced."""
        old = self._old.groups[number]
        plain = [chunk.column for chunk in old.chunks if not chunk.has_dictionary]
        columns, updated = self._changed(number, changes, file)
        fields = [_META.get(name) or self._job.table_schema.field(name) for name in columns]
        schema = group_rows.held_schema(fields, columns.values())
        made = base_file.row_group_file(
            pa.Table.from_arrays([*columns.values()], schema=schema), plain
        )
        news = {chunk.path: chunk for chunk in ChunkFile.read(made, fresh=True).groups[0].chunks}
        chunks = [news.get(chunk.path, chunk) for chunk in old.chunks]
        return RowGroup(rows=old.rows, chunks=chunks), updated

    def _changed(
        self, number: int, changes: group_rows.Changes, file: group_rows.NewFile
    ) -> tuple[Mapping[str, Any], int]:
        """Return the changed columns of a row group, and the number of rows replaced."""
        rows, ordering = self._old.groups[number].rows, self._job.ordering
        found = {MetaField.FILE_NAME.value: base_file.constant(file.name, rows)}
        ordered = self._read(number, [ordering]) if ordering and changes.places.size else None
        wins = group_rows.wins_of(ordered, changes, ordering)
        if not wins.any():
            return found, 0
        taken = group_rows.taken_places(rows, changes, wins)
        kept = self._read(number, group_rows.KEPT_META[:2])
        found[MetaField.COMMIT_TIME.value] = group_rows.commit_times(
            kept, file.numbers.instant, taken
        )
        found[MetaField.COMMIT_SEQNO.value] = group_rows.sequence_numbers(kept, file, taken)
        places, news = pa.array(changes.places[wins]), changes.rows.filter(pa.array(wins))
        for name in self._job.table_schema.names:
            old = self._read(number, [name])
            if not _is_same(old[name].take(places), news[name]):
                found[name] = group_rows.column_of(old, changes.rows, name, taken)
        return found, int(np.count_nonzero(wins))

    def _behind(
        self, changes: group_rows.Changes, kept: int, file: group_rows.NewFile
    ) -> tuple[Sequence[RowGroup], int]:
        """Return the row groups of the unkept and new rows, and the number of rows replaced."""
        start, count = self._starts[kept], changes.places.size
        mine = np.flatnonzero(changes.places >= start)
        rows = np.concatenate([mine, np.arange(count, changes.rows.num_rows)])
        local = replace(
            changes, places=changes.places[mine] - start, rows=changes.rows.take(pa.array(rows))
        )
        names = [*group_rows.KEPT_META, *self._job.table_schema.names]
        old = self._read(kept, names) if kept < len(self._old.groups) else None
        made = group_rows.combined(old, local, file, ordering=self._job.ordering)
        written = group_rows.written_rows(self._job, made, {}, self._file.name)
        return ChunkFile.read(pa.py_buffer(written)).groups, made.updated

    def _read(self, number: int, names: Sequence[str]) -> pa.Table:
        """Return some columns of a row group; fields of nested ones have the table's names."""
        found = self._parquet.read_row_group(number, columns=[*names], use_threads=False)
        for at, field in enumerate(found.schema):
            if pa.types.is_nested(field.type) and not pa.types.is_dictionary(field.type):
                wanted = self._job.table_schema.field(field.name).type
                found = found.set_column(at, field.name, found.column(at).cast(wanted))
        return found

    def _bloom(self, footer: KeyFooter, fresh: pa.Array) -> tuple[str, str] | None:
        """Return the filter of all keys: the old one with new keys added, if it has room."""
        spec = self._job.bloom.spec(footer.rows + len(fresh))
        if spec is None:
            return None
        if footer.bloom is not None and footer.bloom[1] == spec.type_code:
            text = grown(footer.bloom[0], fresh, spec)
            if text is not None:
                return text, spec.type_code
        keys = self._parquet.read(columns=[KEY], use_threads=False)[KEY]
        return group_rows.bloom_of(self._job, pa.chunked_array([*keys.chunks, fresh], pa.string()))


def _is_same(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    """Return whether two flat columns have the same values, bit for bit; False for nested ones."""
    if pa.types.is_nested(after.type):
        return False
    one, other = before.cast(after.type), after
    if after.type in _FLOATS:
        one, other = (
            pa.chunked_array([chunk.view(_FLOATS[after.type]) for chunk in each.chunks])
            for each in (one, other)
        )
    return bool(one.equals(other))


def _widened(footer: KeyFooter, fresh: pa.Array) -> tuple[str, str]:
    """Return the least and greatest key of a file after adding keys."""
    least, greatest = footer.least or "", footer.greatest or ""
    if not len(fresh):
        return least, greatest
    found = pc.min_max(fresh)
    return min(least, found["min"].as_py()), max(greatest, found["max"].as_py())
