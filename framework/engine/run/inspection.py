"""The gate's checks as stages use them: validated before anything is written, run after."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa

from framework.engine.audit.screen import NOTHING, Screened
from framework.engine.audit.subject import Checker, Judged, Looking, WrittenRows
from framework.engine.audit.verdicts import Inspection, with_screened
from framework.engine.events import Audited
from framework.engine.quarantine.record import PLACE
from framework.engine.reporting.summary import commit_summary
from framework.engine.results import AuditReport, CheckResult, Fate
from framework.engine.run.state import RunContext, RunState
from framework.errors import AuditFailedError, FrameworkError, NotYetBuiltError, Where
from framework.hudi.commit.statuses import AuditedFiles
from framework.hudi.storage.locations import open_storage
from framework.plan.quality.contract import quality_faults
from framework.plan.quality.model import Quality
from framework.plan.refusals import refuse

__all__ = [
    "CHECK_NOT_RUN",
    "Intake",
    "inspect_rows",
    "needed_checker",
    "report_passed",
    "report_refusal",
    "understand_checks",
]

CHECK_NOT_RUN: Final = "audit/check-not-run"
"""Condition of a gate that could not run: no verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """The input of a run: `rows` of the source or the input, and the excluded ones."""

    rows: int
    screened: Screened = NOTHING

    @property
    def fate(self) -> Fate:
        """The outcome of the rows."""
        return Fate(
            input=self.rows,
            published=self.rows - self.screened.rows,
            quarantined=self.screened.quarantined,
            dropped=self.screened.dropped,
        )


def understand_checks(ctx: RunContext, quality: Quality, schema: pa.Schema) -> None:
    """Raise for checks that cannot run on rows of a schema, and a schema that breaks the contract.

    Raises:
        NotYetBuiltError: `quality/needs-spark`.
        PlanError: `quality/bad-sql`, or see `quality_faults`.
    """
    faults, positions = quality_faults(quality, schema), ctx.plan.target.positions
    if faults and positions is not None:
        refuse(faults, positions)
    if not quality.checks:
        return
    checker = needed_checker(ctx)
    checker.understand(schema, quality.checks)


def inspect_rows(run: RunState, quality: Quality, intake: Intake, rows: WrittenRows) -> Inspection:
    """Return the results of all checks on the written rows; reads nothing if there are none.

    Raises:
        TaskError: `audit/check-not-run`.
    """
    ctx = run.ctx
    begun, judged = time.monotonic(), Judged()
    if quality.checks or (ctx.figures and ctx.checker):
        looking = Looking(quality=quality, figures=ctx.figures)
        judged = needed_checker(ctx).judge(rows, looking)
    results = with_screened(judged.results, intake.screened)
    return Inspection(
        table=ctx.storage.location,
        results=results,
        columns=judged.columns,
        committed=_committed(run, quality, intake, results),
        seconds=time.monotonic() - begun,
    )


def report_passed(
    run: RunState, intake: Intake, audited: AuditedFiles, inspection: Inspection
) -> None:
    """Report that the gate has passed the files."""
    report = replace(
        _report(run, inspection.results),
        keys={k: value for k, value in audited.proof.items() if k not in inspection.committed},
        columns=inspection.columns,
        fate=intake.fate,
    )
    run.ctx.events(Audited(report=report))


def report_refusal(run: RunState, error: FrameworkError) -> None:
    """Report that the gate refused, or could not run, and why."""
    refusal, results = error.as_json(), tuple[CheckResult, ...]()
    if isinstance(error, AuditFailedError):
        results = tuple(each for each in error.results if isinstance(each, CheckResult))
        refusal["report"] = error.report
    run.ctx.events(Audited(report=replace(_report(run, results), refusal=refusal)))


def needed_checker(ctx: RunContext) -> Checker:
    """Return the checker.

    Raises:
        NotYetBuiltError: `quality/needs-spark`.
    """
    if ctx.checker is None:
        raise NotYetBuiltError(
            "quality/needs-spark",
            "checks and quarantining rows need Spark",
            where=Where(table=ctx.storage.location),
            remedy="Run it with a Spark session, without --in-process.",
        )
    return ctx.checker


def _report(run: RunState, results: tuple[CheckResult, ...]) -> AuditReport:
    """Return the fields common to all reports of a run."""
    ctx, transaction = run.ctx, run.transaction
    load = ctx.plan.load
    moment = datetime.fromtimestamp(ctx.clock.now_ms() / 1000, tz=UTC)
    return AuditReport(
        table=ctx.plan.target.name,
        location=ctx.storage.location,
        subject="bootstrap" if load is None else load.operation.value,
        instant=transaction.intent.requested_time if transaction else None,
        run_id=transaction.intent.write_id if transaction else "",
        at=moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        checks=results,
        timings=dict(run.seconds),
    )


def _committed(
    run: RunState, quality: Quality, intake: Intake, results: tuple[CheckResult, ...]
) -> dict[str, object]:
    """Return the commit's record of checks and of excluded rows."""
    if not quality.checks and not intake.screened.rows:
        return {}
    summary = commit_summary(replace(_report(run, results), fate=intake.fate))
    place = quality.quarantine
    location = {PLACE: open_storage(place).location} if place and intake.fate.quarantined else {}
    return {**summary, **location}
