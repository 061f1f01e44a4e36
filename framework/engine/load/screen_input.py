"""The step of a load that validates the checks, and excludes rows."""

from __future__ import annotations

from dataclasses import replace

from framework.engine.audit.account import Account
from framework.engine.audit.screen import NOTHING, Screened, ScreenPlace, screen
from framework.engine.audit.subject import InputRows
from framework.engine.load.begin import load_plan
from framework.engine.load.job import Opened, Pinned, WrittenLoad
from framework.engine.run.inspection import Intake, needed_checker, understand_checks
from framework.engine.run.state import RunContext, RunState, quarantine_place
from framework.errors import AuditFailedError, Where
from framework.hudi.commit.statuses import written_files
from framework.hudi.table.layout import join
from framework.plan.stages import Screen
from framework.plan.words import count_text

__all__ = ["screen_deletion", "screen_input"]


def screen_input(run: RunState, opened: Opened, pinned: Pinned, stage: Screen | None) -> Pinned:
    """Validate the checks; return the input with the rows to exclude.

    Without a stage the input is returned unchanged.

    Raises:
        PlanError: `quality/bad-sql`.
        NotYetBuiltError: `quality/needs-spark`.
        AuditFailedError: `audit/too-many-set-aside`, `audit/over-budget`, `quarantine/all-fail`.
        TaskError: `audit/check-not-run`.
    """
    ctx = run.ctx
    if stage is None:
        return pinned
    with run.stage(stage) as report:
        understand_checks(ctx, stage.quality, pinned.schema)
        screened = NOTHING
        if stage.splitting and pinned.files:
            screened = _screened(ctx, opened, pinned, stage)
        releases = load_plan(ctx).releases
        if releases is not None and screened.quarantined and screened.quarantined == pinned.rows:
            raise _still_bad(ctx, releases, screened)
        report.summary = _summary(stage, screened)
    files = tuple(
        replace(each, gone=screened.gone[each.number].path)
        if each.number in screened.gone
        else each
        for each in pinned.files
    )
    return replace(pinned, files=files, screened=screened)


def screen_deletion(run: RunState, opened: Opened, stage: Screen | None) -> WrittenLoad:
    """Validate the checks on the table that remains after a deletion of partitions.

    Returns:
        The written files of such a load: none.

    Raises:
        PlanError: `quality/bad-sql`.
        NotYetBuiltError: `quality/needs-spark`.
    """
    if opened.table is None:
        raise ValueError("deleting partitions needs an existing table")
    schema = opened.table.schema
    if stage is not None:
        with run.stage(stage) as report:
            understand_checks(run.ctx, stage.quality, schema)
            report.summary = _summary(stage, NOTHING)
    return WrittenLoad(
        files=written_files(()),
        schema=schema,
        intake=Intake(rows=0),
        account=Account(input=0),
    )


def _summary(stage: Screen, screened: Screened) -> str:
    """Return the result of a screening, as text."""
    words = [f"{count_text(stage.checks, 'check')} validated"]
    if screened.quarantined:
        words.append(f"{count_text(screened.quarantined, 'row')} quarantined")
    if screened.dropped:
        words.append(f"{screened.dropped:,} dropped")
    return ", ".join(words)


def _screened(ctx: RunContext, opened: Opened, pinned: Pinned, stage: Screen) -> Screened:
    intent = opened.intent
    rows = InputRows(
        numbers=[each.number for each in pinned.files],
        paths=[each.path for each in pinned.files],
        partition_paths=[""] * len(pinned.files),
        schema=pinned.found,
    )
    place = ScreenPlace(
        storage=ctx.storage,
        folder=join(intent.staging.root, "screen"),
        quarantine=quarantine_place(ctx, intent),
        run_id=intent.write_id,
        instant=intent.requested_time,
        total=pinned.rows,
        origins={each.number: each.path for each in pinned.files},
        has_places=load_plan(ctx).releases is not None,
    )
    return screen(needed_checker(ctx), rows, stage.quality, place)


def _still_bad(ctx: RunContext, releases: str, screened: Screened) -> AuditFailedError:
    """Return the error of a release that would quarantine all its rows again."""
    return AuditFailedError(
        "quarantine/all-fail",
        f"{count_text(screened.quarantined, 'row')} quarantined at {releases}: all still fail",
        report={"check": "all-fail", "instant": releases, "by_rule": dict(screened.by_rule)},
        where=Where(table=ctx.storage.location),
        remedy="Nothing was published, and the rows stay quarantined. Correct the checks, or load"
        " corrected rows and drop these.",
    )
