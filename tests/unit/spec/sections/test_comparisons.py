"""Conditions on partition values."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from framework.spec.sections.comparisons import (
    OPERATORS,
    Comparison,
    PartitionValue,
    parse_comparisons,
)
from framework.vocabulary import PartitionType


@pytest.mark.parametrize(
    ("text", "kind", "operator", "value"),
    [
        (">= 2026-10-01", PartitionType.DATE, ">=", date(2026, 10, 1)),
        ("2026-10-01", PartitionType.DATE, "=", date(2026, 10, 1)),
        ("!=8", PartitionType.INT, "!=", 8),
        ("< -2147483648", PartitionType.INT, "<", -(2**31)),
        ("<= 9223372036854775807", PartitionType.LONG, "<=", 2**63 - 1),
        ("= true", PartitionType.BOOLEAN, "=", True),
        ("> 'a b'", PartitionType.STRING, ">", "a b"),
        ("north and south", PartitionType.STRING, "=", "north and south"),
        ('"="', PartitionType.STRING, "=", "="),
    ],
)
def test_condition_is_read_in_the_type_of_its_column(
    text: str, kind: PartitionType, operator: str, value: PartitionValue
) -> None:
    """Operator and value, with or without spaces and quotes."""
    assert parse_comparisons("c", text, kind) == (
        Comparison(column="c", operator=operator, value=value),
    )


def test_conditions_joined_by_and_must_all_hold() -> None:
    """A range is two comparisons."""
    low, high = parse_comparisons("c", ">= 3 and < 6", PartitionType.INT)
    assert [v for v in range(10) if low.holds(v) and high.holds(v)] == [3, 4, 5]


@pytest.mark.parametrize("operator", OPERATORS)
def test_missing_value_meets_no_condition(operator: str) -> None:
    """As in SQL, null compares with nothing."""
    assert not Comparison(column="c", operator=operator, value=1).holds(None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x", PartitionType.INT),
        ("", PartitionType.STRING),
        (">=", PartitionType.STRING),
        ("2147483648", PartitionType.INT),
        ("9223372036854775808", PartitionType.LONG),
        ("1_0", PartitionType.INT),
        ("1.0", PartitionType.INT),
        ("2026-2-1", PartitionType.DATE),
        ("2026-02-30", PartitionType.DATE),
        ("20260201", PartitionType.DATE),
        ("True", PartitionType.BOOLEAN),
        ("> false", PartitionType.BOOLEAN),
        ("=> 1", PartitionType.INT),
        ("<> 1", PartitionType.INT),
        ("!1", PartitionType.INT),
        ("> 1 and x", PartitionType.INT),
    ],
)
def test_condition_that_does_not_fit_its_type_is_refused(text: str, kind: PartitionType) -> None:
    """No value is bent to fit."""
    with pytest.raises(PydanticCustomError) as caught:
        parse_comparisons("c", text, kind)
    assert caught.value.context is not None
    assert caught.value.context["rule"] == "bad-comparison"


@pytest.mark.property
@given(
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**31), 2**31 - 1),
    st.sampled_from([*OPERATORS]),
)
def test_comparison_agrees_with_python(left: int, right: int, operator: str) -> None:
    """Written out and read back, a comparison means what Python's does."""
    (comparison,) = parse_comparisons("c", f"{operator} {right}", PartitionType.INT)
    assert comparison.holds(left) is OPERATORS[operator](left, right)
