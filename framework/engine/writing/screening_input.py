"""The stage of a load that has the checks understood, and takes out what is not to be written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from framework.engine.audit.screening import NOTHING, Screened, ScreenPlace, screen
from framework.engine.audit.subject import InputRows
from framework.engine.inspecting import needed_checker, understand_checks
from framework.engine.quarantine.settling import place_for_rows_aside
from framework.engine.writing.load import load_of, load_plan
from framework.errors import AuditFailedError, Where
from framework.hudi.table.layout import join
from framework.plan.words import count_text

if TYPE_CHECKING:
    import pyarrow as pa

    from framework.engine.audit.subject import Checker
    from framework.engine.course import Course, Run

__all__ = ["screen_input"]


def screen_input(work: Run, course: Course) -> Course:
    """Have the checks understood; find the rows that do not get in, and have them left out.

    Raises:
        PlanError: `quality/bad-sql`.
        NotYetBuiltError: `quality/needs-spark`.
        AuditFailedError: `audit/too-many-set-aside`, `audit/over-budget`, `quarantine/all-fail`.
        TaskError: `audit/check-not-run`.
    """
    _, load = load_of(course)
    schema = load.schema or (load.table.schema if load.table else None)
    if schema is None:
        raise ValueError("the stages of a load come in their order")
    understand_checks(work, schema)
    screened = NOTHING
    if work.plan.target.quality.splitting and load.files:
        screened = _screened(work, course, needed_checker(work))
    files = tuple(
        replace(each, gone=screened.gone[each.number].path)
        if each.number in screened.gone
        else each
        for each in load.files
    )
    rows = sum(each.rows for each in load.files)
    releases = load_plan(work).releases
    if releases is not None and screened.quarantined and screened.quarantined == rows:
        raise _still_bad(work, releases, screened)
    return replace(
        course,
        job=replace(load, files=files),
        screened=screened,
        input_rows=rows,
        summary=told(work.plan.target.quality.checks, screened),
    )


def told(checks: tuple[object, ...], screened: Screened) -> str:
    """Return what a screening found, for people."""
    words = [f"{count_text(len(checks), 'check')} understood"]
    if screened.quarantined:
        words.append(f"{count_text(screened.quarantined, 'row')} set aside")
    if screened.dropped:
        words.append(f"{screened.dropped:,} dropped")
    return ", ".join(words)


def _screened(work: Run, course: Course, checker: Checker) -> Screened:
    """Find the rows that do not get in."""
    transaction, load = load_of(course)
    intent, quality = transaction.intent, work.plan.target.quality
    rows = InputRows(
        numbers=[each.number for each in load.files],
        paths=[each.path for each in load.files],
        partition_paths=[""] * len(load.files),
        schema=_input_schema(load.found, load.schema),
    )
    place = ScreenPlace(
        storage=work.storage,
        folder=join(intent.staging.root, "screen"),
        aside=place_for_rows_aside(work, course),
        run_id=intent.write_id,
        instant=intent.requested_time,
        total=sum(each.rows for each in load.files),
        origins={each.number: each.path for each in load.files},
        carries_places=load_plan(work).releases is not None,
    )
    return screen(checker, rows, quality, place)


def _still_bad(work: Run, releases: str, screened: Screened) -> AuditFailedError:
    """Return the error for a release that would set aside again all that it brings."""
    return AuditFailedError(
        "quarantine/all-fail",
        f"{count_text(screened.quarantined, 'row')} set aside at {releases}: all fail still",
        report={"check": "all-fail", "instant": releases, "by_rule": dict(screened.by_rule)},
        where=Where(table=work.storage.location),
        remedy="Nothing was published, and they stay as they are. Correct the checks, or load"
        " corrected rows and drop these.",
    )


def _input_schema(found: pa.Schema | None, schema: pa.Schema | None) -> pa.Schema:
    """Return the columns of the input as its files have them."""
    chosen = found or schema
    if chosen is None:
        raise ValueError("the stages of a load come in their order")
    return chosen
