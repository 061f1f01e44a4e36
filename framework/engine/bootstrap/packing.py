"""Division of files among few tasks: starting a task costs about as much as a hundred files.

Costs are modelled, in units of opening and writing one file; rows add to them by the thousands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from framework.engine.bootstrap.job import WorkRange
from framework.engine.tasks import stretches
from framework.hudi.bootstrap.inventory import InventoryHandle, read_batches
from framework.vocabulary import BootstrapMode

__all__ = ["FOOTER_FILES_PER_TASK", "footer_shares", "pack", "pack_scans", "without"]

FOOTER_FILES_PER_TASK: Final = 500
_TASKS_PER_CORE: Final = 4
_ROWS_PER_FILE_COST: Final = {BootstrapMode.METADATA_ONLY: 4_000, BootstrapMode.FULL_RECORD: 400}
_LEAST_COST: Final = 400.0
_MOST_COST: Final = 10_000.0  # about fifteen seconds, the interval of progress and journal
_MOST_FILES: Final = 20_000
_ROWS_PER_OPENED_FILE: Final = 20_000
_LEAST_SCAN: Final = 50.0
_MOST_SCAN: Final = 15_000.0  # likewise about fifteen seconds
_MOST_FOOTERS: Final = 4_096


def pack(
    handle: InventoryHandle, ranges: Sequence[WorkRange], parallelism: int
) -> list[list[WorkRange]]:
    """Return the ranges cut and grouped into tasks of about equal cost, in order.

    A few tasks per core, each of at least the least cost; a long run has enough tasks to keep each
    short. Holds one number per file meanwhile.
    """
    numbers, costs = _costs(handle, ranges, _ROWS_PER_FILE_COST)
    total = float(costs.sum())
    tasks = max(
        min(parallelism * _TASKS_PER_CORE, int(total // _LEAST_COST)),
        min(parallelism, numbers.size, int(total // (_LEAST_COST / 8))),
        min(numbers.size, int(total // _MOST_COST)),
        -(-numbers.size // _MOST_FILES),
        1,
    )
    return _cut(ranges, numbers, costs, tasks)


def pack_scans(
    handle: InventoryHandle, ranges: Sequence[WorkRange], parallelism: int
) -> list[list[WorkRange]]:
    """Return the same for tasks that only read keys: one per core while each stays short.

    Such a task takes hardly longer than starting it, so a second one per core would double it.
    """
    kinds = dict.fromkeys(_ROWS_PER_FILE_COST, _ROWS_PER_OPENED_FILE)
    numbers, costs = _costs(handle, ranges, kinds)
    total = float(costs.sum())
    tasks = max(
        min(parallelism, numbers.size, int(total // _LEAST_SCAN)),
        min(numbers.size, int(total // _MOST_SCAN)),
        -(-numbers.size // _MOST_FILES),
        1,
    )
    return _cut(ranges, numbers, costs, tasks)


def _cut(
    ranges: Sequence[WorkRange], numbers: np.ndarray, costs: np.ndarray, tasks: int
) -> list[list[WorkRange]]:
    """Return the ranges cut into `tasks` shares of about equal cost; fewer for few files."""
    return [
        list(_ranges_between(ranges, int(numbers[a]), int(numbers[b - 1]) + 1))
        for a, b in stretches(costs, tasks)
    ]


def without(ranges: Sequence[WorkRange], done: np.ndarray) -> list[WorkRange]:
    """Return the parts of the ranges whose numbers are not among the sorted `done`."""
    left: list[WorkRange] = []
    for each in ranges:
        inside = done[np.searchsorted(done, each.start) : np.searchsorted(done, each.stop)]
        edges = np.concatenate([[each.start - 1], inside, [each.stop]])
        gaps = np.flatnonzero(np.diff(edges) > 1)
        left += [replace(each, start=int(edges[at]) + 1, stop=int(edges[at + 1])) for at in gaps]
    return left


def footer_shares(files: int, parallelism: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of the files whose footers one task reads."""
    if not files:
        return
    tasks = max(
        -(-files // _MOST_FOOTERS), min(parallelism * 2, -(-files // FOOTER_FILES_PER_TASK))
    )
    yield from pairwise(files * at // tasks for at in range(tasks + 1))


def _costs(
    handle: InventoryHandle, ranges: Iterable[WorkRange], rows_per_cost: Mapping[BootstrapMode, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return number and cost of each file of the ranges; the cost of a row depends on the mode."""
    numbers, costs = [np.empty(0, np.int64)], [np.empty(0, np.float64)]
    for each in ranges:
        for batch in read_batches(handle, each.start, each.stop):
            numbers.append(batch["number"].to_numpy())
            costs.append(1.0 + batch["rows"].to_numpy() / rows_per_cost[each.mode])
    return np.concatenate(numbers), np.concatenate(costs)


def _ranges_between(ranges: Iterable[WorkRange], start: int, stop: int) -> Iterator[WorkRange]:
    """Yield the parts of the ranges between two numbers."""
    for each in ranges:
        first, last = max(each.start, start), min(each.stop, stop)
        if first < last:
            yield replace(each, start=first, stop=last)
