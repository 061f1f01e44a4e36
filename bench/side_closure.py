"""Ways for Spark tasks to get file groups, including a timeline service (RFC-03).

`closure` has a map of all groups in the function that tasks run, `broadcast` in a broadcast
variable; with `service` each task requests its groups in one batch; `nothing` only counts them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import side_timeline_ours
from pyspark import Broadcast, SparkContext, cloudpickle
from spark_session import session

from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.listing_view import ListingView

__all__ = ["start"]

TASK_PAIRS = 1_000
"""Number of groups that each task looks up."""


def start(settings: Mapping[str, str]) -> Mapping[str, Callable[..., object]]:
    """Start the session; actions are `read`, which builds the map of a table, and `tasks`."""
    context = session(settings).sparkContext
    cloudpickle.register_pickle_by_value(side_timeline_ours)
    held: list[Mapping[tuple[str, str], FileSlice]] = []

    def read(table: str) -> int:
        """Read and keep a table's groups; return their number."""
        held[:] = [_slices(table)]
        return len(held[0])

    def tasks(way: str, pairs: str, number: int, port: int, table: str) -> int:
        """Look groups up in tasks in one way; return the number found."""
        lines = Path(pairs).read_text().splitlines()
        chance = random.Random(7)  # noqa: S311 - every way must look up the same
        asked = chance.sample(lines, min(len(lines), number * TASK_PAIRS))
        parts = [asked[place::number] for place in range(number)]
        looked_up = _looked_up(way, context, held, (port, table))
        return int(context.parallelize(parts, number).map(looked_up).sum())

    return {"read": read, "tasks": tasks}


def _looked_up(
    way: str,
    context: SparkContext,
    held: Sequence[Mapping[tuple[str, str], FileSlice]],
    service: tuple[int, str],
) -> Callable[[Sequence[str]], int]:
    """Return the task's function from the lines of its groups to the number found."""
    if way == "service":
        return _by_service(*service)
    if way == "closure":
        return _by_map(held[0])
    if way == "broadcast":
        return _by_broadcast(context.broadcast(held[0]))
    return len


def _by_map(slices: Mapping[tuple[str, str], FileSlice]) -> Callable[[Sequence[str]], int]:
    """Return a function with the map in its closure."""

    def find(lines: Sequence[str]) -> int:
        return sum(slices[tuple(each.split("\t"))].base is not None for each in lines)

    return find


def _by_broadcast(
    slices: Broadcast[Mapping[tuple[str, str], FileSlice]],
) -> Callable[[Sequence[str]], int]:
    """Return a function with a broadcast variable."""

    def find(lines: Sequence[str]) -> int:
        found = slices.value
        return sum(found[tuple(each.split("\t"))].base is not None for each in lines)

    return find


def _by_service(port: int, table: str) -> Callable[[Sequence[str]], int]:
    """Return a function that requests all groups of a task at once."""
    connect = side_timeline_ours.batch_client

    def find(lines: Sequence[str]) -> int:
        ask = connect(port, table)
        return sum(each.base is not None for each in ask([tuple(x.split("\t")) for x in lines]))

    return find


def _slices(table: str) -> Mapping[tuple[str, str], FileSlice]:
    """Return the latest slice of each group; lists every partition."""
    storage = LocalStorage(table)
    view = ListingView(storage, load_timeline(storage), BootstrapIndex.open(storage))
    return {
        (partition, each.group.file_id): each
        for partition in view.partitions()
        for each in view.latest_slices(partition)
    }
