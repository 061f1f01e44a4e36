"""What counts as a bad row, and how many of them a check allows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from framework.errors import AuditFailedError, TaskError
from framework.spark import run
from framework.vocabulary import Outcome
from tests.support.checks import Gate, gate_report, good_rows, quarantined_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

AMOUNTS = [1.0, 2.0, -3.0, None, 5.0, -6.0, 7.0, 8.0, 9.0, 10.0]
"""Of ten rows two are bad, and one is null."""

VERDICTS: dict[str, tuple[dict[str, Any], str, int, int, int]] = {
    "null_is_bad": ({"expect": "amount > 0"}, "warned", 10, 3, 1),
    "null_is_met": ({"expect": "amount > 0", "allow_null": True}, "warned", 10, 2, 0),
    "all_null": ({"expect": "amount > 0", "where": "amount IS NULL"}, "warned", 1, 1, 1),
    "where": ({"expect": "amount > 0", "where": "id < 102"}, "passed", 2, 0, 0),
    "where_is_null": ({"expect": "id < 0", "where": "amount > 100"}, "passed", 0, 0, 0),
    "rows_within": ({"expect": "amount > 0", "max_failed": 3}, "passed", 10, 3, 1),
    "rows_beyond": ({"expect": "amount > 0", "max_failed": 2}, "warned", 10, 3, 1),
    "share_within": ({"expect": "amount > 0", "max_failed": "30%"}, "passed", 10, 3, 1),
    "share_beyond": ({"expect": "amount > 0", "max_failed": "29.9%"}, "warned", 10, 3, 1),
    "share_of_some": (
        {"expect": "amount > 0", "where": "id < 104", "max_failed": "50%"},
        *("passed", 4, 2, 1),
    ),
    "comment": ({"expect": "amount > 0 -- at least"}, "warned", 10, 3, 1),
    "either": ({"expect": "amount > 0 OR id = 103 OR id > 0"}, "passed", 10, 0, 0),
    "aggregate": ({"expect_aggregate": "sum(amount) > 1000"}, "warned", 10, 1, 0),
    "aggregate_null": (
        {"expect_aggregate": "max(if(amount > 100, amount, null)) > 0"},
        *("warned", 10, 1, 1),
    ),
    "aggregate_met": ({"expect_aggregate": "count(*) = 10"}, "passed", 10, 0, 0),
    "query": ({"query": "SELECT id FROM this WHERE amount < 0"}, "warned", 10, 2, 0),
    "query_within": (
        {"query": "SELECT id FROM this WHERE amount < 0", "max_failed": "20%"},
        *("passed", 10, 2, 0),
    ),
    "query_of_groups": (
        {"query": "SELECT ts FROM this GROUP BY ts HAVING count(*) > 9;"},
        *("warned", 10, 1, 0),
    ),
    "gx": (
        {
            "gx": "expect_column_values_to_be_between",
            "arguments": {"column": "amount", "min_value": 0},
            "max_failed": 1,
        },
        *("warned", 10, 2, 0),
    ),
}
"""A check, its result if it only warns, checked rows, bad ones, and nulls among these."""


def a_gate(folder: Path) -> Gate:
    """Return a gate before `AMOUNTS`."""
    gate = Gate(folder=folder, operation="insert")
    rows = pa.Table.from_pylist(good_rows(range(100, 110), day="a"))
    at = rows.schema.get_field_index("amount")
    gate.put("one", rows.set_column(at, "amount", pa.array(AMOUNTS)))
    return gate


def test_checks_count_what_they_look_at_what_is_bad_and_what_is_null(
    spark: SparkSession, tmp_path: Path
) -> None:
    """All in one run, which publishes, since they only warn."""
    gate = a_gate(tmp_path)
    checks = [{"name": n, "on_fail": "warn", **check} for n, (check, *_) in VERDICTS.items()]
    report = gate_report(spark, gate.spec(*checks, samples=100))
    found = {
        each.check.name: (each.outcome.value, each.rows, each.failed, each.nulls)
        for each in report.checks
    }
    assert found == {name: tuple(verdict) for name, (_, *verdict) in VERDICTS.items()}
    assert report.passed
    shown = {each.check.name: [row.row for row in each.samples] for each in report.checks}
    assert sorted(map(str, shown["null_is_bad"])) == ["2", "3", "5"]
    assert shown["where"] == shown["aggregate"] == []
    observed = {each.check.name: each.observed for each in report.checks}
    assert (observed["aggregate"], observed["aggregate_met"]) == ("33.0", "10")
    assert sorted(gate.amounts(spark)) == list(range(100, 110))


@pytest.mark.parametrize(
    ("ratio", "budget", "condition"),
    [
        (0.3, 0, None),
        (0.29, 0, "audit/too-many-set-aside"),
        (1.0, 3, None),
        (1.0, 2, "audit/over-budget"),
        (1.0, "30%", None),
        (1.0, "29%", "audit/over-budget"),
    ],
)
def test_bounds_of_what_is_taken_out_are_allowed_and_more_is_refused(
    spark: SparkSession, tmp_path: Path, ratio: float, budget: int | str, condition: str | None
) -> None:
    """What is quarantined and what is dropped count together; a refusal leaves no folder."""
    gate = a_gate(tmp_path)
    checks: list[dict[str, Any]] = [
        {
            "name": "one",
            "expect": "amount > 0",
            "on_fail": "quarantine" if budget else "drop",
            "max_failed": budget,
        },
        {"name": "two", "expect": "amount > 0", "where": "id = 102", "on_fail": "quarantine"},
    ]
    if condition is None:
        result = gate.run(spark, *checks, quarantine={"max_ratio": ratio})
        assert result.rows == 7
        assert len(quarantined_in(gate.quarantine)) == (3 if budget else 1)
        return
    error = gate.refused(spark, *checks, quarantine={"max_ratio": ratio})
    assert error.condition == condition
    assert not gate.quarantine.exists()
    assert not gate.location.exists()


@pytest.mark.parametrize("on_fail", ["abort", "warn", "quarantine", "drop"])
def test_check_that_raises_is_no_verdict_whatever_a_failure_would_do(
    spark: SparkSession, tmp_path: Path, on_fail: str
) -> None:
    """Exit 5, the check is named, and what was there is as it was; others do not hide it."""
    gate = Gate(folder=tmp_path, operation="upsert")
    gate.begin()
    gate.put("one", good_rows(range(5, 15)))
    spec = gate.spec(
        {"name": "sound", "expect": "id >= 0"},
        {"name": "raises", "expect": "CAST(concat(day, 'x') AS int) > 0", "on_fail": on_fail},
        {"name": "divides", "expect": "id / (ts - 2) > 0", "on_fail": on_fail},
    )
    before = gate.seen()
    with pytest.raises(TaskError) as caught:
        run(spark, spec)
    assert caught.value.condition == "audit/check-not-run"
    assert caught.value.exit_code == 5
    assert "`raises`" in caught.value.message
    assert "`divides`" in caught.value.message
    assert "`sound`" not in caught.value.message
    assert gate.seen() == before


@pytest.mark.parametrize("on_fail", ["abort", "warn"])
@pytest.mark.parametrize(
    "check",
    [
        {"expect_aggregate": "max(CAST(concat(day, 'x') AS int)) > 0"},
        {"query": "SELECT id FROM this WHERE CAST(concat(day, 'x') AS int) > 0"},
        {
            "gx": "expect_column_values_to_match_regex",
            "arguments": {"column": "day", "regex": "["},
        },
    ],
    ids=["aggregate", "query", "gx"],
)
def test_aggregate_query_or_expectation_that_raises_is_no_verdict_either(
    spark: SparkSession, tmp_path: Path, check: dict[str, Any], on_fail: str
) -> None:
    """Even where it was only to warn."""
    gate = Gate(folder=tmp_path, operation="insert")
    gate.put("one", good_rows(range(5)))
    spec = gate.spec({"name": "raises", "on_fail": on_fail, **check})
    before = gate.seen()
    with pytest.raises(TaskError) as caught:
        run(spark, spec)
    assert caught.value.condition == "audit/check-not-run"
    assert "raises" in caught.value.message
    assert gate.seen() == before


def test_report_of_a_refused_run_holds_every_check_and_that_it_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Checks that passed or warned are reported with those that failed."""
    gate = a_gate(tmp_path)
    spec = gate.spec(
        {"name": "fails", "expect": "amount > 0"},
        {"name": "warns", "expect": "amount > 0", "on_fail": "warn"},
        {"name": "passes", "expect": "id > 0"},
    )
    report = gate_report(spark, spec)
    assert [each.outcome for each in report.checks] == [
        Outcome.FAILED,
        Outcome.WARNED,
        Outcome.PASSED,
    ]
    assert not report.passed
    assert report.refusal["condition"] == "audit/checks-failed"
    with pytest.raises(AuditFailedError):
        run(spark, spec)
