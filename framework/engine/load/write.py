"""The step of a load that writes the file groups that change or are new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.engine.audit.account import Account
from framework.engine.load.assignment import Sizing
from framework.engine.load.groups import group_works, write_groups
from framework.engine.load.values import WrittenLoad
from framework.engine.run.inspection import Intake
from framework.engine.tasks import LimitedTasks
from framework.plan.words import count_text
from framework.vocabulary import TableType, WriteOperation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from framework.engine.load.group_task import GroupWork
    from framework.engine.load.index_lookup import Compared
    from framework.engine.load.values import Pinned
    from framework.engine.run.state import RunState
    from framework.plan.stages import WriteRows

__all__ = ["write_rows"]


def write_rows(run: RunState, pinned: Pinned, compared: Compared, stage: WriteRows) -> WrittenLoad:
    """Write every file group that changes or is new.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: as of `group_task`.
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
        works = list(group_works(pinned.job, compared, sizing))
        tasks = LimitedTasks(ctx.tasks, stage.parallelism or ctx.tasks.parallelism)
        files = write_groups(tasks, pinned.job, compared, works, sizing, events=ctx.events)
        report.summary = f"{count_text(files.files, 'file')}, {files.bytes:,} bytes"
    return WrittenLoad(
        files=files,
        schema=pinned.schema,
        intake=Intake(rows=pinned.rows, screened=pinned.screened),
        account=_account(compared, dict(_rows_before(compared, works))),
        overwritten=frozenset(compared.inserts),
    )


def _account(compared: Compared, before: dict[int, int]) -> Account:
    """Return what became of each input row; `before` as of `_rows_before`."""
    settled = compared.settled
    return Account(
        input=compared.input_rows,
        inserted=sum(each.inserted for each in settled),
        updated=sum(each.updated for each in settled),
        moved=sum(each.moved for each in settled),
        superseded=sum(each.superseded for each in settled),
        deleted=sum(each.deleted for each in settled),
        absent=sum(each.absent for each in settled),
        dropped=compared.dropped,
        before=before,
    )


def _rows_before(compared: Compared, works: Iterable[GroupWork]) -> Iterator[tuple[int, int]]:
    """Yield the number of each rewritten group's new file, and the group's rows before."""
    for work in works:
        rows = compared.tagged.facts[work.tagged].rows if work.slice else 0
        if work.base_name is None and rows is not None:
            yield work.number, rows
