"""The last look at the source before the commit: each file has the size and time it had."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from framework.engine.audit.keys import KeySource
from framework.engine.bootstrap.job import WorkRange
from framework.engine.tasks import decode, encode
from framework.hudi.bootstrap.inventory import read_files
from framework.hudi.bootstrap.source_file import check_unchanged
from framework.hudi.storage.locations import open_storage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.engine.tasks import Tasks

__all__ = ["DriftTask", "check_drift", "drift_task"]

_FILES_PER_TASK: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftTask:
    """Some files to look at; fields of a `KeySource` and of `WorkRange`s."""

    keys: dict[str, Any]
    ranges: list[dict[str, Any]]


def check_drift(tasks: Tasks, keys: KeySource, ranges: Sequence[WorkRange]) -> None:
    """Compare size and modification time of each file of the ranges with the inventory.

    Costs one look per file; a few thousand files are looked at here, more of them in tasks.

    Raises:
        SourceDriftError: `source/drift`; the first file that is found to differ.
    """
    work = [
        encode(DriftTask(keys=asdict(keys), ranges=[asdict(each) for each in part]))
        for part in _parts(ranges)
    ]
    if len(work) == 1:
        drift_task(work[0])
        return
    for _ in tasks.run(drift_task, work):
        pass


def drift_task(descriptor: str) -> str:
    """Look at the files of a `DriftTask`; return an empty text.

    Raises:
        SourceDriftError: `source/drift`.
    """
    task = decode(DriftTask, descriptor)
    keys = KeySource(**task.keys)
    source = open_storage(keys.source)
    for fields in task.ranges:
        each = WorkRange(**fields)
        for file in read_files(keys.handle, each.start, each.stop):
            check_unchanged(source, file.fingerprint)
    return ""


def _parts(ranges: Sequence[WorkRange]) -> Iterator[list[WorkRange]]:
    """Yield the ranges cut and gathered into parts of at most a task's files."""
    part: list[WorkRange] = []
    room = _FILES_PER_TASK
    for each in ranges:
        start = each.start
        while start < each.stop:
            stop = min(each.stop, start + room)
            part.append(WorkRange(start=start, stop=stop, kind=each.kind))
            room -= stop - start
            start = stop
            if not room:
                yield part
                part, room = [], _FILES_PER_TASK
    if part:
        yield part
