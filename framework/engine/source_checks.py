"""Checks of a plan's source before anything is written: keys proven, pages decoded.

A sound footer proves nothing about the pages, so `plan --verify=full` decodes every page of the
files that the plan adopts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final

from framework.engine.bootstrap.job import WorkRange, key_source, pack, work_ranges
from framework.engine.bootstrap.key_proof import prove_keys
from framework.engine.events import Events, Progress, StageFinished, StageStarted, silent
from framework.engine.prepare import PlanningContext
from framework.engine.tasks import Tasks, decode, encode
from framework.errors import CorruptFileError, PlanError, Where
from framework.hudi.bootstrap.inventory import InventoryHandle, read_files
from framework.hudi.bootstrap.source_file import open_source
from framework.hudi.storage.locations import open_storage
from framework.plan.definition import Plan
from framework.vocabulary import BootstrapMode

__all__ = [
    "BadFile",
    "PageShare",
    "PageTask",
    "check_pages",
    "check_pages_task",
    "prove_source",
    "verify_source",
]


def verify_source(plan: Plan, planning: PlanningContext) -> int:
    """Decode every page of the files that a plan adopts, and return their number.

    Reads those files whole, once, in tasks; writes nothing. 0 for a plan without files.

    Raises:
        CorruptFileError, SourceDriftError, StorageError: see `check_pages`.
    """
    if plan.inventory is None or plan.source is None or not plan.taken.files:
        return 0
    taken, begun = plan.taken, perf_counter()
    planning.events(StageStarted(stage="pages", files=taken.files, rows=taken.rows))
    found = check_pages(
        planning.tasks,
        plan.source,
        plan.inventory,
        work_ranges(plan.partitions),
        events=planning.events,
    )
    summary = f"{found.files:,} files, {found.bytes:,} bytes read"
    planning.events(StageFinished(stage="pages", seconds=perf_counter() - begun, summary=summary))
    return found.files


def prove_source(plan: Plan, planning: PlanningContext) -> dict[str, object]:
    """Return the proof that the keys that a plan adopts are unique and not null.

    Reads the key columns of every adopted file; writes only to the scratch folder.

    Raises:
        PlanError: the plan has no source to read (`plan/nothing-to-prove`).
        AuditFailedError: `audit/duplicate-keys`, `audit/null-keys`.
    """
    if plan.inventory is None or plan.source is None:
        raise PlanError(
            "plan/nothing-to-prove",
            "the table exists: its keys were proven when it was created",
            where=Where(table=plan.target.location),
            remedy="`run-pipeline history` shows the proof.",
        )
    keys = key_source(plan.source, plan.inventory, plan.target.key_rule, plan.schema)
    work = str(planning.scratch / "proof")
    return prove_keys(
        planning.tasks, keys, work_ranges(plan.partitions), work, events=planning.events
    )


_NAMED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTask:
    """Files whose pages one task decodes.

    Attributes:
        source: location of the source root.
        inventory: the source's.
        ranges: ascending.
    """

    source: str
    inventory: InventoryHandle
    ranges: tuple[WorkRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BadFile:
    """A file that cannot be read: its path below the source root, and the fault."""

    path: str
    condition: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageShare:
    """The result of a task: counts of files, rows and bytes, and the bad files, in order."""

    files: int
    rows: int
    bytes: int
    bad: tuple[BadFile, ...] = ()


def check_pages(
    tasks: Tasks,
    source: str,
    handle: InventoryHandle,
    ranges: Sequence[WorkRange],
    *,
    events: Events = silent,
) -> PageShare:
    """Decode all columns of these files, and compare the checksums that their pages have.

    Reads every byte of the files once, in tasks; each holds a batch of one file. Writes nothing.
    A flipped bit in a page without a checksum is found only if the page then does not decode.

    Args:
        tasks: read the files.
        source: location of the source root.
        handle: the inventory.
        ranges: the files in it.
        events: receives progress, as stage `pages`.

    Returns:
        Counts of all files; none of them is bad.

    Raises:
        CorruptFileError: `source/corrupt-data`, or as `SourceReader.batches` raises; of the
            first bad file in order, with the names of the others, twenty at most.
        SourceDriftError: a source file is not the one in the inventory.
        StorageError: a file cannot be read.
    """
    whole = [replace(each, mode=BootstrapMode.FULL_RECORD) for each in ranges]
    work = [
        encode(PageTask(source=source, inventory=handle, ranges=tuple(share)))
        for share in pack(handle, whole, tasks.parallelism)
    ]
    shares = []
    for status in tasks.run(check_pages_task, work):
        share = decode(PageShare, status)
        shares.append(share)
        events(Progress(stage="pages", files=share.files, rows=share.rows, bytes=share.bytes))
    bad = sorted((each for share in shares for each in share.bad), key=_path)
    if bad:
        raise _error(source, bad)
    return PageShare(
        files=sum(share.files for share in shares),
        rows=sum(share.rows for share in shares),
        bytes=sum(share.bytes for share in shares),
    )


def check_pages_task(descriptor: str) -> str:
    """Decode the files of a `PageTask`; return a `PageShare` as JSON.

    Raises:
        SourceDriftError: a source file is not the one in the inventory.
        StorageError: a file cannot be read.
    """
    task = decode(PageTask, descriptor)
    storage, handle = open_storage(task.source), task.inventory
    files = rows = size = 0
    bad: list[BadFile] = []
    for each in task.ranges:
        for file in read_files(handle, each.start, each.stop):
            found = file.fingerprint
            files, rows, size = files + 1, rows + found.rows, size + found.size
            try:
                with open_source(storage, found) as reader:
                    reader.check_pages()
            except CorruptFileError as error:
                fault = BadFile(
                    path=found.path,
                    condition=error.condition,
                    message=error.message,
                    remedy=error.remedy,
                )
                bad.append(fault)
    return encode(PageShare(files=files, rows=rows, bytes=size, bad=tuple(bad)))


def _path(file: BadFile) -> str:
    return file.path


def _error(source: str, bad: Sequence[BadFile]) -> CorruptFileError:
    """Return the error for the first file, with the names of the others."""
    first, others = bad[0], bad[1:]
    lines = [f"\n  also {each.path}: {each.message}" for each in others[: _NAMED - 1]]
    left = len(bad) - _NAMED
    lines += [f"\n  and {left:,} more files"] if left > 0 else []
    return CorruptFileError(
        first.condition,
        first.message + "".join(lines),
        where=Where(file=f"{source}/{first.path}"),
        remedy=first.remedy,
    )
