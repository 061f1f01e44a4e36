"""The bootstrap index: tasks write the blocks of some partitions, the driver joins them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from framework.engine.bootstrap.begin import Begun
from framework.engine.bootstrap.job import source_uri
from framework.engine.run.state import RunState
from framework.engine.tasks import Tasks, decode, encode
from framework.hudi.bootstrap.index import IndexPart, IndexWriter, part_starts, write_index_part
from framework.hudi.bootstrap.index_values import FileMapping, IndexGroup
from framework.hudi.commit.created import created_same
from framework.hudi.commit.fenced import FencedStorage
from framework.hudi.commit.intent import Transaction
from framework.hudi.commit.links import by_partition
from framework.hudi.commit.segments import SegmentRef, merge_segments
from framework.hudi.commit.statuses import WrittenFiles
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage, uploads_of
from framework.hudi.table import layout
from framework.plan.partitions import PartitionPlan
from framework.plan.stages import Index
from framework.vocabulary import BootstrapMode

__all__ = [
    "IndexTask",
    "PlacedPart",
    "StagedIndex",
    "index_parts",
    "index_ranges",
    "index_task",
    "write_index_files",
]

_NS_PER_MS: Final = 1_000_000
_COLUMNS: Final = ("file_id", "source_path", "source_size", "source_mtime_ns")
_FILES_PER_TASK: Final = 5_000
"""Half a second of a core; a task holds the mappings of its partitions, about 1 KB each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTask:
    """Some partitions to index.

    Attributes:
        table: location of the storage to read from and write to.
        fence: file in it; without it the run is over.
        folder: folder in it for the blocks.
        source_uri: full URI of the source root.
        segments: statuses of the partitions' files, and maybe of others.
        start: number of the partitions' first file, inclusive.
        stop: number after their last file, exclusive.
    """

    table: str
    fence: str
    folder: str
    source_uri: str
    segments: tuple[SegmentRef, ...]
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPart:
    """A part of the index, the number of its first file, and the files with its blocks."""

    start: int
    part: IndexPart
    partitions: str
    fileids: str


class StagedIndex(NamedTuple):
    """Paths of the index files, in the run's folder or in their place."""

    partitions: str
    fileids: str


def write_index_files(
    run: RunState, begun: Begun, written: WrittenFiles, stage: Index | None
) -> StagedIndex | None:
    """Write both files of the bootstrap index into the run's folder; None without a stage.

    On a store without moves, under their names.

    One round of tasks; a small index is written here.
    """
    if stage is None:
        return None
    ctx, index = run.ctx, _staged_index(begun.transaction)
    with run.stage(stage) as report:
        parts = index_parts(ctx.tasks, _tasks(run, begun.transaction, written.segments))
        named = index.partitions == layout.BOOTSTRAP_PARTITIONS_INDEX
        if not named:
            ctx.storage.delete(*index)
        with ExitStack() as stack:
            opened = (stack.enter_context(created_same(ctx.storage, path)) for path in index)
            writer = IndexWriter(*opened)
            for each in parts:
                _add(ctx.storage, writer, each)
            # two runs on the same source make the same bytes where nothing can be replaced
            created_ms = 0 if named else ctx.clock.now_ms()
            writer.finish(base_uri=source_uri(ctx.plan), created_ms=created_ms)
        report.summary = f"{stage.partitions:,} partitions"
    return index


def index_parts(tasks: Tasks, work: Sequence[IndexTask]) -> list[PlacedPart]:
    """Run the tasks, a single one in this process; return their parts in the order of files."""
    descriptors = [encode(each) for each in work]
    alone = len(descriptors) == 1
    found = map(index_task, descriptors) if alone else tasks.run(index_task, descriptors)
    return sorted((decode(PlacedPart, each) for each in found), key=lambda part: part.start)


def index_ranges(
    partitions: Sequence[PartitionPlan], files_per_task: int = _FILES_PER_TASK
) -> list[tuple[int, int]]:
    """Return ranges of file numbers, each of whole partitions that can be one part of the index.

    Partitions that are not `metadata_only` are in no range, or within one.
    """
    indexed = [each for each in partitions if each.mode is BootstrapMode.METADATA_ONLY]
    starts = part_starts(each.partition_path for each in indexed)
    ranges: list[tuple[int, int]] = []
    files = files_per_task
    for each, (_, may_start) in zip(indexed, starts, strict=True):
        if files >= files_per_task and may_start:
            ranges.append((each.first, each.stop))
            files = 0
        else:
            ranges[-1] = (ranges[-1][0], each.stop)
        files += each.files
    return ranges


def index_task(descriptor: str) -> str:
    """Write the blocks of an `IndexTask`; return the `PlacedPart` as JSON.

    Raises:
        CommitConflictError: `commit/fenced`.
        CorruptFileError: `commit/corrupt-segment`.
    """
    task = decode(IndexTask, descriptor)
    storage = FencedStorage(open_storage(task.table), task.fence)
    stem = layout.join(task.folder, f"index-{uuid4().hex}")
    paths = (f"{stem}.partitions", f"{stem}.fileids")
    with ExitStack() as stack:
        outs = [stack.enter_context(storage.create(path, durable=False)) for path in paths]
        part = write_index_part(outs[0], outs[1], _groups(storage, task))
    return encode(PlacedPart(start=task.start, part=part, partitions=paths[0], fileids=paths[1]))


def _tasks(
    run: RunState, transaction: Transaction, segments: Sequence[SegmentRef]
) -> Sequence[IndexTask]:
    """Return the tasks of an index; each gets the segments that overlap its range."""
    staging = transaction.intent.staging
    return [
        IndexTask(
            table=transaction.storage.location,
            fence=staging.begin,
            folder=staging.segments,
            source_uri=source_uri(run.ctx.plan),
            segments=tuple(each for each in segments if each.first < stop and each.last >= start),
            start=start,
            stop=stop,
        )
        for start, stop in index_ranges(run.ctx.plan.partitions)
    ]


def _add(storage: Storage, writer: IndexWriter, placed: PlacedPart) -> None:
    """Copy a part into the index and delete its files."""
    with (
        storage.open_input(placed.partitions) as partitions,
        storage.open_input(placed.fileids) as fileids,
    ):
        writer.add(placed.part, partitions, fileids)
    storage.delete(placed.partitions, placed.fileids)


def _groups(storage: Storage, task: IndexTask) -> Iterator[IndexGroup]:
    """Yield the partitions of a task that have skeletons."""
    batches = (_within(each, task) for each in merge_segments(storage, task.segments))
    for partition, parts in by_partition(batches):
        files = [file for batch in parts for file in _mappings(batch, task.source_uri)]
        if files:
            yield IndexGroup(partition_path=partition, source_partition=partition, files=files)


def _within(batch: pa.RecordBatch, task: IndexTask) -> pa.RecordBatch:
    """Return the statuses of a task's skeletons; other tasks index the rest."""
    number = batch["number"]
    mine = pc.and_(pc.greater_equal(number, task.start), pc.less(number, task.stop))
    return batch.filter(pc.and_(mine, pc.equal(batch["mode"], BootstrapMode.METADATA_ONLY.value)))


def _mappings(batch: pa.RecordBatch, source_uri: str) -> Iterator[FileMapping]:
    """Yield the skeletons of a batch of statuses."""
    columns = (batch[name].to_pylist() for name in _COLUMNS)
    for file_id, path, size, mtime_ns in zip(*columns, strict=True):
        yield FileMapping(
            file_id=file_id,
            uri=f"{source_uri}/{path}",
            size=size,
            mtime_ms=mtime_ns // _NS_PER_MS,
        )


def _staged_index(transaction: Transaction) -> StagedIndex:
    """Return where the index is written; on a store without moves that is its place."""
    if uploads_of(transaction.storage) is not None:
        return StagedIndex(layout.BOOTSTRAP_PARTITIONS_INDEX, layout.BOOTSTRAP_FILEIDS_INDEX)
    folder = layout.join(transaction.intent.staging.root, "index")
    return StagedIndex(
        layout.join(folder, "partitions.hfile"), layout.join(folder, "fileids.hfile")
    )
