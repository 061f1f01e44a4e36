"""The report's JSON: typed values that define the document and its JSON Schema.

It is the only form that omits nothing and cuts no text. Members are only added while
`report_version` stays the same; that includes `Budget`, `ColumnFigures` and `Fate`, which the
document embeds. A member that does not apply is null, never absent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from framework.engine.reporting.words import VerdictWord, meaning, plain_mapping, verdict
from framework.engine.results import AuditReport, CheckResult, ColumnFigures, FailedRow, Fate
from framework.plan.quality.model import Budget
from framework.plan.render.json_values import json_members, json_schema
from framework.vocabulary import CheckedRows, CheckKind, OnFail, Outcome

__all__ = [
    "CheckDocument",
    "ReportDocument",
    "SampleDocument",
    "report_document",
    "report_members",
    "report_schema",
    "report_text",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDocument:
    """One bad row: `row` counts from 0, `values` are texts, `***` if redacted."""

    file: str
    row: int | None
    partition: str
    key: str | None
    values: dict[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckDocument:
    """One check and its result.

    `meaning` is for people. `fraction` is the share of the rows that was checked. `expectation`
    is the result of Great Expectations, empty for other kinds.
    """

    name: str
    kind: CheckKind
    meaning: str
    text: str
    where: str | None
    allow_null: bool
    over: CheckedRows
    arguments: dict[str, object]
    on_fail: OnFail
    budget: Budget
    key_path: str
    outcome: Outcome
    rows: int
    failed: int
    nulls: int
    observed: str | None
    fraction: float
    seconds: float
    samples: tuple[SampleDocument, ...]
    expectation: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDocument:
    """All findings of one gate; `keys` is the proof of the keys, empty if there is none."""

    report_version: Literal[1]
    verdict: VerdictWord
    passed: bool
    sentence: str
    table: str
    location: str
    subject: str
    instant: str | None
    run_id: str
    at: str
    keys: dict[str, object]
    refusal: dict[str, object]
    checks: tuple[CheckDocument, ...]
    columns: tuple[ColumnFigures, ...]
    fate: Fate | None
    timings: dict[str, float]
    seconds: float | None


def report_schema() -> dict[str, object]:
    """Return the JSON Schema of a report, the content of `schemas/report.schema.json`."""
    return json_schema(ReportDocument, title="Report of run-pipeline")


def report_text(report: AuditReport) -> str:
    """Return the report as indented JSON that ends in a newline."""
    return json.dumps(report_members(report), indent=2, ensure_ascii=False) + "\n"


def report_members(report: AuditReport) -> dict[str, object]:
    """Return the members of the report's document as values that every JSON parser accepts."""
    return plain_mapping(json_members(report_document(report)))


def report_document(report: AuditReport) -> ReportDocument:
    """Return the report as a document, with its texts unchanged."""
    found = verdict(report)
    return ReportDocument(
        report_version=1,
        verdict=found.word,
        passed=report.passed,
        sentence=found.sentence,
        table=report.table,
        location=report.location,
        subject=report.subject,
        instant=report.instant,
        run_id=report.run_id,
        at=report.at,
        keys=plain_mapping(report.keys),
        refusal=plain_mapping(report.refusal),
        checks=tuple(_check(each) for each in report.checks),
        columns=report.columns,
        fate=report.fate,
        timings={name: round(seconds, 3) for name, seconds in report.timings.items()},
        seconds=report.seconds,
    )


def _check(result: CheckResult) -> CheckDocument:
    check = result.check
    return CheckDocument(
        name=check.name,
        kind=check.kind,
        meaning=meaning(check),
        text=check.text,
        where=check.where,
        allow_null=check.allow_null,
        over=check.over,
        arguments=plain_mapping(check.arguments),
        on_fail=check.on_fail,
        budget=check.budget,
        key_path=check.key_path,
        outcome=result.outcome,
        rows=result.rows,
        failed=result.failed,
        nulls=result.nulls,
        observed=result.observed,
        fraction=result.fraction,
        seconds=round(result.seconds, 3),
        samples=tuple(_sample(each) for each in result.samples),
        expectation=plain_mapping(result.expectation),
    )


def _sample(row: FailedRow) -> SampleDocument:
    return SampleDocument(
        file=row.file,
        row=row.row,
        partition=row.partition,
        key=row.key,
        values=dict(row.values),
    )
