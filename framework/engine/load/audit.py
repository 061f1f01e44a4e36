"""The gate of a load: no row is lost, keys are unique, checks pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from framework.engine.audit.account import Account
from framework.engine.audit.gate import LoadPlace, audit_load
from framework.engine.audit.subject import WrittenRows
from framework.engine.load.begin import load_plan
from framework.engine.load.job import AuditedLoad, Opened, WrittenLoad
from framework.engine.load.tag import key_rows
from framework.engine.reading.patterns import choose_partitions
from framework.engine.reading.table import Table
from framework.engine.reading.views import Views, latest_slices
from framework.engine.run.inspection import inspect_rows, report_passed
from framework.engine.run.state import RunContext, RunState
from framework.errors import AuditFailedError, CorruptFileError, Where
from framework.hudi.table.layout import join
from framework.plan.load import LoadPlan
from framework.plan.stages import AuditLoad
from framework.vocabulary import WriteOperation

__all__ = ["audit_rows", "replaced_groups"]

_REPLACES: Final = frozenset({WriteOperation.INSERT_OVERWRITE, WriteOperation.DELETE_PARTITION})


def audit_rows(
    run: RunState, opened: Opened, written: WrittenLoad, stage: AuditLoad
) -> AuditedLoad:
    """Prove keys and rows on the written files, and run the checks.

    Raises:
        AuditFailedError: keys occur twice, or a check fails.
        CorruptFileError: `audit/rows-differ`, or see `read_back`.
        PlanError: see `replaced_groups`.
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
            depth=stage.quality.depth,
        )
        subject = _subject(ctx, opened, written, replaced, stage)
        inspection = inspect_rows(run, stage.quality, intake, subject)
        try:
            files = audit_load(ctx.tasks, written.files, place, account, inspection)
        except AuditFailedError as error:
            _name_input_rows(ctx, written, error)
            raise
        report.summary = _summary(account)
        report_passed(run, intake, files, inspection)
    return AuditedLoad(
        files=files,
        schema=written.schema,
        screened=intake.screened,
        replaced=replaced,
        plans=written.plans,
    )


def _name_input_rows(ctx: RunContext, written: WrittenLoad, error: AuditFailedError) -> None:
    """Raise the error for keys that occur twice in an input, whose rows it names.

    That of the written files names rows that nobody can look at.
    """
    source = written.uncompared
    if error.condition == "audit/duplicate-keys" and source is not None:
        key_rows(ctx.tasks, source.job, source.files)


def replaced_groups(
    table: Table | None, overwritten: frozenset[str] | None, plan: LoadPlan, views: Views
) -> dict[str, tuple[str, ...]]:
    """Return the file ids that the commit hides, by partition path.

    Args:
        table: as it was when the load started; None for a new one.
        overwritten: partitions with rows of the input; None: those that the plan names.
        plan: the load.
        views: report which files make up the table.

    Raises:
        PlanError: `read/partition-matches-nothing`, `read/bad-glob`.
    """
    if table is None or plan.operation not in _REPLACES:
        return {}
    hidden: dict[str, list[str]] = defaultdict(list)
    paths = _named(table, plan, views) if overwritten is None else overwritten
    for each in latest_slices(table, views, paths):
        hidden[each.group.partition_path].append(each.group.file_id)
    return {path: tuple(ids) for path, ids in hidden.items()}


def _named(table: Table, plan: LoadPlan, views: Views) -> frozenset[str]:
    """Return the partitions that the plan names."""
    with views.opened(table) as view:
        paths = list(view.partitions())
    place = table.storage.location
    chosen = (choose_partitions(paths, pattern, table=place) for pattern in plan.partitions)
    return frozenset(path for each in chosen for path in each)


def _subject(
    ctx: RunContext,
    opened: Opened,
    written: WrittenLoad,
    replaced: Mapping[str, tuple[str, ...]],
    stage: AuditLoad,
) -> WrittenRows:
    """Return the rows that the checks see."""
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
    """Return the error for input rows that were lost."""
    intake = written.intake
    return CorruptFileError(
        "audit/rows-differ",
        f"{intake.rows:,} rows were read, {written.account.input:,} loaded and"
        f" {intake.screened.rows:,} excluded",
        where=Where(table=table),
        remedy="Nothing was published. Run again, and report it: this is a bug in Lakestrap.",
    )


def _summary(account: Account) -> str:
    """Return the outcome of the rows, as text."""
    words = (
        f"{count:,} {name}"
        for name, count in account.as_json().items()
        if count and name != "input"
    )
    return ", ".join(words) or "no rows"
