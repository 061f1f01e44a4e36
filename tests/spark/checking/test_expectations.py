"""Checks of Great Expectations: results, what is shown of them, and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from framework.engine.results import CheckResult
from framework.errors import TaskError
from framework.plan.quality.model import Budget, Check
from framework.spec.rules.expectations import checks_rows
from framework.vocabulary import OnFail, Outcome
from tests.support.expectations import EXAMPLES, a_check, six_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[..., tuple[CheckResult, ...]]

pytestmark = pytest.mark.spark


@pytest.fixture(scope="session")
def run() -> Run:
    """Run checks; the import of Great Expectations takes seconds, so it waits for a test."""
    found: Run = import_module("framework.spark.checking.expectations").run_expectations
    return found


def values(result: CheckResult) -> list[dict[str, str | None]]:
    """What is shown of the bad rows."""
    return [dict(row.values) for row in result.samples]


def test_each_expectation_of_the_catalogue_passes_what_is_right(
    spark: SparkSession, run: Run
) -> None:
    """All of them, in one suite over one frame."""
    checks = [a_check(name, **example.passing) for name, example in EXAMPLES.items()]
    results = run(six_rows(spark), checks, samples=0)
    assert [each.check for each in results] == checks
    assert {each.check.name for each in results if each.outcome is not Outcome.PASSED} == set()
    counted = {each.check.name for each in results if "element_count" in found(each)}
    assert counted == {name for name in EXAMPLES if checks_rows(name)}


def test_each_expectation_of_the_catalogue_fails_a_planted_fault(
    spark: SparkSession, run: Run
) -> None:
    """And counts the bad rows where it judges rows."""
    checks = [a_check(name, **example.failing) for name, example in EXAMPLES.items()]
    results = run(six_rows(spark), checks, samples=2)
    wanted = {name: 1 if e.bad is None else e.bad for name, e in EXAMPLES.items()}
    assert {each.check.name: each.failed for each in results} == wanted
    assert {each.outcome for each in results} == {Outcome.FAILED}
    shown = {name: min(2, e.bad or 0) for name, e in EXAMPLES.items()}
    assert {each.check.name: len(each.samples) for each in results} == shown
    for each in results:
        json.dumps(dict(each.expectation), allow_nan=False)


def found(result: CheckResult) -> dict[str, Any]:
    """What Great Expectations says under `result`."""
    inner = result.expectation["result"]
    assert isinstance(inner, dict)
    return inner


def test_result_of_a_check_has_counts_samples_and_the_form_of_great_expectations(
    spark: SparkSession, run: Run
) -> None:
    """The same result, twice: as ours and as its tooling reads it."""
    check = a_check("expect_column_values_to_be_in_set", "letters", column="s", value_set=["aa"])
    (result,) = run(six_rows(spark), [check], samples=3)
    assert (result.outcome, result.rows, result.failed) == (Outcome.FAILED, 6, 4)
    assert values(result) == [{"s": "bb"}, {"s": "cc"}, {"s": "bb"}]
    assert result.observed is None
    assert result.expectation["success"] is False
    assert result.expectation["expectation_config"] == {
        "type": "expect_column_values_to_be_in_set",
        "kwargs": {"column": "s", "value_set": ["aa"]},
        "meta": {"check": "letters"},
        "severity": "critical",
    }
    assert found(result)["partial_unexpected_list"] == ["bb", "cc", "bb"]


def test_checks_that_are_alike_but_for_their_name_each_have_a_result(
    spark: SparkSession, run: Run
) -> None:
    """Results come in the order of the checks, whatever order GX has."""
    one, two = (
        a_check("expect_column_max_to_be_between", n, column="a", max_value=9) for n in "xy"
    )
    none = a_check("expect_column_to_exist", "z", column="zz")
    results = run(six_rows(spark), [none, two, one], samples=1)
    assert [each.check.name for each in results] == ["z", "y", "x"]
    assert [each.outcome for each in results] == [Outcome.FAILED, Outcome.PASSED, Outcome.PASSED]


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({}, Outcome.FAILED),
        ({"on_fail": OnFail.WARN}, Outcome.WARNED),
        ({"budget": Budget(rows=3)}, Outcome.FAILED),
        ({"budget": Budget(rows=4)}, Outcome.PASSED),
        ({"budget": Budget(share=0.5)}, Outcome.FAILED),
        ({"budget": Budget(share=0.7)}, Outcome.PASSED),
        ({"mostly": 0.3}, Outcome.PASSED),
        ({"mostly": 0.4}, Outcome.FAILED),
    ],
)
def test_four_bad_rows_of_six_are_judged_by_budget_and_by_mostly(
    spark: SparkSession, run: Run, more: dict[str, Any], outcome: Outcome
) -> None:
    """Either suffices; what is within it is still counted and shown."""
    check = a_check("expect_column_values_to_match_regex", column="s", regex="^a", **more)
    (result,) = run(six_rows(spark), [check], samples=1)
    assert (result.outcome, result.failed, len(result.samples)) == (outcome, 4, 1)


def test_budget_of_a_check_that_judges_no_rows_changes_nothing(
    spark: SparkSession, run: Run
) -> None:
    """One value has no rows to spare."""
    check = a_check(
        "expect_column_max_to_be_between", column="a", max_value=4, budget=Budget(rows=9)
    )
    (result,) = run(six_rows(spark), [check], samples=1)
    assert (result.outcome, result.failed, result.observed) == (Outcome.FAILED, 1, "5")


def test_nulls_are_passed_over_unless_they_are_what_is_checked(
    spark: SparkSession, run: Run
) -> None:
    """As Great Expectations does."""
    between = a_check("expect_column_values_to_be_between", column="n", min_value=1)
    filled = a_check("expect_column_values_to_not_be_null", column="n")
    results = run(six_rows(spark), [between, filled], samples=5)
    assert [(each.rows, each.failed) for each in results] == [(6, 0), (6, 1)]
    assert values(results[1]) == [{"n": None}]


def test_row_condition_restricts_the_rows_of_its_check_alone(spark: SparkSession, run: Run) -> None:
    """It is a predicate of Spark SQL."""
    some = a_check(
        "expect_column_values_to_be_in_set", column="s", value_set=["aa"], row_condition="a % 3 = 0"
    )
    most = a_check("expect_column_max_to_be_between", column="a", max_value=2, row_condition="a<3")
    every = a_check("expect_table_row_count_to_equal", value=6)
    results = run(six_rows(spark), [some, most, every], samples=5)
    assert [each.outcome for each in results] == [Outcome.PASSED] * 3
    assert results[0].rows == 2


def test_values_of_redacted_columns_are_shown_nowhere(spark: SparkSession, run: Run) -> None:
    """Neither as samples, nor as what was observed, nor in Great Expectations' own result."""
    checks = [
        a_check("expect_column_values_to_be_in_set", column="s", value_set=["aa"]),
        a_check("expect_column_pair_values_to_be_equal", column_A="s", column_B="t"),
        a_check("expect_compound_columns_to_be_unique", column_list=["five", "s"]),
        a_check("expect_column_distinct_values_to_be_in_set", column="s", value_set=["aa"]),
        a_check("expect_column_max_to_be_between", column="d", max_value="2025-01-01"),
        a_check("expect_column_unique_value_count_to_be_between", column="s", max_value=2),
    ]
    results = run(six_rows(spark), checks, samples=2, redacted=["S", "d"])
    assert values(results[0]) == [{"s": "***"}] * 2
    assert values(results[1])[0] == {"s": "***", "t": "2026-01-01"}
    assert values(results[2])[0] == {"five": "5", "s": "***"}
    assert results[4].observed == "***"
    assert results[5].observed == "3"
    text = json.dumps([found(each) for each in results])
    assert all(secret not in text for secret in ("bb", "cc", "2026-01-06"))


def test_frame_without_rows_passes_checks_of_rows_and_fails_those_of_values(
    spark: SparkSession, run: Run
) -> None:
    """There is no largest value, so it is in no range."""
    checks = [
        a_check("expect_column_values_to_be_unique", column="a"),
        a_check("expect_column_max_to_be_between", column="a", max_value=9),
        a_check("expect_table_row_count_to_equal", value=0),
    ]
    results = run(six_rows(spark).where("a > 100"), checks, samples=2)
    outcomes = [Outcome.PASSED, Outcome.FAILED, Outcome.PASSED]
    assert [each.outcome for each in results] == outcomes


def test_values_of_any_type_are_shown_as_text(spark: SparkSession, run: Run) -> None:
    """Those that JSON does not have, too."""
    frame = spark.sql(
        "select cast('x' as binary) b, double('nan') f, timestamp'2026-01-01 10:00:00' t,"
        " cast(1.50 as decimal(9, 2)) m, array(1, null) l, named_struct('x', 1, 'y', 'z') r, true o"
    )
    checks = [a_check("expect_column_values_to_be_null", c, column=c) for c in frame.columns]
    results = run(frame, checks, samples=1)
    assert {c: text for each in results for c, text in values(each)[0].items()} == {
        "b": "78",
        "f": "nan",
        "t": "2026-01-01 10:00:00",
        "m": "1.50",
        "l": "[1, null]",
        "r": '[1, "z"]',
        "o": "true",
    }
    json.dumps([dict(each.expectation) for each in results], allow_nan=False)


BROKEN: list[tuple[Check, str]] = [
    (a_check("expect_column_max_to_be_between", "gone", column="zz", max_value=1), "'zz'"),
    (a_check("expect_column_values_to_be_of_type", "type", column="zz", type_="x"), "'zz'"),
    (a_check("expect_column_values_to_match_regex", "regex", column="s", regex="["), "Pattern"),
    (a_check("expect_column_values_to_be_between", "empty", column="a"), "min_value"),
    (
        a_check("expect_column_max_to_be_between", "where", column="a", row_condition="q = 1"),
        "`q`",
    ),
    (a_check("expect_moonshine", "name", column="a"), "expect_moonshine"),
]


def test_checks_that_cannot_run_are_named_all_at_once_with_their_own_reason(
    spark: SparkSession, run: Run
) -> None:
    """They have not failed, so nothing is said of the data; sound checks do not hide them."""
    sound = a_check("expect_column_values_to_not_be_null", column="a")
    with pytest.raises(TaskError) as refused:
        run(six_rows(spark), [sound, *(check for check, _ in BROKEN)], samples=2)
    assert refused.value.condition == "audit/check-not-run"
    head, *lines = refused.value.message.splitlines()
    assert head == "6 of 7 checks could not run:"
    for line, (check, reason) in zip(lines, BROKEN, strict=True):
        assert line.startswith(f"  {check.name} ({check.text}): ")
        assert reason in line


UNLIKE: list[tuple[str, dict[str, Any]]] = [
    ("expect_column_values_to_be_between", {"column": "s", "min_value": 3}),
    ("expect_column_values_to_be_between", {"column": "s", "min_value": "2026-01-01"}),
    ("expect_column_values_to_be_between", {"column": "a", "min_value": "2026-01-01"}),
    ("expect_column_max_to_be_between", {"column": "d", "max_value": 3}),
    ("expect_column_values_to_not_be_in_set", {"column": "s", "value_set": ["aa", 3]}),
    ("expect_column_values_to_be_in_set", {"column": "a", "value_set": ["x"]}),
    ("expect_column_values_to_be_in_set", {"column": "d", "value_set": ["new year"]}),
    ("expect_column_values_to_be_in_set", {"column": "a", "value_set": [True]}),
    ("expect_column_values_to_not_be_outliers", {"column": "s"}),
    ("expect_column_sum_to_be_between", {"column": "s", "max_value": 9}),
    ("expect_multicolumn_sum_to_equal", {"column_list": ["a", "s"], "sum_total": 3}),
    ("expect_column_pair_values_to_be_equal", {"column_A": "a", "column_B": "s"}),
    (
        "expect_column_pair_values_to_be_in_set",
        {"column_A": "a", "column_B": "s", "value_pairs_set": [[0, "aa"], ["bb", "bb"]]},
    ),
]


def test_checks_that_compare_unlike_kinds_cannot_run(spark: SparkSession, run: Run) -> None:
    """Without ANSI mode the comparison is null, which Great Expectations counts as right."""
    checks = [a_check(text, f"c{i}", **more) for i, (text, more) in enumerate(UNLIKE)]
    with pytest.raises(TaskError) as refused:
        run(six_rows(spark), checks, samples=2)
    assert refused.value.condition == "audit/check-not-run"
    lines = refused.value.message.splitlines()[1:]
    assert len(lines) == len(UNLIKE)
    assert all("cannot be compared" in line or "is not a number" in line for line in lines)


def test_checks_that_compare_like_kinds_run(spark: SparkSession, run: Run) -> None:
    """Numbers of any width, dates and times written as text, and flags."""
    frame = six_rows(spark).selectExpr("a", "decimal(a) m", "d", "timestamp(d) t", "a < 3 o", "s")
    between, within = "expect_column_values_to_be_between", "expect_column_values_to_be_in_set"
    pair = "expect_column_pair_values_to_be_equal"
    checks = [
        a_check(between, "1", column="m", min_value=3.0),
        a_check(between, "2", column="t", min_value="2026-01-04"),
        a_check(between, "3", column="t", min_value="2026-01-03T12:00:00"),
        a_check(between, "4", column="d", min_value="2026-01-03T12:00:00"),
        a_check(within, "5", column="d", value_set=["2026-01-04", "2026-01-05", "2026-01-06"]),
        a_check(within, "6", column="o", value_set=[False]),
        a_check(within, "7", column="m", value_set=[3, 4.0, 5]),
    ]
    results = run(frame, [*checks, a_check(pair, "8", column_A="a", column_B="m")], samples=0)
    assert [each.failed for each in results] == [3] * 7 + [0]


def test_reason_of_a_check_on_a_redacted_column_is_not_shown(spark: SparkSession, run: Run) -> None:
    """What Spark raises may hold the value."""
    frame = six_rows(spark).withColumn("s", spark_error())
    check = a_check("expect_column_values_to_be_in_set", column="s", value_set=["aa"])
    with pytest.raises(TaskError, match="may contain redacted values") as refused:
        run(frame, [check], samples=2, redacted=["s"])
    assert "hunter2" not in str(refused.value)


def spark_error() -> Any:
    """A column whose values cannot be computed."""
    functions = import_module("pyspark.sql.functions")
    return functions.expr("raise_error(concat('hunter', int(a) * 0 + 2))").cast("string")


def test_no_checks_take_no_time(spark: SparkSession, run: Run) -> None:
    """And give no results."""
    assert run(six_rows(spark), [], samples=2) == ()
