"""The JSON of a check fits its schema, whatever was found."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from framework.engine.fsck.document import FsckDocument, fsck_members, fsck_schema
from framework.engine.fsck.findings import Check, Checked, Repair, Severity, TableFinding
from framework.engine.fsck.repair import Outcome
from framework.engine.fsck.table_check import TableReport

SCHEMA_FILE = Path(__file__).parents[4] / "schemas" / "fsck.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(fsck_schema())


def a_report(*findings: TableFinding) -> TableReport:
    """Return the report of a deep check."""
    return TableReport(location="/lake/é", deep=True, checked=Checked(rows=7), findings=findings)


def a_finding(check: Check, severity: Severity, repair: Repair | None) -> TableFinding:
    """Return a finding; one that a repair removes is of a partition."""
    return TableFinding(
        check=check,
        severity=severity,
        condition="fsck/any",
        message="what it is",
        remedy="what to do",
        partition=None if repair is None else "day=\ud800",
        repair=repair,
    )


def test_schema_in_the_repository_is_that_of_the_code() -> None:
    """`make schemas` writes it again."""
    assert SCHEMA_FILE.read_text() == json.dumps(fsck_schema(), indent=2) + "\n"
    jsonschema.Draft202012Validator.check_schema(fsck_schema())


def test_document_with_every_check_and_repair_fits_its_schema() -> None:
    """As JSON that was written and read."""
    found = [a_finding(c, s, r) for c in Check for s in Severity for r in (None, *Repair)]
    done = [Outcome(repair=each, file="a", done="kept", reason="used") for each in Repair]
    document = json.loads(json.dumps(fsck_members(a_report(*found), done)))
    VALIDATOR.validate(document)
    assert (document["clean"], document["checked"]["rows"]) == (False, 7)
    assert len(document["findings"]) == len(found)


def test_document_without_findings_is_clean() -> None:
    """And fits too."""
    document = json.loads(json.dumps(fsck_members(a_report())))
    VALIDATOR.validate(document)
    assert document["clean"] is True


def test_document_with_another_member_does_not_fit() -> None:
    """So that the schema says all there is."""
    document = {**fsck_members(a_report()), "more": 1}
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(json.loads(json.dumps(document)))


def test_document_has_every_member_of_a_report() -> None:
    """A new one is not forgotten."""
    assert {e.name for e in fields(TableReport)} <= {e.name for e in fields(FsckDocument)}
