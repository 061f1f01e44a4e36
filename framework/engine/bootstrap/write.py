"""Writing the base files of a bootstrap: shared among tasks, journaled as statuses arrive."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from framework.engine.bootstrap.job import BootstrapJob, WorkRange, WriteTask
from framework.engine.bootstrap.packing import pack, without
from framework.engine.bootstrap.ranges import work_ranges
from framework.engine.bootstrap.screen import with_gone
from framework.engine.bootstrap.write_task import write_files_task
from framework.engine.events import Progress, silent
from framework.engine.tasks import LimitedTasks, decode, encode
from framework.hudi.commit.files import WrittenFiles, written_files
from framework.hudi.commit.journal import Journal
from framework.hudi.commit.segments import SegmentRef, merge_segments
from framework.hudi.storage.locations import open_storage
from framework.vocabulary import BootstrapMode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.engine.audit.screen import Screened
    from framework.engine.bootstrap.begin import Begun
    from framework.engine.events import Events
    from framework.engine.run.state import RunState
    from framework.engine.tasks import Tasks
    from framework.plan.stages import FullRecords, Skeletons

__all__ = ["Ledger", "write_base_files", "write_files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What is known to be written, and what is called with more.

    Attributes:
        journal: is called once for each segment, after its files are durable.
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
        job: what the tasks are given.
        ranges: which files, ascending and apart.
        ledger: what is done, and what records more.
        events: receives progress, as stage `full_records` where all ranges are full, else as
            `skeletons`.

    Returns:
        The files of the ledger and the new ones.

    Raises:
        SourceDriftError, CorruptFileError, StorageError: as of `write_files_task`.
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
    """Return the stage's name."""
    full = all(each.mode is BootstrapMode.FULL_RECORD for each in ranges)
    return "full_records" if full and ranges else "skeletons"


def _numbers(job: BootstrapJob, segments: Sequence[SegmentRef]) -> np.ndarray:
    """Return the numbers of the files in the segments, ascending."""
    batches = merge_segments(open_storage(job.table), segments)
    return np.concatenate([np.empty(0, np.int64), *(b["number"].to_numpy() for b in batches)])


def write_base_files(
    run: RunState,
    begun: Begun,
    screened: Screened,
    written: WrittenFiles,
    stage: Skeletons | FullRecords | None,
) -> WrittenFiles:
    """Write the files of a stage's partitions that have none yet.

    Returns:
        The files that were written before, with those of the stage; just these without a stage.
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
