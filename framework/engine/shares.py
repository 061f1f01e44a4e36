"""Cutting work into stretches of about equal cost, one for each task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, TypeVar

import numpy as np

T = TypeVar("T")

__all__ = ["shared", "stretches"]

_TASKS_PER_CORE: Final = 2


def stretches(costs: np.ndarray, parts: int) -> list[tuple[int, int]]:
    """Return (start, stop) of that many stretches of about equal cost, in order.

    None of them is empty, so there are fewer where there are few items.
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
    """Return the items in stretches of about equal cost, none of them empty, in order.

    Args:
        items: what is to be shared.
        cost: of one item, in any unit.
        parallelism: how many tasks run at a time.
        least: cost that is worth a task of its own, in the same unit.
    """
    costs = np.array([max(cost(each), 1e-9) for each in items])
    most = parallelism * _TASKS_PER_CORE
    worth = int(min(most, float(costs.sum()) / least)) if least else most
    parts = max(1, min(len(items), most, worth))
    return [items[start:stop] for start, stop in stretches(costs, parts)]
