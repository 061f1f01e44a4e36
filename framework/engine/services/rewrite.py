"""The task that writes slices as ordinary base files: logs merged, sources of skeletons included.

A pure function of its descriptor. Rows keep their commit times and sequence numbers, so incremental
readers see nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from uuid import uuid4

import numpy as np
import pyarrow as pa

from framework.engine.load.group_rows import KEPT_META, Changes, NewFile, base_bytes, combined
from framework.engine.load.input_rows import KEY
from framework.engine.reading.slice_rows import SliceFiles, SliceTable, slice_rows
from framework.engine.run.durable_files import FileStore
from framework.engine.tasks import Tasks, decode, encode, shared
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.bootstrap.seqno_pages import RowNumbers
from framework.hudi.bootstrap.source_schema import decode_schema
from framework.hudi.commit.fenced import FencedStorage
from framework.hudi.commit.segments import SegmentRef, write_segment
from framework.hudi.commit.statuses import FileStatus, Statuses, WrittenFiles, written_files
from framework.hudi.commit.task_files import NewName, TaskFiles
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.hudi.table.partition_path import PartitionField, partition_values
from framework.vocabulary import SourceLayout

__all__ = [
    "LEAST_BYTES",
    "OutputFile",
    "RewriteJob",
    "SliceWork",
    "SlicesWritten",
    "put_rows",
    "rewrite_slices",
    "rewrite_task",
    "rows_to_keep",
    "stored_files",
]

LEAST_BYTES: Final = 4 << 20
"""Bytes that are worth a task of their own, as for loads."""


@dataclass(frozen=True, kw_only=True)
class RewriteJob:
    """What every task of one service gets.

    Attributes:
        table: location of the storage to write to.
        attempts: folder in it where each attempt of a task makes its own.
        folder: folder in it for files that tasks exchange.
        fence: file in it; without it the run is over.
        instant: requested time of the commit.
        schema: encoded Arrow schema of the table without meta columns.
        avro_schema: the same as Avro, with meta columns, for footers.
        bloom: the filter of each base file.
        slices: how slices are read.
        partition: partition columns in folder order.
        layout: how partition paths hold their values.
    """

    table: str
    attempts: str
    folder: str
    fence: str
    instant: str
    schema: str
    avro_schema: str
    bloom: BloomChoice
    slices: SliceTable
    partition: tuple[PartitionField, ...]
    layout: SourceLayout

    @cached_property
    def table_schema(self) -> pa.Schema:
        """The table's columns."""
        return decode_schema(self.schema)

    def storage(self) -> Storage:
        """Return the table's storage, which rejects new files once the run is over."""
        return FencedStorage(open_storage(self.table), self.fence)


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceWork:
    """One slice to write as a base file.

    Attributes:
        number: its place in the commit.
        partition_path: its partition.
        file_id: of its file group.
        name: name of the base file to write.
        previous: base instant of the slice.
        files: of the slice.
        bytes: what it costs to read.
    """

    number: int
    partition_path: str
    file_id: str
    name: str
    previous: str
    files: SliceFiles
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteTask:
    """Some slices to write."""

    job: RewriteJob
    works: tuple[SliceWork, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicesWritten:
    """The statuses of the files that a task wrote."""

    segment: SegmentRef


def rewrite_slices(tasks: Tasks, job: RewriteJob, works: Sequence[SliceWork]) -> WrittenFiles:
    """Write each slice as a base file, shared among tasks by bytes; one round of tasks.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: see `rewrite_task`.
    """
    parts = shared(works, lambda work: work.bytes, tasks.parallelism, least=LEAST_BYTES)
    descriptors = [encode(RewriteTask(job=job, works=tuple(part))) for part in parts]
    found = [decode(SlicesWritten, each) for each in tasks.run(rewrite_task, descriptors)]
    return written_files(each.segment for each in found)


def rewrite_task(descriptor: str) -> str:
    """Write the slices of a `RewriteTask`; return the `SlicesWritten` as JSON.

    Holds one slice's rows in memory.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: a slice cannot be read.
        CommitConflictError: `commit/fenced`.
    """
    task = decode(RewriteTask, descriptor)
    job = task.job

    def files(places: TaskFiles, store: FileStore) -> Iterator[FileStatus]:
        for work in task.works:
            staged = places.path(work.partition_path, work.name)
            yield _written(job, work, staged, store)

    names = [NewName(each.partition_path, each.name, each.previous) for each in task.works]
    return encode(stored_files(job, names, files))


def stored_files(
    job: RewriteJob,
    names: Iterable[NewName],
    files: Callable[[TaskFiles, FileStore], Iterable[FileStatus]],
) -> SlicesWritten:
    """Return the segment of the files that `files` puts, all of them durable.

    Args:
        job: the service's.
        names: of all files that this task may put.
        files: gets the places of files of this attempt, and the store to put files into.

    Raises:
        CommitConflictError: `commit/fenced`.
    """
    storage = job.storage()
    segment = join(job.folder, uuid4().hex)
    places = TaskFiles(storage, job.attempts, job.instant)
    statuses = Statuses()
    with FileStore(storage) as store:
        places.announce(names)
        for status in files(places, store):
            statuses.add(status)
    table = statuses.table(store.checksums())
    return SlicesWritten(segment=write_segment(storage, f"{segment}.arrow", table))


def _written(job: RewriteJob, work: SliceWork, staged: str, store: FileStore) -> FileStatus:
    """Write one slice and return the status of its file."""
    file = OutputFile(
        number=work.number,
        partition_path=work.partition_path,
        file_id=work.file_id,
        name=work.name,
        previous=work.previous,
    )
    rows = rows_to_keep(job, work.partition_path, work.files, encoded=True)
    return put_rows(job, rows, file, staged, store)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFile:
    """A base file to write.

    Attributes:
        number: its place in the commit.
        partition_path: its partition.
        file_id: of its file group.
        name: its name.
        previous: base instant of the slice before it; None in a new file group.
    """

    number: int
    partition_path: str
    file_id: str
    name: str
    previous: str | None = None


def rows_to_keep(
    job: RewriteJob, partition_path: str, files: SliceFiles, *, encoded: bool
) -> pa.Table:
    """Return the rows of a slice, with the meta columns that a new file keeps.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: see `slice_rows`.
    """
    values = partition_values(partition_path, job.partition, job.layout)
    return slice_rows(job.slices, files, values, meta=KEPT_META, encoded=encoded)


def put_rows(
    job: RewriteJob, rows: pa.Table, file: OutputFile, staged: str, store: FileStore
) -> FileStatus:
    """Store rows as they are in a base file, and return its status."""
    target = NewFile(
        name=file.name,
        partition_path=file.partition_path,
        numbers=RowNumbers(instant=job.instant, number=file.number),
    )
    found = combined(rows, _no_changes(job.table_schema), target, ordering=None)
    data, bounds = base_bytes(job, found, file.name)
    store.put(staged, data)
    return FileStatus(
        number=file.number,
        file_id=file.file_id,
        name=file.name,
        partition_path=file.partition_path,
        staged=staged,
        size=len(data),
        rows=found.rows,
        min_key=bounds[0],
        max_key=bounds[1],
        previous=file.previous,
        inserts=0,
    )


def _no_changes(schema: pa.Schema) -> Changes:
    """Return changes that leave every row as it is."""
    fields = [pa.field(KEY, pa.string()), *(each.with_nullable(True) for each in schema)]
    nothing = np.zeros(0, np.int64)
    return Changes(
        gone=nothing,
        gone_keys=pa.array([], pa.string()),
        places=nothing,
        rows=pa.schema(fields).empty_table(),
    )
