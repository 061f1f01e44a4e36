"""The steps of a bootstrap that write base files, in tasks whose statuses are journaled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Final
from uuid import uuid4

import numpy as np
import pyarrow as pa

from framework.engine.audit.screen import Screened, excluded_rows
from framework.engine.audit.spill import SpillWriter, partition_mix
from framework.engine.bootstrap.begin import Begun
from framework.engine.bootstrap.job import (
    BootstrapJob,
    WorkRange,
    WriteTask,
    pack,
    without,
    work_ranges,
)
from framework.engine.bootstrap.screen import with_gone
from framework.engine.events import Events, Progress, silent
from framework.engine.run.durable_files import FileStore
from framework.engine.run.state import RunState
from framework.engine.tasks import LimitedTasks, Tasks, decode, encode
from framework.hudi.bootstrap import skeleton
from framework.hudi.bootstrap.discovery import check_folder_values
from framework.hudi.bootstrap.inventory import InventoryFile, read_files
from framework.hudi.bootstrap.skeleton import write_full_record
from framework.hudi.bootstrap.source_file import SourceReader, open_source
from framework.hudi.bootstrap.source_schema import decode_schema
from framework.hudi.commit.fenced import FencedStorage
from framework.hudi.commit.segments import Journal, SegmentRef, merge_segments, write_segment
from framework.hudi.commit.statuses import SourceFileStatus, Statuses, WrittenFiles, written_files
from framework.hudi.commit.task_files import NewName, TaskFiles
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.overlap import overlapped
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.hudi.table.partition_path import partition_values
from framework.plan.stages import FullRecords, Skeletons
from framework.vocabulary import BootstrapMode, KeyScope

__all__ = ["Ledger", "write_base_files", "write_files", "write_files_task"]

_ANNOUNCED: Final = 2048
"""Files whose names a task records at once."""


def write_base_files(
    run: RunState,
    begun: Begun,
    screened: Screened,
    written: WrittenFiles,
    stage: Skeletons | FullRecords | None,
) -> WrittenFiles:
    """Write the base files that a stage's partitions still lack.

    Returns:
        The files that were written before and those of the stage; without a stage only the former.
    """
    if stage is None:
        return written
    ctx, target, before = run.ctx, run.ctx.plan.target, written
    journal = Journal(ctx.storage, begun.intent.staging)
    tasks = LimitedTasks(ctx.tasks, target.parallelism or ctx.tasks.parallelism)
    size = target.partitions_per_batch or len(stage.plans)
    with run.stage(stage) as report:
        for start in range(0, len(stage.plans), size):
            ranges = work_ranges(stage.plans[start : start + size])
            written = write_files(
                tasks,
                begun.job,
                list(with_gone(ranges, screened.gone)),
                Ledger(journal=lambda ref: journal.append(asdict(ref)), done=written.segments),
                events=ctx.events,
            )
        files = written.files - before.files
        report.summary = f"{files:,} files, {written.bytes - before.bytes:,} bytes"
    return written


def write_files_task(descriptor: str) -> str:
    """Write the files of a `WriteTask`; return the `SegmentRef` of their statuses as JSON.

    Raises:
        SourceDriftError: a source file is not the one in the inventory.
        CorruptFileError: a source file cannot be read, or a written file does not read back.
        CommitConflictError: `commit/fenced`; the run is over, and nothing of this attempt remains.
        StorageError: see `Storage.create`.
    """
    task = decode(WriteTask, descriptor)
    job = task.job
    table = _fenced(job)
    segment = join(job.segments, f"{uuid4().hex}.arrow")
    with ExitStack() as stack:
        spill = SpillWriter(stack.enter_context(table.create(f"{segment}.spill")), job.bits)
        store = stack.enter_context(FileStore(table))
        worker = _Worker(job, store, spill)
        for each in task.ranges:
            worker.write(each)
        spill.finish()
    return encode(write_segment(table, segment, worker.statuses()))


def _fenced(job: BootstrapJob) -> Storage:
    """Return the table's storage, which rejects new files once the run is over."""
    table = open_storage(job.table)
    return FencedStorage(table, job.fence) if job.fence else table


class _Worker:
    """Writes one file after the other and collects their statuses."""

    def __init__(self, job: BootstrapJob, store: FileStore, spill: SpillWriter) -> None:
        self._job = job
        self._store = store
        self._table = open_storage(job.table)
        self._spill = spill
        keys = job.keys
        self._source = open_storage(keys.source)
        self._handle = keys.inventory
        self._rule = keys.rule
        self._key_schema = decode_schema(keys.key_schema)
        self._schema = decode_schema(job.schema)
        self._bloom = job.bloom
        self._mixed = self._rule.scope is KeyScope.PARTITION
        self._files = TaskFiles(store.storage, job.attempts, job.instant)
        self._statuses = Statuses()

    def write(self, work: WorkRange) -> None:
        """Write the files of a range."""
        mode, gone = work.mode, excluded_rows(self._table, work.gone)

        def made_of(
            file: InventoryFile,
        ) -> tuple[InventoryFile, skeleton.BaseFileTarget, skeleton.WrittenBaseFile]:
            """Make the base file of a source file; on any thread."""
            target = self._target(file, mode)
            with open_source(self._source, file.fingerprint) as reader:
                check_folder_values(reader, self._schema, target.values, file.partition_path)
                return file, target, self._made(reader, target, mode, gone)

        files = self._announced(read_files(self._handle, work.start, work.stop), mode)
        for file, target, made in overlapped(self._source, made_of, files, size=_source_bytes):
            self._note(file, mode, target, made)
            hashes = made.hashes
            if self._mixed:
                hashes = hashes ^ np.uint64(partition_mix(file.partition_path))
            self._spill.add(file.number, hashes)

    def _announced(
        self, files: Iterator[InventoryFile], mode: BootstrapMode
    ) -> Iterator[InventoryFile]:
        """Yield the files, recording many at a time before, on stores that need it."""
        while batch := list(islice(files, _ANNOUNCED)):
            targets = (self._target(each, mode) for each in batch)
            self._files.announce(NewName(each.partition_path, each.name) for each in targets)
            yield from batch

    def statuses(self) -> pa.Table:
        """Store all files; return their statuses."""
        return self._statuses.table(self._store.checksums())

    def _target(self, file: InventoryFile, mode: BootstrapMode) -> skeleton.BaseFileTarget:
        """Return the base file to write for a source file."""
        identity = skeleton.file_id(file.fingerprint.path, mode)
        rule = self._rule
        return skeleton.BaseFileTarget(
            instant=self._job.instant,
            number=file.number,
            partition_path=file.partition_path,
            file_id=identity,
            name=skeleton.base_file_name(identity, file.number, self._job.instant),
            rule=rule,
            values=partition_values(file.partition_path, rule.partition, rule.layout),
            key_schema=self._key_schema,
            bloom=self._bloom,
        )

    def _made(
        self,
        reader: SourceReader,
        target: skeleton.BaseFileTarget,
        mode: BootstrapMode,
        gone: np.ndarray,
    ) -> skeleton.WrittenBaseFile:
        if mode is BootstrapMode.METADATA_ONLY:
            return skeleton.write_skeleton(reader, target)
        return write_full_record(reader, target, self._schema, self._job.avro_schema, gone=gone)

    def _note(
        self,
        file: InventoryFile,
        mode: BootstrapMode,
        target: skeleton.BaseFileTarget,
        made: skeleton.WrittenBaseFile,
    ) -> None:
        """Store the file and record its status; its checksum is known later."""
        staged = self._files.path(target.partition_path, target.name)
        self._store.put(staged, made.data)
        status = SourceFileStatus.of(file, mode, made.facts)
        size = len(made.data)
        self._statuses.add(
            replace(status, file_id=target.file_id, name=target.name, staged=staged, size=size)
        )


def _source_bytes(file: InventoryFile) -> int:
    return file.fingerprint.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The segments that are already written, and the journal of new ones.

    Attributes:
        journal: called once per segment, after its files are durable.
        done: usable segments of an earlier run of the same job (`usable_segments`).
    """

    journal: Callable[[SegmentRef], None]
    done: Sequence[SegmentRef] = ()


def write_files(
    tasks: Tasks,
    job: BootstrapJob,
    ranges: Sequence[WorkRange],
    ledger: Ledger,
    *,
    events: Events = silent,
) -> WrittenFiles:
    """Write a base file for each file of the ranges that has none yet.

    Args:
        tasks: run the work.
        job: what the tasks get.
        ranges: the files, ascending and disjoint.
        ledger: what is done, and the journal of more.
        events: receives progress, as stage `full_records` if all ranges are full, else as
            `skeletons`.

    Returns:
        The files of the ledger and the new ones.

    Raises:
        SourceDriftError, CorruptFileError, StorageError: see `write_files_task`.
    """
    stage = _stage(ranges)
    done = list(ledger.done)
    left = without(ranges, _numbers(job, done)) if done else list(ranges)
    shares = pack(job.keys.inventory, left, tasks.parallelism)
    work = [encode(WriteTask(job=job, ranges=tuple(share))) for share in shares]
    for status in tasks.run(write_files_task, work):
        segment = decode(SegmentRef, status)
        ledger.journal(segment)
        done.append(segment)
        events(Progress(stage=stage, files=segment.files, rows=segment.rows, bytes=segment.bytes))
    return written_files(done)


def _stage(ranges: Sequence[WorkRange]) -> str:
    full = all(each.mode is BootstrapMode.FULL_RECORD for each in ranges)
    return "full_records" if full and ranges else "skeletons"


def _numbers(job: BootstrapJob, segments: Sequence[SegmentRef]) -> np.ndarray:
    """Return the numbers of the files in the segments, ascending."""
    batches = merge_segments(open_storage(job.table), segments)
    return np.concatenate([np.empty(0, np.int64), *(b["number"].to_numpy() for b in batches)])
