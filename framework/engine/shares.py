"""Division of work into stretches of about equal cost, one per task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, TypeVar

import numpy as np

T = TypeVar("T")

__all__ = ["shared", "stretches"]

_TASKS_PER_CORE: Final = 2


def stretches(costs: np.ndarray, parts: int) -> list[tuple[int, int]]:
    """Return (start, stop) of stretches of about equal cost, in order.

    Returns fewer stretches than `parts` when there are few items; none is empty.
    """
    if not costs.size:
        return []
    ends = np.cumsum(costs)
    goals = np.arange(1, parts) * (float(ends[-1]) / parts)
    cuts = np.unique(np.searchsorted(ends, goals, side="left") + 1)
    return list(pairwise([0, *cuts[cuts < costs.size].tolist(), costs.size]))


def shared(
    items: Sequence[T], cost: Callable[[T], float], parallelism: int, *, least: float = 0.0
) -> list[Sequence[T]]:
    """Return the items in stretches of about equal cost, none empty, in order.

    Args:
        items: the items to split.
        cost: of one item, in any unit.
        parallelism: number of concurrent tasks.
        least: least cost of a task, in the same unit.
    """
    costs = np.array([max(cost(each), 1e-9) for each in items])
    most = parallelism * _TASKS_PER_CORE
    worth = int(min(most, float(costs.sum()) / least)) if least else most
    parts = max(1, min(len(items), most, worth))
    return [items[start:stop] for start, stop in stretches(costs, parts)]
