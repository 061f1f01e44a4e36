"""The order of a clustered group's rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from framework.engine.services.row_order import is_sortable, sorted_places
from framework.vocabulary import RowOrder


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, None, 1]),
        pa.array([3.5, None, -1.0]),
        pa.array([True, None, False]),
        pa.array(["b", None, "a"]),
        pa.array([b"b", None, b"a"]),
        pa.array([Decimal("2.50"), None, Decimal("-1.00")]),
        pa.array([dt.date(2026, 1, 2), None, dt.date(2026, 1, 1)]),
        pa.array([2, None, 1], pa.timestamp("us", "UTC")),
    ],
    ids=lambda each: str(each.type),
)
@pytest.mark.parametrize("order", list(RowOrder))
def test_rows_are_sorted_by_a_column_of_each_type(values: pa.Array, order: RowOrder) -> None:
    """Nulls come first."""
    assert is_sortable(values.type)
    rows = pa.table({"a": values})
    assert sorted_places(rows, ["a"], order).tolist() == [1, 2, 0]


def test_linear_order_sorts_by_the_first_column_first_and_keeps_equal_rows() -> None:
    """As ORDER BY does, and stable."""
    rows = pa.table({"a": [2, 1, 2, 1, 1], "b": [1, 9, 0, 9, 3]})
    assert sorted_places(rows, ["a", "b"], RowOrder.LINEAR).tolist() == [4, 1, 3, 2, 0]


def test_z_order_keeps_rows_together_that_are_near_in_each_column() -> None:
    """A quarter of a square grid of rows has about half of each column's range, not one whole."""
    grid = np.array([(x, y) for x in range(16) for y in range(16)])
    shuffled = grid[np.random.default_rng(7).permutation(len(grid))]
    rows = pa.table({"x": shuffled[:, 0], "y": shuffled[:, 1]})
    places = sorted_places(rows, ["x", "y"], RowOrder.Z_ORDER)
    assert sorted(places.tolist()) == list(range(256))
    for part in np.array_split(shuffled[places], 4):
        assert np.ptp(part, axis=0).tolist() == [7, 7]


def test_nested_columns_are_not_sortable() -> None:
    """They have no order."""
    assert not is_sortable(pa.list_(pa.int64()))
    assert not is_sortable(pa.struct([("a", pa.int64())]))
