"""Whether an expectation can compare what it is to compare.

Unless Spark is in its strict mode (ANSI, which 4 has by default and 3.5 has not), text that is no
number compares with numbers as null, and Great Expectations takes a null for a row that is right.
So a check that compares unlike kinds would pass, whatever the rows hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import types

from framework.spec.rules.argument_values import moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.plan.quality.model import Check

__all__ = ["incomparable"]

_KINDS: Final = (
    (types.NumericType, "number"),
    (types.StringType, "text"),
    (types.DateType, "date"),
    ((types.TimestampType, types.TimestampNTZType), "time"),
    (types.BooleanType, "boolean"),
)
_FITTING: Final = {
    "number": {"number"},
    "text": {"text", "date", "time"},
    "date": {"date"},
    "boolean": {"boolean"},
}
"""Kinds of columns, and those of the values in a set that they compare with."""

_BOUNDED: Final = {"number": {"number"}, "date": {"date", "time"}, "time": {"date", "time"}}
"""Kinds of columns, and those of the bounds that they compare with."""

_BY_VALUE: Final = frozenset(
    {
        "expect_column_max_to_be_between",
        "expect_column_min_to_be_between",
        "expect_column_values_to_be_between",
    }
)
_NUMERIC: Final = frozenset(
    {
        "expect_column_mean_to_be_between",
        "expect_column_median_to_be_between",
        "expect_column_quantile_values_to_be_between",
        "expect_column_stdev_to_be_between",
        "expect_column_sum_to_be_between",
        "expect_column_value_z_scores_to_be_less_than",
        "expect_column_values_to_not_be_outliers",
        "expect_multicolumn_sum_to_equal",
    }
)
_ALIKE: Final = frozenset(
    {
        "expect_column_pair_values_a_to_be_greater_than_b",
        "expect_column_pair_values_to_be_equal",
        "expect_multicolumn_values_to_be_equal",
        "expect_select_column_values_to_be_unique_within_record",
    }
)


def incomparable(check: Check, columns: Mapping[str, types.DataType]) -> str | None:
    """Return why a check cannot compare, in one line, None where it can.

    Args:
        check: any expectation, with arguments that `argument_faults` finds right.
        columns: types of the columns that it names.
    """
    kinds = {name: _kind_of_type(each) for name, each in columns.items()}
    if check.text in _NUMERIC:
        return _first(f"{_told(c, columns)} is no number" for c in columns if kinds[c] != "number")
    if check.text in _ALIKE and len(set(kinds.values())) > 1:
        return " cannot be compared with ".join(_told(c, columns) for c in columns)
    return _first(
        f"`{argument}` cannot be compared with {_told(column, columns)}"
        for argument, value, column, fitting in _literals(check, list(columns), kinds)
        if _kind_of_value(value) not in fitting
    )


def _literals(
    check: Check, columns: list[str], kinds: Mapping[str, str]
) -> Iterator[tuple[str, Any, str, set[str]]]:
    """Yield the values that a check compares: path, value, column, and the kinds that would do."""
    arguments: Mapping[str, Any] = check.arguments
    for index, value in enumerate(arguments.get("value_set", ())):
        column = columns[0]
        yield f"value_set[{index}]", value, column, _FITTING.get(kinds[column], set())
    for index, pair in enumerate(arguments.get("value_pairs_set", ())):
        for column, value in zip(columns, pair, strict=False):
            yield f"value_pairs_set[{index}]", value, column, _FITTING.get(kinds[column], set())
    for name in ("min_value", "max_value") if check.text in _BY_VALUE else ():
        if name in arguments:
            yield name, arguments[name], columns[0], _BOUNDED.get(kinds[columns[0]], set())


def _kind_of_type(found: types.DataType) -> str:
    """Return the kind of a column."""
    return next((kind for of, kind in _KINDS if isinstance(found, of)), found.simpleString())


def _kind_of_value(value: Any) -> str:
    """Return the kind of a value of the spec; a date and a time are written as text."""
    if isinstance(value, bool):
        return "boolean"
    if not isinstance(value, str):
        return "number"
    read = moment(value)
    return "text" if read is None else "time" if len(value) > len("2026-11-22") else "date"


def _told(column: str, columns: Mapping[str, types.DataType]) -> str:
    """Return a column with its type, for people."""
    return f"column {column!r} ({columns[column].simpleString()})"


def _first(reasons: Iterator[str]) -> str | None:
    """Return the first reason, if there is any."""
    return next(reasons, None)
