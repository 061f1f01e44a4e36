"""What the tasks of a bootstrap get from its plan: columns, keys, and their shares of the files.

Starting a task costs about as much as a hundred files, so files are divided among few. Costs are
modelled, in units of opening and writing one file; rows add to them by the thousands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from framework.engine.audit.keys import KeySource
from framework.engine.tasks import stretches
from framework.hudi.bootstrap.inventory import InventoryHandle, read_batches
from framework.hudi.bootstrap.key_pass import BloomChoice, key_columns
from framework.hudi.bootstrap.source_schema import encode_schema, with_partition_columns
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.table.properties import table_names
from framework.hudi.table.schema import avro_schema
from framework.plan.definition import Plan
from framework.plan.partitions import PartitionPlan
from framework.vocabulary import BootstrapMode

__all__ = [
    "FOOTER_FILES_PER_TASK",
    "BootstrapJob",
    "WorkRange",
    "WriteTask",
    "footer_shares",
    "key_source",
    "pack",
    "pack_scans",
    "source_uri",
    "table_schemas",
    "without",
    "work_ranges",
]


def source_uri(plan: Plan) -> str:
    """Return the full URI of the source's root."""
    location = plan.source or ""
    return location if "://" in location else f"file://{location}"


def work_ranges(partitions: Iterable[PartitionPlan]) -> list[WorkRange]:
    """Return the inventory ranges of the partitions that are part of the table, ascending.

    Adjacent ranges of one mode are merged.
    """
    joined: list[WorkRange] = []
    for part in partitions:
        if part.mode is BootstrapMode.SKIP:
            continue
        last = joined[-1] if joined else None
        if last and last.stop == part.first and last.mode is part.mode:
            joined[-1] = replace(last, stop=part.stop)
        else:
            joined.append(WorkRange(start=part.first, stop=part.stop, mode=part.mode))
    return joined


def table_schemas(plan: Plan) -> tuple[Any, dict[str, Any]]:
    """Return the table's schema without meta columns, as Arrow and as Avro by Hudi's naming."""
    schema = with_partition_columns(plan.schema, plan.target.key_rule.partition)
    return schema, avro_schema(schema, table=table_names(plan.target.name)[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRange:
    """Consecutive files of an inventory that are written in one mode.

    Attributes:
        start: number of the first file, inclusive.
        stop: number after the last file, exclusive.
        mode: their mode.
        gone: path in the table of the places of excluded rows, of a range of one file; "" if no
            row is excluded.
    """

    start: int
    stop: int
    mode: BootstrapMode
    gone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapJob:
    """One bootstrap.

    Attributes:
        keys: how keys are computed, and from what.
        table: location of the storage to write to.
        attempts: folder in it where each attempt of a task makes its own.
        segments: folder in it for statuses and spills.
        instant: requested time of the commit.
        bloom: the filter of each file.
        schema: encoded Arrow schema of the table without meta columns; full records are cast to it.
        avro_schema: the table's Avro schema with meta columns, for footers of full records.
        bits: number of bits of a hash that choose its bucket.
        fence: file in it; without it the run is over and no task may write. "" for none.
    """

    keys: KeySource
    table: str
    attempts: str
    segments: str
    instant: str
    bloom: BloomChoice
    schema: str
    avro_schema: str
    bits: int
    fence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTask:
    """One task's share of a job; `ranges` ascend."""

    job: BootstrapJob
    ranges: tuple[WorkRange, ...]


def key_source(source: str, handle: InventoryHandle, rule: KeyRule, schema: Any) -> KeySource:
    """Return how the keys of a source are computed; `schema` is the unified one of its files."""
    return KeySource(
        source=source,
        inventory=handle,
        rule=rule,
        key_schema=encode_schema(key_columns(schema, rule)),
    )


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
