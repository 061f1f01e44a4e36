"""The gate's checks as stages ask for them: understood before anything is written, made after."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from framework.engine.audit.inspection import Inspection
from framework.engine.audit.subject import Judged, Looking
from framework.engine.audit.verdicts import with_screened
from framework.engine.events import Audited
from framework.engine.quarantine.record import PLACE
from framework.engine.reporting.summary import commit_summary
from framework.engine.results import AuditReport, CheckResult, Fate
from framework.errors import AuditFailedError, NotYetBuiltError, Where
from framework.hudi.storage.opening import open_storage
from framework.plan.contract import quality_faults
from framework.plan.faults import refuse

if TYPE_CHECKING:
    import pyarrow as pa

    from framework.engine.audit.subject import Checker, WrittenRows
    from framework.engine.course import Course, Run
    from framework.errors import FrameworkError

__all__ = [
    "CHECK_NOT_RUN",
    "inspect_rows",
    "needed_checker",
    "refused",
    "reported",
    "understand_checks",
]


CHECK_NOT_RUN: Final = "audit/check-not-run"
"""Condition of a gate that could not be carried out: no verdict."""


def understand_checks(work: Run, schema: pa.Schema) -> None:
    """Refuse checks that cannot be made on rows of a schema, and a schema that breaks the contract.

    Raises:
        NotYetBuiltError: `quality/needs-spark`.
        PlanError: `quality/bad-sql`, or see `quality_faults`.
    """
    target = work.plan.target
    quality = target.quality
    faults = quality_faults(quality, schema)
    if faults and target.positions is not None:
        refuse(faults, target.positions)
    if not quality.checks:
        return
    checker = needed_checker(work)
    checker.understand(schema, quality.checks)


def inspect_rows(work: Run, course: Course, rows: WrittenRows) -> Inspection:
    """Return what came of all checks on the written rows; reads nothing where there are none.

    Raises:
        TaskError: `audit/check-not-run`.
    """
    quality = work.plan.target.quality
    begun, judged = time.monotonic(), Judged()
    if quality.checks or (work.figures and work.checker):
        looking = Looking(quality=quality, figures=work.figures)
        judged = needed_checker(work).judge(rows, looking)
    results = with_screened(judged.results, course.screened)
    return Inspection(
        table=work.storage.location,
        results=results,
        columns=judged.columns,
        told=_told(work, course, results),
        seconds=time.monotonic() - begun,
    )


def reported(work: Run, course: Course, inspection: Inspection) -> None:
    """Tell everybody that the gate lets the files through."""
    proof = dict(course.audited.proof) if course.audited else {}
    report = replace(
        _report(work, course, inspection.results),
        keys={name: value for name, value in proof.items() if name not in inspection.told},
        columns=inspection.columns,
        fate=_fate(course),
    )
    work.events(Audited(report=report))


def refused(work: Run, course: Course, error: FrameworkError) -> None:
    """Tell everybody that the gate refuses, or could not be carried out, and why."""
    refusal, results = error.as_json(), tuple[CheckResult, ...]()
    if isinstance(error, AuditFailedError):
        results = tuple(each for each in error.results if isinstance(each, CheckResult))
        refusal["report"] = error.report
    work.events(Audited(report=replace(_report(work, course, results), refusal=refusal)))


def needed_checker(work: Run) -> Checker:
    """Return who makes checks.

    Raises:
        NotYetBuiltError: `quality/needs-spark`.
    """
    if work.checker is None:
        raise NotYetBuiltError(
            "quality/needs-spark",
            "checks are made by Spark, and by it rows are set aside",
            where=Where(table=work.storage.location),
            remedy="Run it with a Spark session, without --in-process.",
        )
    return work.checker


def _report(work: Run, course: Course, results: tuple[CheckResult, ...]) -> AuditReport:
    """Return what is common to all reports of a run."""
    transaction, load = course.transaction, work.plan.load
    moment = datetime.fromtimestamp(work.clock.now_ms() / 1000, tz=UTC)
    return AuditReport(
        table=work.plan.target.name,
        location=work.storage.location,
        subject="bootstrap" if load is None else load.operation.value,
        instant=transaction.intent.requested_time if transaction else None,
        run_id=transaction.intent.write_id if transaction else "",
        at=moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        checks=results,
        timings=dict(course.seconds),
    )


def _fate(course: Course) -> Fate:
    """Return what became of the input's rows."""
    screened = course.screened
    return Fate(
        input=course.input_rows,
        published=course.input_rows - screened.rows,
        quarantined=screened.quarantined,
        dropped=screened.dropped,
    )


def _told(work: Run, course: Course, results: tuple[CheckResult, ...]) -> dict[str, object]:
    """Return what the commit says of checks and of rows that were taken out."""
    quality, fate = work.plan.target.quality, _fate(course)
    if not quality.checks and not course.screened.rows:
        return {}
    told = commit_summary(replace(_report(work, course, results), fate=fate))
    place = quality.quarantine
    aside = {PLACE: open_storage(place).location} if place and fate.quarantined else {}
    return {**told, **aside}
