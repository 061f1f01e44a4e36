"""The step of a load that writes the file groups that change or are new, split among tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from framework.engine.audit.account import Account
from framework.engine.events import Events, Progress, silent
from framework.engine.load.assignment import GroupShare, Sizing, assign
from framework.engine.load.group_task import GroupsWritten, GroupTask, GroupWork, group_task
from framework.engine.load.job import LoadJob, Pinned, WrittenLoad
from framework.engine.load.tag import Compared
from framework.engine.reading.views import asked
from framework.engine.run.inspection import Intake
from framework.engine.run.state import RunState
from framework.engine.tasks import LimitedTasks, Tasks, decode, encode, shared
from framework.hudi.commit.statuses import written_files
from framework.hudi.commit.task_files import log_token
from framework.hudi.filegroup.slices import FileGroupId, FileSlice, LogFileName
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.facts import planned_groups, requested_compaction
from framework.plan.stages import WriteRows
from framework.plan.words import count_text
from framework.vocabulary import TableType, WriteOperation

__all__ = ["group_works", "write_groups", "write_rows"]

_STAGE: Final = "write"
_BYTES_PER_TASK: Final = 4 << 20


def write_rows(run: RunState, pinned: Pinned, compared: Compared, stage: WriteRows) -> WrittenLoad:
    """Write every file group that changes or is new.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: see `group_task`.
    """
    ctx = run.ctx
    grows = stage.operation is not WriteOperation.BULK_INSERT
    sizing = Sizing(
        target_bytes=stage.target_file_size,
        small_bytes=stage.small_file_limit if grows else 0,
        row_bytes=pinned.row_bytes,
        appends=ctx.plan.target.table_type is TableType.MERGE_ON_READ,
    )
    with run.stage(stage) as report:
        timelines = (pinned.job.slices.timeline, load_timeline(ctx.storage))
        planned = planned_groups(ctx.storage, timelines)
        works = list(group_works(pinned.job, compared, sizing, planned))
        tasks = LimitedTasks(ctx.tasks, stage.parallelism or ctx.tasks.parallelism)
        written = write_groups(tasks, pinned.job, compared, works, sizing, events=ctx.events)
        files = written_files(each.segment for each in written)
        report.summary = f"{count_text(files.files, 'file')}, {files.bytes:,} bytes" + _rewritten(
            sum(each.patched for each in written), sum(each.whole for each in written)
        )
    return WrittenLoad(
        files=files,
        schema=pinned.schema,
        intake=Intake(rows=pinned.rows, screened=pinned.screened),
        account=_account(compared, dict(_rows_before(compared, works))),
        overwritten=frozenset(compared.inserts),
        plans=_plans(works, planned),
    )


def write_groups(  # noqa: PLR0913  the results of earlier steps
    tasks: Tasks,
    job: LoadJob,
    compared: Compared,
    works: Sequence[GroupWork],
    sizing: Sizing,
    *,
    events: Events = silent,
) -> list[GroupsWritten]:
    """Write groups (`group_works`), at most `tasks.parallelism` at a time; one round of tasks.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: see `group_task`.
    """
    facts = compared.tagged.facts

    def cost(work: GroupWork) -> float:
        rows = sum(stop - start for _, start, stop in work.inserts)
        return rows * sizing.row_bytes + (facts[work.tagged].bytes if work.slice else 0)

    descriptors = [
        encode(
            GroupTask(
                job=job,
                buckets=compared.buckets,
                inserts=tuple(each.path for each in compared.classified),
                groups=tuple(part),
            )
        )
        for part in shared(works, cost, tasks.parallelism, least=_BYTES_PER_TASK)
    ]
    written = []
    for status in tasks.run(group_task, descriptors):
        written.append(decode(GroupsWritten, status))
        part = written[-1].segment
        events(Progress(stage=_STAGE, files=part.files, rows=part.rows, bytes=part.bytes))
    return written


def group_works(
    job: LoadJob,
    compared: Compared,
    sizing: Sizing,
    planned: Mapping[FileGroupId, str] = MappingProxyType({}),
) -> Iterator[GroupWork]:
    """Yield the groups to write, numbered, with the partitions in the order of their bytes.

    Args:
        job: what tasks get.
        compared: the input, compared with the table.
        sizing: the sizes of files.
        planned: the instant of the pending compaction of each group that has one.
    """
    new: Counter[str] = Counter()
    for number, share in enumerate(assign(compared.tagged.facts, compared.inserts, sizing)):
        if share.slice is not None:
            found = compared.tagged.slices[share.slice]
            start = max(planned.get(found.group, ""), found.base_instant)
            yield _existing(job, compared, share, number=number, start=start)
            continue
        path = share.partition_path
        new[path] += 1
        file_id = job.new_file_id(path, new[path])
        yield GroupWork(
            number=number,
            partition_path=path,
            file_id=file_id,
            name=job.base_name(file_id, number),
            inserts=tuple(share.inserts),
        )


def _existing(
    job: LoadJob, compared: Compared, share: GroupShare, *, number: int, start: str
) -> GroupWork:
    """Return the work on an existing group: a new base file, or a log file.

    A log file is of the slice that starts at `start`: the latest, or that of a pending compaction.
    """
    tagged = share.slice or 0
    found = compared.tagged.slices[tagged]
    appends = share.appends
    file_id = found.group.file_id
    return GroupWork(
        number=number,
        partition_path=share.partition_path,
        file_id=file_id,
        name=_log_name(job, found, number, start) if appends else job.base_name(file_id, number),
        slice=asked(found, by_address=job.view is not None),
        tagged=tagged,
        previous=start if appends else found.base_instant,
        base_name=_base_of(found, start) if appends else None,
        hits=compared.tagged.hits[tagged],
        inserts=tuple(share.inserts),
    )


def _log_name(job: LoadJob, found: FileSlice, number: int, start: str) -> str:
    """Return the name of the next log file of the slice that starts at an instant."""
    logs = [log.name for log in found.logs if log.name.base_instant == start]
    versions: Sequence[int] = [name.version for name in logs]
    return str(
        LogFileName(
            file_id=found.group.file_id,
            base_instant=start,
            version=1 + max(versions, default=0),
            write_token=log_token(open_storage(job.table), number, job.instant),
        )
    )


def _base_of(found: FileSlice, start: str) -> str:
    """Return the name of the base file of the slice that starts at an instant; "" without one."""
    return str(found.base.name) if found.base and found.base_instant == start else ""


def _plans(works: Iterable[GroupWork], planned: Mapping[FileGroupId, str]) -> tuple[str, ...]:
    """Return the paths of the pending compactions whose slices get log files."""
    groups = (FileGroupId(work.partition_path, work.file_id) for work in works)
    times = {planned[each] for each in groups if each in planned}
    return tuple(requested_compaction(each).path for each in sorted(times))


def _rewritten(patched: int, whole: int) -> str:
    """Return `; 3 patched, 1 written whole`, of base files that had a previous one."""
    return f"; {patched:,} patched, {whole:,} written whole" if patched or whole else ""


def _account(compared: Compared, before: dict[int, int]) -> Account:
    """Return the outcome of each input row; `before` is from `_rows_before`."""
    classified = compared.classified
    return Account(
        input=compared.input_rows,
        inserted=sum(each.inserted for each in classified),
        updated=sum(each.updated for each in classified),
        moved=sum(each.moved for each in classified),
        superseded=sum(each.superseded for each in classified),
        deleted=sum(each.deleted for each in classified),
        absent=sum(each.absent for each in classified),
        dropped=compared.dropped,
        before=before,
    )


def _rows_before(compared: Compared, works: Iterable[GroupWork]) -> Iterator[tuple[int, int]]:
    """Yield the number of each rewritten group's new file, and the group's former rows."""
    for work in works:
        rows = compared.tagged.facts[work.tagged].rows if work.slice else 0
        if work.base_name is None and rows is not None:
            yield work.number, rows
