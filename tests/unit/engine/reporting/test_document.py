"""The JSON document: everything, and a schema that it fits."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from framework.engine.reporting.document import (
    CheckDocument,
    ReportDocument,
    SampleDocument,
    report_document,
    report_schema,
    report_text,
)
from framework.engine.results import AuditReport, CheckResult, FailedRow
from framework.plan.quality.model import Check
from tests.support.reports import a_hostile_report, a_refused_report, a_report

SCHEMA_FILE = Path(__file__).parents[4] / "schemas" / "report.schema.json"
REPORTS = (
    a_report,
    a_refused_report,
    a_hostile_report,
    lambda: a_report([], instant=None, fate=None, keys={}, columns=(), timings={}),
)


def test_schema_in_the_repository_is_that_of_the_code() -> None:
    """`make schemas` writes it again."""
    assert SCHEMA_FILE.read_text() == json.dumps(report_schema(), indent=2) + "\n"


@pytest.mark.parametrize("made", REPORTS)
def test_document_fits_its_schema(made: Callable[[], AuditReport]) -> None:
    """Whatever the texts are, and as strict JSON."""
    text = report_text(made())
    document = json.loads(text, parse_constant=pytest.fail)
    jsonschema.Draft202012Validator.check_schema(report_schema())
    jsonschema.Draft202012Validator(report_schema()).validate(document)
    text.encode()


def names(kind: type) -> set[str]:
    """Return the members of a dataclass of the model."""
    return {each.name for each in fields(kind)}


def test_document_has_every_member_of_the_model() -> None:
    """A new member is forgotten in no report."""
    assert names(AuditReport) <= names(ReportDocument)
    assert (names(CheckResult) | names(Check)) - {"check"} <= names(CheckDocument)
    assert names(FailedRow) == names(SampleDocument)


def test_document_has_verdict_and_checks_in_the_order_of_the_spec() -> None:
    """For tools that read no words."""
    document = report_document(a_refused_report())
    assert (document.verdict, document.passed) == ("refused", False)
    assert [each.name for each in document.checks][:2] == [
        "amount_is_positive",
        "enough_orders",
    ]
    assert document.checks[0].samples[1].values["amount"] is None
