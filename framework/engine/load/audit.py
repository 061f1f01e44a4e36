"""The gate of a load: no row is lost, keys are unique, checks pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.engine.audit.gate import LoadPlace, audit_load
from framework.engine.audit.subject import WrittenRows
from framework.engine.load.begin import load_plan
from framework.engine.load.replaced_groups import replaced_groups
from framework.engine.load.values import AuditedLoad
from framework.engine.run.inspection import inspect_rows, report_passed
from framework.errors import CorruptFileError, Where
from framework.hudi.table.layout import join

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.engine.audit.account import Account
    from framework.engine.load.values import Opened, WrittenLoad
    from framework.engine.run.context import RunContext
    from framework.engine.run.state import RunState
    from framework.plan.stages import AuditLoad

__all__ = ["audit_rows"]


def audit_rows(
    run: RunState, opened: Opened, written: WrittenLoad, stage: AuditLoad
) -> AuditedLoad:
    """Prove keys and rows on the written files, and make the checks.

    Raises:
        AuditFailedError: keys occur twice, or a check fails.
        CorruptFileError: `audit/rows-differ`.
        PlanError: as of `replaced_groups`.
    """
    ctx, intake, account = run.ctx, written.intake, written.account
    with run.stage(stage) as report:
        if account.input + intake.screened.rows != intake.rows:
            raise _lost(ctx.storage.location, written)
        replaced = replaced_groups(opened.table, written.overwritten, load_plan(ctx), ctx.views)
        place = LoadPlace(
            table=ctx.storage.location,
            folder=join(opened.intent.staging.spill, "audit"),
            rule=stage.rule,
        )
        subject = _subject(ctx, opened, written, replaced, stage)
        inspection = inspect_rows(run, stage.quality, intake, subject)
        files = audit_load(ctx.tasks, written.files, place, account, inspection)
        report.summary = _summary(account)
        report_passed(run, intake, files, inspection)
    return AuditedLoad(
        files=files, schema=written.schema, screened=intake.screened, replaced=replaced
    )


def _subject(
    ctx: RunContext,
    opened: Opened,
    written: WrittenLoad,
    replaced: Mapping[str, tuple[str, ...]],
    stage: AuditLoad,
) -> WrittenRows:
    """Return which rows the checks see."""
    table, rule = opened.table, stage.rule
    return WrittenRows(
        table=ctx.storage.location,
        segments=written.files.segments,
        schema=written.schema,
        partition=table.partition if table else rule.partition,
        layout=table.layout if table else rule.layout,
        instant=opened.intent.requested_time,
        completed=opened.intent.completed.file_name,
        replaced=replaced,
        exists=table is not None,
    )


def _lost(table: str, written: WrittenLoad) -> CorruptFileError:
    """Return the error for rows that came in and are nowhere."""
    intake = written.intake
    return CorruptFileError(
        "audit/rows-differ",
        f"{intake.rows:,} rows came in, {written.account.input:,} were loaded and"
        f" {intake.screened.rows:,} taken out",
        where=Where(table=table),
        remedy="Nothing was published. Run again, and tell us: this is a fault of ours.",
    )


def _summary(account: Account) -> str:
    """Return what became of the rows, for people."""
    words = (
        f"{count:,} {name}"
        for name, count in account.as_json().items()
        if count and name != "input"
    )
    return ", ".join(words) or "no rows"
