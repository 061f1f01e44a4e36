"""What a commit remembers of its checks."""

from __future__ import annotations

import json

import pytest

from framework.engine.reporting.summary import CommitSummary, commit_summary, summary_of
from framework.engine.results import Fate
from framework.vocabulary import Outcome
from tests.support.reports import a_hostile_report, a_report, an_endless_report


def test_summary_is_read_back_as_it_was_written() -> None:
    """Through JSON, what went wrong in front."""
    report = a_report()
    found = summary_of(json.loads(json.dumps({"scope": "table", **commit_summary(report)})))
    assert found.fate == report.fate
    assert [each.name for each in found.checks][:3] == [
        "late_orders",
        "customer_is_known",
        "no_test_orders",
    ]
    late = found.checks[0]
    assert (late.kind, late.on_fail, late.failed, late.rows) == ("expect", "warn", 12, 301_442)
    assert found.outcomes[Outcome.PASSED] == 4


def test_summary_holds_no_value_of_any_row() -> None:
    """The timeline exposes no data."""
    text = json.dumps(commit_summary(a_report()))
    assert "A-100017" not in text
    assert "part-00001" not in text


def test_summary_of_many_checks_lists_200_and_counts_the_others() -> None:
    """Those that passed are left out first."""
    written = commit_summary(an_endless_report())
    assert len(json.dumps(written)) < 100_000
    found = summary_of(written)
    assert len(found.checks) == 200
    assert sum(found.outcomes.values()) == 900
    assert found.outcomes[Outcome.FAILED] == 180


def test_summary_of_hostile_texts_is_strict_json() -> None:
    """A commit must be read by other programs too."""
    json.dumps(commit_summary(a_hostile_report()), allow_nan=False).encode()


@pytest.mark.parametrize(
    "proof",
    [
        {},
        {"checks": None, "fate": 3},
        {"checks": [None, "x", {}, {"outcome": "exploded"}, {"outcome": 4}], "more_checks": [1]},
        {"more_checks": {"passed": "many", "exploded": 3}},
    ],
)
def test_summary_of_a_foreign_proof_leaves_out_what_it_cannot_read(
    proof: dict[str, object],
) -> None:
    """Nothing is raised."""
    assert summary_of(proof) == CommitSummary()


def test_summary_with_missing_numbers_reads_them_as_0() -> None:
    """A later version may write less."""
    found = summary_of({"checks": [{"outcome": "passed"}], "fate": {"input": True}})
    assert found.checks[0].rows == 0
    assert found.fate == Fate(input=0, published=0)
