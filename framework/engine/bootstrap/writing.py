"""Writing all base files of a bootstrap: shared among tasks, journaled as statuses arrive."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from framework.engine.bootstrap.job import BootstrapJob, WorkRange, WriteTask
from framework.engine.bootstrap.packing import pack, without
from framework.engine.bootstrap.write_task import write_files_task
from framework.engine.events import Progress, silent
from framework.engine.tasks import decode, encode
from framework.hudi.commit.files import WrittenFiles, written_files
from framework.hudi.commit.segments import SegmentRef, merge_segments
from framework.hudi.storage.opening import open_storage
from framework.vocabulary import FileKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.engine.events import Events
    from framework.engine.tasks import Tasks

__all__ = ["Ledger", "write_files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What is known to be written, and who is told of more.

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
        tasks: carries the work.
        job: what the tasks are told.
        ranges: which files, ascending and apart.
        ledger: what is done, and who is told.
        events: hears of progress, as stage `full_records` where all ranges are full, else as
            `skeletons`.

    Returns:
        The files of the ledger and the new ones.

    Raises:
        SourceDriftError, CorruptFileError, StorageError: as of `write_files_task`.
    """
    stage = _stage(ranges)
    done = list(ledger.done)
    left = without(ranges, _numbers(job, done)) if done else list(ranges)
    shares = pack(job.key_source.handle, left, tasks.parallelism)
    fields = asdict(job)
    work = [encode(WriteTask(job=fields, ranges=[asdict(r) for r in share])) for share in shares]
    for status in tasks.run(write_files_task, work):
        segment = decode(SegmentRef, status)
        ledger.journal(segment)
        done.append(segment)
        events(Progress(stage=stage, files=segment.files, rows=segment.rows, bytes=segment.bytes))
    return written_files(done)


def _stage(ranges: Sequence[WorkRange]) -> str:
    """Return the stage's name."""
    full = all(each.kind == FileKind.FULL for each in ranges)
    return "full_records" if full and ranges else "skeletons"


def _numbers(job: BootstrapJob, segments: Sequence[SegmentRef]) -> np.ndarray:
    """Return the numbers of the files in the segments, ascending."""
    batches = merge_segments(open_storage(job.table), segments)
    return np.concatenate([np.empty(0, np.int64), *(b["number"].to_numpy() for b in batches)])
