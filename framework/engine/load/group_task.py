"""The task that writes file groups: a rewritten base file, a new one, or a log file for each.

A pure function of its descriptor and of files that do not change meanwhile. It writes one segment
of statuses, and a spill with the hashes of the keys that are new to the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.audit.spill import SpillWriter, scope_mix
from framework.engine.load.assignment import Stretch, count_rows, pieces
from framework.engine.load.dedup import Bucket, taken_rows
from framework.engine.load.group_rows import (
    GROUP_ROWS,
    KEPT_META,
    Changes,
    GrowingFile,
    NewFile,
    base_bytes,
    combined,
)
from framework.engine.load.hits import HITS_SCHEMA, SliceHits, read_inserts
from framework.engine.load.input_rows import KEY, by_code
from framework.engine.load.job import LoadJob
from framework.engine.load.old_chunks import SourceBytes
from framework.engine.load.patch import patched
from framework.engine.reading.slice_rows import SliceFiles, slice_rows
from framework.engine.reading.views import AskedSlice, looked_up
from framework.engine.run.durable_files import FileStore
from framework.engine.tasks import decode, encode, release_memory
from framework.errors import StorageError
from framework.hudi.bootstrap.seqno_pages import RowNumbers
from framework.hudi.codecs.murmur import key_hashes
from framework.hudi.commit.segments import SegmentRef, write_segment
from framework.hudi.commit.statuses import FileStatus, Statuses
from framework.hudi.commit.task_files import NewName, TaskFiles
from framework.hudi.filegroup.log_file import log_file_bytes
from framework.hudi.filegroup.slices import SourceFile
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import MetaField, join, name_of, parent_of
from framework.hudi.table.partition_path import partition_values
from framework.vocabulary import KeyScope, WriteOperation

__all__ = ["GroupTask", "GroupWork", "GroupsWritten", "group_task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupWork:
    """One file group to write.

    Attributes:
        number: its place in the commit.
        partition_path: its partition.
        file_id: its file id.
        name: name of the file to write.
        slice: the latest slice; None for a new group.
        tagged: the slice's number among those that were searched; -1 for a new group.
        previous: instant of that slice; None for a new group.
        base_name: for a log file the name of its base file, "" if none; else None.
        hits: the slice's hits; None if it has none.
        inserts: (bucket, start, stop) among the bucket's rows to insert.
    """

    number: int
    partition_path: str
    file_id: str
    name: str
    slice: AskedSlice | None = None
    tagged: int = -1
    previous: str | None = None
    base_name: str | None = None
    hits: SliceHits | None = None
    inserts: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTask:
    """Some groups to write; `buckets`, and `inserts` of `ClassifiedRows`, are by number."""

    job: LoadJob
    buckets: tuple[Bucket, ...]
    inserts: tuple[str, ...]
    groups: tuple[GroupWork, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsWritten:
    """The result of a task.

    Attributes:
        segment: statuses of the files.
        patched: base files made from the column chunks of the previous ones (ADR 0012).
        whole: base files of existing groups whose rows were all written.
    """

    segment: SegmentRef
    patched: int
    whole: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A file's bytes, its rows, and the hashes of keys in it that are new to the table.

    `null_keys` counts added rows without a key. `patched` is None without a previous base file.
    """

    data: bytes
    rows: int
    fresh: np.ndarray
    updates: int
    deletes: int
    bounds: tuple[str | None, str | None]
    null_keys: int = 0
    patched: bool | None = None


def group_task(descriptor: str) -> str:
    """Write the groups of a `GroupTask`; return the `GroupsWritten` as JSON.

    Holds one group's rows in memory.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: a slice cannot be read.
        CommitConflictError: `commit/fenced`.
    """
    task = decode(GroupTask, descriptor)
    job = task.job
    storage = job.storage()
    segment = join(job.folder, f"{uuid4().hex}.arrow")
    with ExitStack() as stack:
        spill = SpillWriter(stack.enter_context(storage.create(f"{segment}.spill")), job.bits)
        store = stack.enter_context(FileStore(storage))
        worker = _Worker(job, storage, task)
        asked = [each.slice for each in task.groups if each.slice is not None]
        slices = looked_up(job.view, job.slices, asked)
        statuses = Statuses()
        worker.announce()
        for each in task.groups:
            files = None if each.slice is None else slices.files(each.slice)
            statuses.add(worker.write(each, files, store, spill))
        spill.finish()
    return encode(
        GroupsWritten(
            segment=write_segment(storage, segment, statuses.table(store.checksums())),
            patched=worker.made[True],
            whole=worker.made[False],
        )
    )


class _Worker:
    """Writes one group after the other; `made` counts base files by whether they were patched."""

    def __init__(self, job: LoadJob, storage: Storage, task: GroupTask) -> None:
        self._job = job
        self._storage = storage
        self._buckets = task.buckets
        self._inserts = task.inserts
        self._groups = task.groups
        self._files = TaskFiles(storage, job.attempts, job.instant)
        self._mixed = job.rule.scope is KeyScope.PARTITION
        self.made: Counter[bool | None] = Counter()

    def announce(self) -> None:
        """Record all files before the first is created, on stores that need it."""
        groups = self._groups
        self._files.announce(NewName(e.partition_path, e.name, e.previous) for e in groups)

    def write(
        self, work: GroupWork, old: SliceFiles | None, store: FileStore, spill: SpillWriter
    ) -> FileStatus:
        """Write one group's file, whose latest slice is `old`, and return its status."""
        made = self._appended(work) if work.base_name is not None else self._rewritten(work, old)
        self.made[made.patched] += 1
        staged = self._files.path(work.partition_path, work.name)
        store.put(staged, made.data)
        mix = scope_mix(work.partition_path, by_partition=self._mixed)
        spill.add(work.number, made.fresh ^ mix)
        return _status(work, staged, made)

    def _rewritten(self, work: GroupWork, old: SliceFiles | None) -> _Written:
        """Return a base file: the old rows with their changes, and new ones."""
        numbers = RowNumbers(instant=self._job.instant, number=work.number)
        file = NewFile(name=work.name, partition_path=work.partition_path, numbers=numbers)
        if old is None:
            return self._new(work, file)
        changes = self._changes(work)
        return self._patched(old, changes, file) or self._whole(old, changes, file)

    def _patched(self, old: SliceFiles, changes: Changes, file: NewFile) -> _Written | None:
        """Return the old base file with its changes; None if all of it must be written."""
        if old.logs or old.base is None:
            return None
        behind = None if old.source is None else self._source(old.source, file)
        if old.source is not None and behind is None:
            return None
        with self._storage.open_input(old.base) as stream:
            data = stream.read_buffer()
        found = patched(self._job, data, changes, file, behind)
        if found is None:
            return None
        return _Written(
            data=found.data,
            rows=found.rows,
            fresh=key_hashes(found.fresh),
            updates=found.updated,
            deletes=changes.gone.size,
            bounds=found.bounds,
            null_keys=found.fresh.null_count,
            patched=True,
        )

    def _source(self, source: SourceFile, file: NewFile) -> SourceBytes | None:
        """Return the file behind a skeleton; None unless it has its recorded size."""
        rule = self._job.rule
        values = partition_values(file.partition_path, rule.partition, rule.layout)
        folder, name = open_storage(parent_of(source.uri)), name_of(source.uri)
        with suppress(StorageError), folder.open_input(name) as stream:
            if stream.size() == source.size:
                return SourceBytes(data=stream.read_buffer(), constant=values)
        return None  # reading its rows reports the error

    def _new(self, work: GroupWork, file: NewFile) -> _Written:
        """Return the file of a new group, made a row group at a time."""
        made = GrowingFile(self._job, file.name, count_rows(work.inserts))
        hashes, rows, nulls = [], 0, 0
        for piece in pieces(work.inserts, GROUP_ROWS):
            more, null_keys = self._grown(made, piece, replace(file, first=rows))
            hashes.append(more)
            rows += more.size
            nulls += null_keys
            if more.size == GROUP_ROWS:
                release_memory()
        data, bounds = made.finish()
        fresh = np.concatenate(hashes)
        return _Written(
            data=data, rows=rows, fresh=fresh, updates=0, deletes=0, bounds=bounds, null_keys=nulls
        )

    def _grown(
        self, made: GrowingFile, piece: Sequence[Stretch], file: NewFile
    ) -> tuple[np.ndarray, int]:
        """Add new rows, not held longer; return the hashes of their keys, and the null ones."""
        changes = Changes.of_new(pa.concat_tables([self._fresh(each) for each in piece]))
        found = combined(None, changes, file, ordering=None)
        made.add(found)
        return key_hashes(found.keys), found.keys.null_count

    def _whole(self, old: SliceFiles, changes: Changes, file: NewFile) -> _Written:
        """Return a base file with all its rows written."""
        job, rule = self._job, self._job.rule
        values = partition_values(file.partition_path, rule.partition, rule.layout)
        rows = slice_rows(job.slices, old, values, meta=KEPT_META, encoded=True)
        found = combined(rows, changes, file, ordering=job.ordering)
        data, bounds = base_bytes(job, found, file.name)
        return _Written(
            data=data,
            rows=found.rows,
            fresh=key_hashes(found.fresh),
            updates=found.updated,
            deletes=changes.gone.size,
            bounds=bounds,
            null_keys=found.fresh.null_count,
            patched=False,
        )

    def _appended(self, work: GroupWork) -> _Written:
        """Return a log file: rows that are written again, and keys that are deleted.

        Its readers decide which version of a record wins.
        """
        changes = self._changes(work)
        rows = changes.rows
        numbers = RowNumbers(instant=self._job.instant, number=work.number)
        data = log_file_bytes(
            self._job.instant,
            self._job.avro_schema,
            rows=log_rows(rows, work, numbers) if rows.num_rows else None,
            deleted=[(key, work.partition_path) for key in changes.gone_keys.to_pylist()],
        )
        found = pc.min_max(rows[KEY])
        return _Written(
            data=data,
            rows=rows.num_rows,
            fresh=np.empty(0, np.uint64),
            updates=rows.num_rows,
            deletes=changes.gone.size,
            bounds=(found["min"].as_py(), found["max"].as_py()),
        )

    def _changes(self, work: GroupWork) -> Changes:
        """Return the changes of a group's slice."""
        hits = self._hits(work)
        is_gone = hits["moves"].to_numpy(zero_copy_only=False)
        if self._job.operation is WriteOperation.DELETE:
            is_gone = np.ones(hits.num_rows, dtype=bool)
        leaves = is_gone & hits["wins"].to_numpy(zero_copy_only=False)
        positions = hits["position"].to_numpy().astype(np.int64)
        gone_keys = pa.array([], pa.string())
        if work.base_name is not None:
            gone_keys = self._keys_of(hits.filter(pa.array(leaves)))
        rows = [self._rows_of(hits.filter(pa.array(~is_gone)))]
        rows += [self._fresh(stretch) for stretch in work.inserts]
        if hits.num_rows >= GROUP_ROWS:
            release_memory()
        return Changes(
            gone=positions[leaves],
            gone_keys=gone_keys,
            places=positions[~is_gone],
            rows=pa.concat_tables(rows),
        )

    def _hits(self, work: GroupWork) -> pa.Table:
        """Return the hits of a group's slice."""
        return work.hits.read(self._storage) if work.hits else HITS_SCHEMA.empty_table()

    def _rows_of(self, hits: pa.Table) -> pa.Table:
        """Return the incoming rows of hits, in their order."""
        buckets, rows = hits["bucket"].to_numpy(), hits["row"].to_numpy().astype(np.int64)
        numbers = np.unique(buckets).tolist()
        parts = [self._taken(number, rows[buckets == number]) for number in numbers]
        found = pa.concat_tables([self._empty(), *parts])
        if len(numbers) > 1:
            places = np.empty(buckets.size, np.int64)
            places[by_code(buckets, numbers[-1] + 1)] = np.arange(buckets.size)
            found = found.take(pa.array(places))
        return found

    def _keys_of(self, hits: pa.Table) -> pa.Array:
        """Return the keys of hits, unordered; the incoming rows may be in any partition."""
        buckets, rows = hits["bucket"].to_numpy(), hits["row"].to_numpy().astype(np.int64)
        found = [pa.array([], pa.string())]
        for number in np.unique(buckets).tolist():
            mine = rows[buckets == number]
            taken = taken_rows(self._storage, self._buckets[number], [KEY], mine)
            found += [] if taken is None else taken[KEY].chunks
        return pa.concat_arrays(found)

    def _fresh(self, stretch: Sequence[int]) -> pa.Table:
        """Return the new rows of a stretch."""
        bucket, start, stop = stretch
        rows = read_inserts(self._storage, self._inserts[bucket], start, stop)
        return self._taken(bucket, rows)

    def _taken(self, number: int, rows: np.ndarray) -> pa.Table:
        """Return rows of one bucket by their places in it."""
        names = self._empty().column_names
        found = taken_rows(self._storage, self._buckets[number], names, rows)
        return self._empty() if found is None else found

    def _empty(self) -> pa.Table:
        """Return an empty table with the key and the table's columns."""
        fields: list[pa.Field] = [pa.field(KEY, pa.string())]
        fields += [field.with_nullable(True) for field in self._job.table_schema]
        return pa.schema(fields).empty_table()


def log_rows(rows: pa.Table, work: GroupWork, numbers: RowNumbers) -> pa.Table:
    """Return rows in the form of a log file: meta columns first, the file id as file name."""
    count = rows.num_rows
    meta = {
        MetaField.COMMIT_TIME: pa.repeat(numbers.instant, count),
        MetaField.COMMIT_SEQNO: numbers.texts(0, count),
        MetaField.RECORD_KEY: rows[KEY],
        MetaField.PARTITION_PATH: pa.repeat(work.partition_path, count),
        MetaField.FILE_NAME: pa.repeat(work.file_id, count),
    }
    data = {name: rows[name] for name in rows.column_names if name != KEY}
    return pa.table({name.value: column for name, column in meta.items()} | data)


def _status(work: GroupWork, staged: str, made: _Written) -> FileStatus:
    return FileStatus(
        number=work.number,
        file_id=work.file_id,
        name=work.name,
        partition_path=work.partition_path,
        staged=staged,
        size=len(made.data),
        rows=made.rows,
        min_key=made.bounds[0],
        max_key=made.bounds[1],
        previous=work.previous,
        inserts=len(made.fresh),
        updates=made.updates,
        deletes=made.deletes,
        base_name=work.base_name,
        null_keys=made.null_keys,
    )
