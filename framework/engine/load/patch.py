"""A base file after a load, made from the column chunks of the previous one (ADR 0012).

An upsert changes a few columns of a few rows. A column chunk whose values all stay is copied; only
the others are decoded and encoded again. A row group that rows leave is encoded whole. New rows get
a row group of their own, until the last one has enough rows. Rows and their order are those of
`combined`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.load import group_rows
from framework.engine.load.input_rows import KEY
from framework.engine.load.job import LoadJob
from framework.engine.load.old_chunks import OldChunks, SourceBytes
from framework.engine.tasks import release_memory
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.filegroup import base_file
from framework.hudi.filegroup.base_file import grown
from framework.hudi.filegroup.column_chunks import ChunkFile, RowGroup, assembled
from framework.hudi.table.layout import META_COLUMNS, MetaField

__all__ = ["Patched", "patched"]

_SMALL_GROUP_ROWS: Final = 1 << 14
"""A last row group with fewer rows is written again together with new ones.

With more of them, all its columns would be encoded again for a few rows; with fewer, files would
get row groups that cost more to open than to read.
"""

_LARGE_GROUP_ROWS: Final = 1 << 18

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
    job: LoadJob,
    data: pa.Buffer,
    changes: group_rows.Changes,
    file: group_rows.NewFile,
    behind: SourceBytes | None = None,
) -> Patched | None:
    """Return the base file `data` after `changes`; None if it must be written whole.

    It must if nothing of it would stay, its footer lacks bounds of its keys, it describes its
    columns differently than the table does now, or some of its days are in Spark's old calendar.
    Holds the bytes of the files twice, and decodes one column of a row group at a time, all columns
    of a row group that rows leave.

    Args:
        job: the load.
        data: the base file or skeleton.
        changes: the changes.
        file: the file to make.
        behind: the source file of a skeleton.

    Raises:
        CorruptFileError: `bootstrap/read-back-differs`.
    """
    try:
        like = ChunkFile.read(base_file.file_without_rows(job.table_schema))
        if behind is None:
            old = OldChunks.of_base(job.table_schema, like, data)
        else:
            old = OldChunks.of_adopted(job.table_schema, like, data, behind)
        if old is None or old.footer.least is None or old.footer.greatest is None:
            return None
        patch = _Patch(job, old, like, changes, file)
        return patch.made() if patch.keeps_some() else None
    except UNREADABLE:  # reading it whole reports the error
        return None


class _Patch:
    """Makes one file.

    The first row groups stay where they are; new rows may join the last one, which is then written
    again behind them.
    """

    def __init__(
        self,
        job: LoadJob,
        old: OldChunks,
        like: ChunkFile,
        changes: group_rows.Changes,
        file: group_rows.NewFile,
    ) -> None:
        self._job = job
        self._old = old
        self._like = like
        self._changes = changes
        self._file = file
        count = changes.places.size
        self._fresh: pa.Array = changes.rows[KEY].combine_chunks().slice(count)
        joins = len(self._fresh) and bool(old.rows) and old.rows[-1] < _SMALL_GROUP_ROWS
        self._kept = len(old.rows) - int(joins)
        self._starts = old.starts

    def keeps_some(self) -> bool:
        """Return whether a chunk of some row group may stay."""
        return any(not self._local(number).gone.size for number in range(self._kept))

    def made(self) -> Patched:
        """Return the file."""
        groups: list[RowGroup] = []
        updated = 0
        for number in range(self._kept):
            local = self._local(number)
            file = replace(self._file, first=updated)
            if local.gone.size:
                more, count = self._encoded(number, local, file)
            else:
                group, count = self._group(number, local, file)
                more = [group]
            groups += more
            updated += count
            if self._old.rows[number] >= _LARGE_GROUP_ROWS:
                release_memory()
        if len(self._fresh):
            more, count = self._behind(replace(self._file, first=updated))
            groups += more
            updated += count
        bounds, bloom = self._bounds(), self._bloom()
        if self._starts[-1] >= _LARGE_GROUP_ROWS:
            release_memory()
        footers = group_rows.footers_of(self._job, bounds, bloom)
        return Patched(
            data=assembled(self._like, groups, footers, self._file.name),
            rows=sum(group.rows for group in groups),
            fresh=self._fresh,
            updated=updated,
            bounds=bounds,
        )

    def _local(self, number: int) -> group_rows.Changes:
        """Return the changes to the rows of one row group, without new rows."""
        start, stop = self._starts[number], self._starts[number + 1]
        changes = self._changes
        first, last = np.searchsorted(changes.places, [start, stop]).tolist()
        gone = changes.gone[(changes.gone >= start) & (changes.gone < stop)]
        rows = changes.rows.slice(first, last - first)
        places = changes.places[first:last] - start
        return replace(changes, gone=gone - start, places=places, rows=rows)

    def _group(
        self, number: int, changes: group_rows.Changes, file: group_rows.NewFile
    ) -> tuple[RowGroup, int]:
        """Return a row group of kept and new chunks, and the number of rows replaced."""
        columns, updated = self._changed(number, changes, file)
        fields = [_META.get(name) or self._job.table_schema.field(name) for name in columns]
        schema = group_rows.held_schema(fields, columns.values())
        made = base_file.row_group_file(
            pa.Table.from_arrays([*columns.values()], schema=schema), self._old.plain(number)
        )
        news = {chunk.path: chunk for chunk in ChunkFile.read(made, fresh=True).groups[0].chunks}
        stay = {*META_COLUMNS, *self._job.table_schema.names} - columns.keys()
        chunks = {**self._old.chunks(number, stay), **news}
        paths = self._like.metadata.schema
        ordered = [chunks[paths.column(at).path] for at in range(len(paths))]
        return RowGroup(rows=self._old.rows[number], chunks=ordered), updated

    def _changed(
        self, number: int, changes: group_rows.Changes, file: group_rows.NewFile
    ) -> tuple[Mapping[str, Any], int]:
        """Return the changed columns of a row group, and the number of rows replaced."""
        old, rows, ordering = self._old, self._old.rows[number], self._job.ordering
        found: dict[str, Any] = {MetaField.FILE_NAME.value: base_file.constant(file.name, rows)}
        found |= {name: old.constant_column(name, rows) for name in old.constant}
        ordered = old.read(number, [ordering]) if ordering and changes.places.size else None
        wins = group_rows.wins_of(ordered, changes, ordering)
        if not wins.any():
            return found, 0
        taken = group_rows.taken_places(rows, changes, wins)
        kept = old.read(number, group_rows.KEPT_META[:2])
        found[MetaField.COMMIT_TIME.value] = group_rows.commit_times(
            kept, file.numbers.instant, taken
        )
        found[MetaField.COMMIT_SEQNO.value] = group_rows.sequence_numbers(kept, file, taken)
        places, news = pa.array(changes.places[wins]), changes.rows.filter(pa.array(wins))
        for name in self._job.table_schema.names:
            if name in old.constant:
                continue
            before = old.read(number, [name])
            if not _is_same(before[name].take(places), news[name]):
                found[name] = group_rows.column_of(before, changes.rows, name, taken)
        return found, int(np.count_nonzero(wins))

    def _behind(self, file: group_rows.NewFile) -> tuple[Sequence[RowGroup], int]:
        """Return the row groups of the unkept and new rows, and the number of rows replaced."""
        fresh = self._changes.rows.slice(self._changes.places.size)
        groups: list[RowGroup] = []
        updated = first = 0
        if self._kept < len(self._old.rows):
            local = self._local(self._kept)
            first = max(0, group_rows.GROUP_ROWS - self._old.rows[self._kept])
            both = replace(local, rows=pa.concat_tables([local.rows, fresh.slice(0, first)]))
            found, updated = self._encoded(self._kept, both, file)
            groups += found
        numbered = file.first + updated + min(first, len(fresh))
        for at in range(first, len(fresh), group_rows.GROUP_ROWS):
            rows = fresh.slice(at, group_rows.GROUP_ROWS)
            added = group_rows.Changes.of_new(rows)
            found, _ = self._encoded(None, added, replace(file, first=numbered))
            groups += found
            numbered += len(rows)
        return groups, updated

    def _encoded(
        self, number: int | None, changes: group_rows.Changes, file: group_rows.NewFile
    ) -> tuple[Sequence[RowGroup], int]:
        """Return the row groups of all rows of one, after its changes, and the rows replaced.

        Without a number, of new rows alone. A row group without rows is none.
        """
        names = [*group_rows.KEPT_META, *self._job.table_schema.names]
        old = None if number is None else self._old.read(number, names)
        made = group_rows.combined(old, changes, file, ordering=self._job.ordering)
        if not made.rows:
            return [], made.updated
        written = group_rows.written_rows(self._job, made, {}, self._file.name)
        return ChunkFile.read(pa.py_buffer(written)).groups, made.updated

    def _bounds(self) -> tuple[str, str]:
        """Return the least and greatest key; those of the old file hold unless rows leave it."""
        footer, changes = self._old.footer, self._changes
        least, greatest = footer.least or "", footer.greatest or ""
        found = [] if changes.gone.size else [least, greatest]
        parts = [self._fresh]
        if changes.gone.size:
            stays = np.ones(self._starts[-1], dtype=bool)
            stays[changes.gone] = False
            parts += self._old.keys().filter(pa.array(stays)).chunks
        for part in parts:
            if len(part):
                ends = pc.min_max(part)
                found += [ends["min"].as_py(), ends["max"].as_py()]
        return min(found, default=least), max(found, default=greatest)

    def _bloom(self) -> tuple[str, str] | None:
        """Return the filter of all keys: the old one with new keys added, if it has room.

        The keys of rows that leave stay in it.
        """
        footer = self._old.footer
        spec = self._job.bloom.spec(footer.rows + len(self._fresh))
        if spec is None:
            return None
        if footer.bloom is not None and footer.bloom[1] == spec.type_code:
            text = grown(footer.bloom[0], self._fresh, spec)
            if text is not None:
                return text, spec.type_code
        keys = self._old.keys()
        return group_rows.bloom_of(
            self._job, pa.chunked_array([*keys.chunks, self._fresh], pa.string())
        )


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
