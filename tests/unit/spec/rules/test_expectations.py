"""What `validate` says of a check of Great Expectations, without importing it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from framework.spec.rules.expectations import (
    argument_faults,
    checks_rows,
    column_arguments,
    expectations,
)
from tests.support.expectations import EXAMPLES

BETWEEN = "expect_column_values_to_be_between"
IN_SET = "expect_column_values_to_be_in_set"
QUANTILES = "expect_column_quantile_values_to_be_between"
TOOL = Path(__file__).parents[4] / "tools" / "write_gx_catalogue.py"

FAULTS: list[tuple[str, dict[str, Any], str | None, str]] = [
    ("expect_column_values_to_be_in_sett", {}, None, "unknown-expectation"),
    ("expect_column_values_to_match_like_pattern", {}, None, "unknown-expectation"),
    (IN_SET, {"column": "a", "value_set": [1], "mostli": 1}, "mostli", "unknown-argument"),
    (IN_SET, {"column": "a", "value_set": [1], "meta": {}}, "meta", "unknown-argument"),
    (IN_SET, {"column": "a"}, "value_set", "missing-argument"),
    (IN_SET, {"value_set": [1]}, "column", "missing-argument"),
    (IN_SET, {"column": 1, "value_set": [1]}, "column", "argument-type"),
    (IN_SET, {"column": "", "value_set": [1]}, "column", "argument-type"),
    (IN_SET, {"column": "a", "value_set": "b"}, "value_set", "argument-type"),
    (IN_SET, {"column": "a", "value_set": []}, "value_set", "argument-type"),
    (IN_SET, {"column": "a", "value_set": [1, None]}, "value_set[1]", "argument-type"),
    (IN_SET, {"column": "a", "value_set": [1], "mostly": 1.1}, "mostly", "argument-type"),
    (IN_SET, {"column": "a", "value_set": [1], "mostly": True}, "mostly", "argument-type"),
    (IN_SET, {"column": "a", "value_set": [1], "mostly": "0.9"}, "mostly", "argument-type"),
    (
        IN_SET,
        {"column": "a", "value_set": [1], "row_condition": 1},
        "row_condition",
        "argument-type",
    ),
    (BETWEEN, {"column": "a"}, "min_value", "missing-argument"),
    (BETWEEN, {"column": "a", "min_value": None}, "min_value", "argument-type"),
    (BETWEEN, {"column": "a", "min_value": True}, "min_value", "argument-type"),
    (BETWEEN, {"column": "a", "min_value": float("nan")}, "min_value", "argument-type"),
    (BETWEEN, {"column": "a", "min_value": ""}, "min_value", "argument-type"),
    (BETWEEN, {"column": "a", "min_value": "2026-02-30"}, "min_value", "argument-type"),
    (BETWEEN, {"column": "a", "min_value": "20260228"}, "min_value", "argument-type"),
    (BETWEEN, {"column": "a", "min_value": 2, "max_value": 1}, "min_value", "argument-type"),
    (
        BETWEEN,
        {"column": "a", "min_value": "2026-01-02", "max_value": "2026-01-01"},
        "min_value",
        "argument-type",
    ),
    (
        BETWEEN,
        {"column": "a", "min_value": "2026-01-02", "max_value": 3},
        "min_value",
        "argument-type",
    ),
    (
        BETWEEN,
        {"column": "a", "min_value": "2026-01-02", "max_value": "2026-01-03T00:00:00"},
        "min_value",
        "argument-type",
    ),
    (
        BETWEEN,
        {"column": "a", "min_value": "2026-01-02T00:00:00", "max_value": "2026-01-03T00:00:00Z"},
        "min_value",
        "argument-type",
    ),
    (BETWEEN, {"column": "a", "min_value": 1, "strict_min": 1}, "strict_min", "argument-type"),
    ("expect_table_row_count_to_equal", {"value": 1.5}, "value", "argument-type"),
    ("expect_table_row_count_to_equal", {"value": -1}, "value", "argument-type"),
    ("expect_table_row_count_to_be_between", {}, "min_value", "missing-argument"),
    ("expect_column_values_to_match_regex", {"column": "a"}, "regex", "missing-argument"),
    (
        "expect_compound_columns_to_be_unique",
        {"column_list": ["a"]},
        "column_list",
        "argument-type",
    ),
    (
        "expect_compound_columns_to_be_unique",
        {"column_list": ["a", "b"], "ignore_row_if": "sometimes"},
        "ignore_row_if",
        "argument-type",
    ),
    (
        "expect_column_pair_values_to_be_in_set",
        {"column_A": "a", "column_B": "b", "value_pairs_set": [[1, 2], [3]]},
        "value_pairs_set[1]",
        "argument-type",
    ),
    (
        "expect_column_values_to_match_strftime_format",
        {"column": "a", "strftime_format": "%"},
        "strftime_format",
        "argument-type",
    ),
    (
        "expect_column_values_to_match_json_schema",
        {"column": "a", "json_schema": {}},
        "json_schema",
        "argument-type",
    ),
    (
        QUANTILES,
        {"column": "a", "quantile_ranges": {"quantiles": [0.5]}},
        "quantile_ranges",
        "argument-type",
    ),
    (
        QUANTILES,
        {"column": "a", "quantile_ranges": {"quantiles": [2], "value_ranges": [[1, 2]]}},
        "quantile_ranges.quantiles[0]",
        "argument-type",
    ),
    (
        QUANTILES,
        {"column": "a", "quantile_ranges": {"quantiles": [0.5, 1], "value_ranges": [[1, 2]]}},
        "quantile_ranges",
        "argument-type",
    ),
    (
        QUANTILES,
        {"column": "a", "quantile_ranges": {"quantiles": [0.5], "value_ranges": [[2, 1]]}},
        "quantile_ranges.value_ranges[0]",
        "argument-type",
    ),
    (
        QUANTILES,
        {"column": "a", "quantile_ranges": {"quantiles": [0.5], "value_ranges": [[None, None]]}},
        "quantile_ranges.value_ranges[0]",
        "argument-type",
    ),
]

SOUND: list[tuple[str, dict[str, Any]]] = [
    (BETWEEN, {"column": "a", "min_value": 0, "max_value": 0}),
    (BETWEEN, {"column": "a", "max_value": -1.5}),
    (BETWEEN, {"column": "a", "min_value": "2026-11-22T09:30:00", "max_value": "2026-11-23T00:00"}),
    (IN_SET, {"column": "a", "value_set": [True, "x", 1, 1.5], "mostly": 0, "row_condition": "b"}),
    (
        QUANTILES,
        {
            "column": "a",
            "quantile_ranges": {"quantiles": [0, 1], "value_ranges": [[None, 1], [1, 1]]},
        },
    ),
]


@pytest.mark.parametrize(("expectation", "arguments", "argument", "rule"), FAULTS)
def test_fault_of_a_check_is_reported_once_at_its_place(
    expectation: str, arguments: dict[str, Any], argument: str | None, rule: str
) -> None:
    """By the path of the argument and the rule that it breaks."""
    faults = argument_faults(expectation, arguments)
    assert [(fault.argument, fault.rule) for fault in faults if fault.rule == rule] == [
        (argument, rule)
    ]


@pytest.mark.parametrize(("expectation", "arguments"), SOUND)
def test_check_that_is_right_has_no_fault(expectation: str, arguments: dict[str, Any]) -> None:
    """Bounds that are equal, dates as text, and values of any kind are."""
    assert argument_faults(expectation, arguments) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_each_expectation_have_no_fault(name: str) -> None:
    """What Great Expectations runs is not refused."""
    assert argument_faults(name, EXAMPLES[name].passing) == []
    assert argument_faults(name, EXAMPLES[name].failing) == []


def test_each_expectation_of_the_catalogue_has_an_example() -> None:
    """The tests on Spark run all of them."""
    assert set(EXAMPLES) == set(expectations())
    assert {name for name, e in EXAMPLES.items() if e.bad is not None} == {
        name for name in EXAMPLES if checks_rows(name)
    }


def test_all_faults_of_a_check_are_reported_at_once() -> None:
    """Those of kinds and of names together."""
    faults = argument_faults(IN_SET, {"kolumn": "a", "value_set": 1, "mostly": 2})
    assert [(fault.argument, fault.rule, fault.suggestion) for fault in faults] == [
        ("column", "missing-argument", None),
        ("kolumn", "unknown-argument", "column"),
        ("mostly", "argument-type", None),
        ("value_set", "argument-type", None),
    ]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("expect_column_value_to_be_in_set", "expect_column_values_to_be_in_set"),
        ("ExpectColumnMaxToBeBetween", "expect_column_max_to_be_between"),
        ("moonshine", None),
    ],
)
def test_unknown_expectation_is_reported_with_the_nearest(written: str, meant: str | None) -> None:
    """Class names are recognized as their expectations."""
    (fault,) = argument_faults(written, {"any": 1})
    assert (fault.argument, fault.suggestion) == (None, meant)


def test_expectation_that_spark_lacks_is_reported_with_the_reason() -> None:
    """The refusal explains why an expectation of GX is missing."""
    (fault,) = argument_faults("expect_column_values_to_match_like_pattern", {})
    assert "no implementation for Spark" in fault.message
    (other,) = argument_faults("unexpected_rows_expectation", {})
    assert "`query`" in other.message


def test_value_that_does_not_fit_is_not_shown() -> None:
    """It may have come from a secret."""
    (fault,) = argument_faults(BETWEEN, {"column": "a", "min_value": "hunter2"})
    assert fault.message == (
        "must be a number or a date as text, such as 2026-11-22 or a time as text,"
        " such as 2026-11-22T09:30:00, is text"
    )


def test_columns_of_a_check_come_with_the_paths_that_name_them() -> None:
    """So that a missing column is reported at its position."""
    assert column_arguments(IN_SET, {"column": "a", "value_set": ["b"]}) == [("column", "a")]
    pair = {"column_A": "a", "column_B": "b"}
    assert column_arguments("expect_column_pair_values_to_be_equal", pair) == [
        ("column_A", "a"),
        ("column_B", "b"),
    ]
    assert column_arguments("expect_multicolumn_sum_to_equal", {"column_list": ["a", 1, "b"]}) == [
        ("column_list[0]", "a"),
        ("column_list[2]", "b"),
    ]


@pytest.mark.parametrize(
    ("expectation", "arguments"),
    [
        ("expect_column_to_exist", {"column": "a"}),
        ("expect_table_columns_to_match_set", {"column_set": ["a"]}),
        ("expect_moonshine", {"column": "a"}),
        (IN_SET, {"column": 1}),
    ],
)
def test_columns_whose_being_there_is_checked_are_not_needed(
    expectation: str, arguments: dict[str, Any]
) -> None:
    """Nor is what names no column."""
    assert column_arguments(expectation, arguments) == []


@pytest.mark.long
def test_catalogue_is_that_of_the_installed_great_expectations() -> None:
    """Another version has other arguments; the file is written again, not edited."""
    program = f"import runpy; print(runpy.run_path({str(TOOL)!r})['catalogue_text'](), end='')"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=120
    )
    path = TOOL.parents[1] / "framework" / "spec" / "rules" / "gx_catalogue.json"
    assert json.loads(done.stdout) == json.loads(path.read_text()), "run `make schemas`"
    assert done.stdout == path.read_text(), "run `make schemas`"


@pytest.mark.long
def test_great_expectations_accepts_what_the_catalogue_accepts() -> None:
    """Each example, and each sound check, can be made."""
    checks = [(n, a) for n, e in EXAMPLES.items() for a in (e.passing, e.failing)] + SOUND
    program = (
        "import sys, json\n"
        "from framework.spark.checking import great_expectations as gx\n"
        "for name, arguments in json.load(sys.stdin):\n"
        "    arguments.pop('row_condition', None)\n"
        "    gx.get_expectation_impl(name)(**arguments)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(checks),
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
