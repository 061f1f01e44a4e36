"""From a report to its JSON document: the one form that leaves nothing out and cuts no text."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from framework.engine.reporting.text import plain, plain_mapping
from framework.engine.reporting.words import meaning, verdict

if TYPE_CHECKING:
    from framework.engine.reporting.document import (
        CheckDocument,
        ColumnDocument,
        FateDocument,
        ReportDocument,
        SampleDocument,
    )
    from framework.engine.results import AuditReport, CheckResult, FailedRow

__all__ = ["json_text", "report_document"]


def json_text(report: AuditReport) -> str:
    """Return the report as indented JSON that ends in a newline."""
    return json.dumps(report_document(report), indent=2, ensure_ascii=False) + "\n"


def report_document(report: AuditReport) -> ReportDocument:
    """Return the report as JSON-ready values; its schema is `schemas/report.schema.json`."""
    found = verdict(report)
    fate = None if report.fate is None else cast("FateDocument", asdict(report.fate))
    document: ReportDocument = {
        "report_version": 1,
        "verdict": cast("Any", found.word),
        "passed": report.passed,
        "sentence": found.sentence,
        "table": report.table,
        "location": report.location,
        "subject": report.subject,
        "instant": report.instant,
        "run_id": report.run_id,
        "at": report.at,
        "keys": dict(report.keys),
        "refusal": dict(report.refusal),
        "checks": [_check(each) for each in report.checks],
        "columns": [cast("ColumnDocument", asdict(each)) for each in report.columns],
        "fate": fate,
        "timings": {name: round(seconds, 3) for name, seconds in report.timings.items()},
        "seconds": report.seconds,
    }
    return cast("ReportDocument", plain_mapping(cast("dict[str, object]", document)))


def _check(result: CheckResult) -> CheckDocument:
    """Return one check and what came of it."""
    check = result.check
    return {
        "name": check.name,
        "kind": check.kind.value,
        "meaning": meaning(check),
        "text": check.text,
        "where": check.where,
        "allow_null": check.allow_null,
        "over": check.over.value,
        "arguments": plain_mapping(check.arguments),
        "on_fail": check.on_fail.value,
        "budget": {"rows": check.budget.rows, "share": check.budget.share},
        "key_path": check.key_path,
        "outcome": result.outcome.value,
        "rows": result.rows,
        "failed": result.failed,
        "nulls": result.nulls,
        "observed": result.observed,
        "fraction": result.fraction,
        "seconds": round(result.seconds, 3),
        "samples": [_sample(each) for each in result.samples],
        "expectation": cast("dict[str, object]", plain(result.expectation)),
    }


def _sample(row: FailedRow) -> SampleDocument:
    """Return one bad row."""
    return {
        "file": row.file,
        "row": row.row,
        "partition": row.partition,
        "key": row.key,
        "values": dict(row.values),
    }
