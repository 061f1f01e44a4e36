"""`history` shows the results of a commit's checks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from framework.cli.status import write_events
from framework.engine.reading.load_history import Event
from framework.engine.reporting.summary import commit_summary
from framework.engine.results import AuditReport
from tests.support.reports import KEYS, a_check, a_report, a_result, an_endless_report


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Callable[[dict[str, Any]], list[str]]:
    """Returns what is written of a table with one commit that has this audit proof."""

    def call(proof: dict[str, Any]) -> list[str]:
        event = Event(
            instant="20261122093000123",
            action="commit",
            state="completed",
            operation="upsert",
            files=12,
            rows=336_761,
            bytes=6_100_000,
            write_id="w1",
            audit=json.loads(json.dumps(proof)),
        )
        write_events((event,))
        return capsys.readouterr().out.splitlines()

    return call


def proof_of(report: AuditReport) -> dict[str, Any]:
    """Return the proof that a commit stores."""
    return {**KEYS, **commit_summary(report)}


def test_checks_and_rows_taken_out_are_one_line(
    lines: Callable[[dict[str, Any]], list[str]],
) -> None:
    """Below the proof of the keys, with the checks that found something by name."""
    (_, _, keys, checks) = lines(proof_of(a_report()))
    assert keys == "  audit  (order_id) unique in table, not null; 336,761 keys"
    assert checks == (
        "  checks 1 warned, 1 quarantined, 1 dropped, 4 passed (late_orders: 12 of 301,442 rows,"
        " customer_is_known: 12 of 336,776 rows, no_test_orders: 3 of 336,776 rows);"
        " 12 rows quarantined, 3 dropped"
    )


def test_commit_whose_checks_all_passed_names_none(
    lines: Callable[[dict[str, Any]], list[str]],
) -> None:
    """Nothing was taken out, so nothing is said of it."""
    report = a_report([a_result(), a_result(a_check("b"))], fate=None)
    assert lines(proof_of(report))[-1] == "  checks 2 passed"


def test_commit_without_checks_has_no_line_for_them(
    lines: Callable[[dict[str, Any]], list[str]],
) -> None:
    """As those of earlier versions."""
    assert len(lines(dict(KEYS))) == 3


def test_commit_with_checks_but_no_key_proof_shows_the_checks(
    lines: Callable[[dict[str, Any]], list[str]],
) -> None:
    """No proof is claimed."""
    found = lines(commit_summary(a_report([a_result()], fate=None)))
    assert found[2:] == ["  checks 1 passed"]


def test_many_checks_stay_one_line(lines: Callable[[dict[str, Any]], list[str]]) -> None:
    """Five are named."""
    (*_, checks) = lines(proof_of(an_endless_report()))
    assert checks.startswith("  checks 180 failed, 180 warned, 180 quarantined")
    assert "and 195 more" in checks
    assert len(checks) < 1500
