"""Sharing work among tasks: neighbours stay together, and each task gets about as much."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["shared"]

T = TypeVar("T")

_TASKS_PER_CORE: Final = 2


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
    if not items:
        return []
    costs = np.cumsum([max(cost(each), 1e-9) for each in items])
    total = float(costs[-1])
    most = parallelism * _TASKS_PER_CORE
    parts = max(1, min(len(items), most, int(min(most, total / least)) if least else most))
    goals = np.arange(1, parts) * (total / parts)
    cuts = np.unique(np.searchsorted(costs, goals, side="left") + 1)
    bounds = [0, *(cut for cut in cuts.tolist() if cut < len(items)), len(items)]
    return [items[start:stop] for start, stop in pairwise(bounds)]
