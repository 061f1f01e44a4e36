"""The last look at the source before the commit: each file has the size and time it had."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from framework.engine.audit.keys import KeySource  # noqa: TC001  the codec reads the types of fields
from framework.engine.bootstrap.job import WorkRange  # noqa: TC001  likewise
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
    """Some files to look at."""

    keys: KeySource
    ranges: tuple[WorkRange, ...]


def check_drift(tasks: Tasks, keys: KeySource, ranges: Sequence[WorkRange]) -> None:
    """Compare size and modification time of each file of the ranges with the inventory.

    Costs one look per file; a few thousand files are looked at here, more of them in tasks.

    Raises:
        SourceDriftError: `source/drift`; the first file that is found to differ.
    """
    work = [encode(DriftTask(keys=keys, ranges=tuple(part))) for part in _parts(ranges)]
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
    source = open_storage(task.keys.source)
    for each in task.ranges:
        for file in read_files(task.keys.inventory, each.start, each.stop):
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
            part.append(replace(each, start=start, stop=stop))
            room -= stop - start
            start = stop
            if not room:
                yield part
                part, room = [], _FILES_PER_TASK
    if part:
        yield part
