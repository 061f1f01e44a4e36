"""Rows that are expected beside those that are there."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from framework.engine.spec_tests.result import NO_ROWS, compare, text_of
from framework.plan.refusals import Fault
from tests.support.spec_tests import some_rows

ROWS = pa.table({"id": [1, 2, 2], "v": [0.5, math.nan, math.nan], "t": ["a", None, None]})


def test_rows_in_another_order_are_the_same() -> None:
    """Each as often as it is there, and NaN like NaN; columns that none names are not looked at."""
    expected = some_rows({"id": 2, "v": "NaN"}, {"id": 1, "v": 0.5}, {"v": "NaN", "id": 2})
    assert compare("written", expected, ROWS, []) is None


def test_surplus_and_missing_rows_are_reported() -> None:
    """As multisets: each missing and each unexpected one, in texts."""
    found = compare("written", some_rows({"id": 1}, {"id": 1}, {"id": 2}), ROWS, [])
    assert found is not None
    assert (found.columns, found.matched) == (("id",), 2)
    assert (found.missing, found.unexpected) == ((("1",),), (("2",),))


def test_column_that_a_row_leaves_out_is_null_there() -> None:
    """Where another row names it."""
    expected = some_rows({"id": 1, "t": "a"}, {"id": 2}, {"id": 2})
    assert compare("written", expected, ROWS, []) is None


def test_no_expected_rows_show_all_that_is_there() -> None:
    """In all columns but those of the framework's own."""
    rows = ROWS.append_column("_lakestrap_row", pa.array([1, 2, 3]))
    found = compare("quarantined", some_rows(), rows, [])
    assert found is not None
    assert found.columns == ("id", "v", "t")
    assert found.unexpected[0] == ("1", "0.5", "a")
    assert compare("written", some_rows(), NO_ROWS, []) is None


def test_expected_rows_are_missing_where_nothing_was_made() -> None:
    """Their columns are not known then, and no fault."""
    faults: list[Fault] = []
    found = compare("written", some_rows({"x": [1, {"a": 2}]}), NO_ROWS, faults)
    assert found is not None
    assert found.missing == (("[1, {a: 2}]",),)
    assert faults == []


def test_faulty_expected_rows_are_not_compared() -> None:
    """What they mean is not known."""
    faults: list[Fault] = []
    assert compare("written", some_rows({"id": "one"}), ROWS, faults) is None
    assert [each.key_path for each in faults] == ["tests[0].given[0].id"]


def test_nested_values_are_compared_by_what_they_hold() -> None:
    """Lists in order, maps in any, structs by field."""
    kind = pa.map_(pa.string(), pa.int64())
    rows = pa.table(
        {
            "m": pa.array([[("b", 2), ("a", 1)]], kind),
            "l": pa.array([[1, 2]]),
            "s": pa.array([{"x": [{"y": 1}]}]),
        }
    )
    same = some_rows({"m": {"a": 1, "b": 2}, "l": [1, 2], "s": {"x": [{"y": 1}]}})
    assert compare("written", same, rows, []) is None
    other = compare("written", some_rows({"m": {"a": 1}, "l": [2, 1]}), rows, [])
    assert other is not None
    assert (other.missing, other.unexpected) == (
        (("{a: 1}", "[2, 1]"),),
        (("{b: 2, a: 1}", "[1, 2]"),),
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("null", "'null'"),
        ("", "''"),
        (" a", "' a'"),
        ("a b", "a b"),
        (True, "true"),
        (Decimal("7.00"), "7.00"),
        (b"a\xff", "a\\xff"),
        (datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02 03:00:00"),
    ],
)
def test_text_of_a_value_is_unambiguous(value: Any, text: str) -> None:
    """Null is not the word."""
    assert text_of(value) == text
