"""Values of YAML as values of a column's type."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from framework.engine.spec_tests.values import UnfitError, arrow_type, fitted, inferred, type_text
from framework.spec.sql.spark_types import normal_type


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (True, "boolean", True),
        (127, "tinyint", 127),
        (7.0, "bigint", 7),
        (5, "double", 5.0),
        (0.1, "float", pa.scalar(0.1, pa.float32()).as_py()),
        ("Infinity", "double", math.inf),
        (12.5, "decimal(10,2)", Decimal("12.5")),
        ("-0.10", "decimal(2,2)", Decimal("-0.10")),
        (100, "decimal(3,0)", Decimal(100)),
        (0, "decimal(2,2)", Decimal(0)),
        ("é", "string", "é"),
        ("é", "binary", "é".encode()),
        ("2026-02-28", "date", date(2026, 2, 28)),
        ("2026-01-31", "timestamp", datetime(2026, 1, 31, tzinfo=UTC)),
        (
            "2026-01-31 10:00:00.123456",
            "timestamp_ntz",
            datetime.fromisoformat("2026-01-31T10:00:00.123456"),
        ),
        ("2026-01-31T10:00+02:00", "timestamp", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ([1, None], "array<int>", [1, None]),
        ({"a": 1}, "map<string,double>", [("a", 1.0)]),
        ({"1": "x"}, "map<int,string>", [(1, "x")]),
        ({"A": 1}, "struct<a:int,b:array<date>>", {"a": 1, "b": None}),
        (None, "date", None),
    ],
)
def test_value_that_fits_is_that_value_of_the_type(value: Any, kind: str, expected: Any) -> None:
    """Arrow takes it as it is."""
    found = fitted(value, arrow_type(kind))
    assert found == expected
    assert pa.array([found], arrow_type(kind)).null_count == (found is None)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, "boolean"),
        (128, "tinyint"),
        (1.5, "bigint"),
        (True, "int"),
        ("5", "int"),
        (2**53 + 1, "double"),
        (1e300, "float"),
        ("x", "double"),
        (1.005, "decimal(10,2)"),
        (1000, "decimal(3,0)"),
        (True, "decimal(3,0)"),
        ([1], "decimal(3,0)"),
        (5, "string"),
        ("2026-02-30", "date"),
        ("2026-2-3", "date"),
        (20260203, "date"),
        ("2026-01-31 10:00:00.1234567", "timestamp"),
        ("2026-01-31T10:00Z", "timestamp_ntz"),
        ("soon", "timestamp"),
        (1, "array<int>"),
        ([1.5], "array<int>"),
        ([1], "map<string,int>"),
        ({"x": 1}, "map<int,int>"),
        ({"c": 1}, "struct<a:int>"),
        (1, "struct<a:int>"),
    ],
)
def test_value_that_does_not_fit_is_refused(value: Any, kind: str) -> None:
    """Nothing is rounded, cut, or read as something else."""
    with pytest.raises(UnfitError):
        fitted(value, arrow_type(kind))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None], "bigint"),
        ([1, 2.5], "double"),
        ([True], "boolean"),
        (["2026-01-01"], "string"),
        ([None], "string"),
        ([[1], [2.5]], "array<double>"),
        ([{"a": 1}, {"b": "x"}], "struct<a:bigint,b:string>"),
    ],
)
def test_type_of_values_is_that_of_yaml(values: list[Any], kind: str) -> None:
    """Text stays text."""
    assert inferred(values) == arrow_type(kind)


@pytest.mark.parametrize("values", [[1, "a"], [True, 1], [[1], {"a": 1}], [[1, "a"]]])
def test_values_without_a_type_in_common_are_refused(values: list[Any]) -> None:
    """The author must declare the type."""
    with pytest.raises(UnfitError, match="several types"):
        inferred(values)


@pytest.mark.parametrize(
    "text",
    ["decimal(38,10)", "array<array<int>>", "map<string,struct<`a b`:int,c:date>>", "timestamp"],
)
def test_normal_text_of_a_type_is_understood(text: str) -> None:
    """As specs write it."""
    kind = arrow_type(normal_type(text))
    assert kind == arrow_type(text)
    assert type_text(kind) == (text if "<" not in text else str(kind))


def test_type_that_no_table_has_is_refused() -> None:
    """Such as intervals."""
    with pytest.raises(ValueError, match="interval"):
        arrow_type("interval day")
