"""The step of a load that has the checks understood, and takes out what is not to be written."""

from __future__ import annotations

from dataclasses import replace

from framework.engine.audit.account import Account
from framework.engine.audit.screen import NOTHING, Screened, ScreenPlace, screen
from framework.engine.audit.subject import InputRows
from framework.engine.load.begin import load_plan
from framework.engine.load.job import Opened, Pinned, WrittenLoad
from framework.engine.run.context import RunContext
from framework.engine.run.inspection import Intake, needed_checker, understand_checks
from framework.engine.run.quarantined_rows import quarantine_place
from framework.engine.run.state import RunState
from framework.errors import AuditFailedError, Where
from framework.hudi.commit.statuses import written_files
from framework.hudi.table.layout import join
from framework.plan.stages import Screen
from framework.plan.words import count_text

__all__ = ["screen_deletion", "screen_input"]


def screen_input(run: RunState, opened: Opened, pinned: Pinned, stage: Screen | None) -> Pinned:
    """Have the checks understood; return the input with the rows that are not to be written.

    Without a stage the input comes back as it is.

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
    """Have the checks understood on the table that a deletion of partitions leaves.

    Returns:
        What such a load writes: nothing.

    Raises:
        PlanError: `quality/bad-sql`.
        NotYetBuiltError: `quality/needs-spark`.
    """
    if opened.table is None:
        raise ValueError("partitions are deleted of a table that is there")
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
    """Return what a screening found, for people."""
    words = [f"{count_text(stage.checks, 'check')} understood"]
    if screened.quarantined:
        words.append(f"{count_text(screened.quarantined, 'row')} quarantined")
    if screened.dropped:
        words.append(f"{screened.dropped:,} dropped")
    return ", ".join(words)


def _screened(ctx: RunContext, opened: Opened, pinned: Pinned, stage: Screen) -> Screened:
    """Find the rows that do not get in."""
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
        carries_places=load_plan(ctx).releases is not None,
    )
    return screen(needed_checker(ctx), rows, stage.quality, place)


def _still_bad(ctx: RunContext, releases: str, screened: Screened) -> AuditFailedError:
    """Return the error for a release that would quarantine again all that it brings."""
    return AuditFailedError(
        "quarantine/all-fail",
        f"{count_text(screened.quarantined, 'row')} quarantined at {releases}: all fail still",
        report={"check": "all-fail", "instant": releases, "by_rule": dict(screened.by_rule)},
        where=Where(table=ctx.storage.location),
        remedy="Nothing was published, and they stay as they are. Correct the checks, or load"
        " corrected rows and drop these.",
    )
