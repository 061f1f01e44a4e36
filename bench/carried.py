"""Cost of Spark tasks that hold all file groups, and of tasks that request some."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from contest import start_side
from grouped import GroupedTable
from side_process import Measured, Side

__all__ = ["TaskCost", "carried"]

WAYS = ("nothing", "closure", "broadcast", "service")
_WARM_TASKS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCost:
    """Cost of one way; `task_ms` is a core's wall time per task, the rest as in `Measured`."""

    task_ms: float
    task_mb: float
    driver_mb: float
    jvm_mb: float


def carried(table: GroupedTable, options: argparse.Namespace, port: int) -> Mapping[str, TaskCost]:
    """Return the cost of each way, each in a new session; omits `service` without a port."""
    costs: dict[str, TaskCost] = {}
    facts = {"pairs": str(table.pairs), "port": port, "table": str(table.path)}
    for way in WAYS if port else WAYS[:-1]:
        with start_side("closure", options) as side:
            if way in {"closure", "broadcast"}:
                read = side.run("read", table=str(table.path))
                print(f"closure    {way:20} the driver reads {read.wall_s:.1f} s", flush=True)
            _run(side, facts, "nothing", _WARM_TASKS)
            found = [_run(side, facts, way, options.tasks) for _ in range(options.runs)]
        costs[way] = _cost(found, options)
        _print(way, costs[way], options)
    return costs


def _run(side: Side, facts: Mapping[str, object], way: str, tasks: int) -> Measured:
    """Run tasks, and check that they found their groups."""
    measured = side.run("tasks", way=way, number=tasks, **facts)
    if not measured.value:
        message = f"{way}: no group was found"
        raise ValueError(message)
    return measured


def _cost(found: list[Measured], options: argparse.Namespace) -> TaskCost:
    """Return medians, and the highest peaks."""
    wall_s = statistics.median(each.wall_s for each in found)
    return TaskCost(
        task_ms=wall_s * int(options.cores) / options.tasks * 1e3,
        task_mb=max(each.task_mb for each in found),
        driver_mb=max(each.driver_mb for each in found),
        jvm_mb=max(each.jvm_mb for each in found),
    )


def _print(way: str, cost: TaskCost, options: argparse.Namespace) -> None:
    print(
        f"closure    {way:20} n={options.runs} {cost.task_ms:8.1f} ms a task  "
        f"task {cost.task_mb:5.0f} MB  driver {cost.driver_mb:5.0f} MB  JVM {cost.jvm_mb:5.0f} MB",
        flush=True,
    )
