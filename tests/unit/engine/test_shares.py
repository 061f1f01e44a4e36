"""Sharing work among tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from framework.engine.shares import shared


@given(
    costs=st.lists(st.floats(0, 1e9), max_size=50),
    parallelism=st.integers(1, 8),
    least=st.floats(0, 1e9),
)
def test_shared_any_costs_keeps_every_item_in_order(
    costs: list[float], parallelism: int, least: float
) -> None:
    """Stretches put together are the items; none is empty, and there are not too many."""
    items = list(enumerate(costs))
    parts = shared(items, lambda each: each[1], parallelism, least=least)
    assert [each for part in parts for each in part] == items
    assert all(parts)
    assert len(parts) <= parallelism * 2


def test_shared_equal_costs_gives_equal_parts() -> None:
    """Eight items of one cost for two cores are four parts of two."""
    parts = shared(range(8), lambda _: 1.0, 2)
    assert [len(part) for part in parts] == [2, 2, 2, 2]


def test_shared_little_work_stays_in_one_part() -> None:
    """What costs less than a task is worth is not divided."""
    assert len(shared(range(8), lambda _: 1.0, 4, least=10.0)) == 1
