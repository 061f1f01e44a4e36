"""Loads into tables on an object store, which moves nothing: rows, leftovers, and refusals."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from framework.engine.load.group_task import group_task
from framework.engine.load.new_files_task import new_files_task
from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks
from framework.hudi.commit.fence import sweep_dead
from framework.hudi.commit.lease import Owner, acquire, release
from framework.hudi.storage.memory_objects import MemoryObjectStorage, StoredObject
from framework.hudi.table.layout import LAKESTRAP, LEASE, TEMP
from framework.hudi.timeline.clock import ManualClock
from framework.vocabulary import TableType, WriteOperation
from tests.support.dying_objects import DyingObjects
from tests.support.fault_storage import Killed
from tests.support.storage_suite import tree
from tests.support.transactions import recover
from tests.support.writing import Lake, a_load_plan, an_input, load, rows_of

Row = dict[str, Any]


@pytest.fixture
def store() -> Iterator[MemoryObjectStorage]:
    """Return an empty object store."""
    found = MemoryObjectStorage(uuid4().hex)
    yield found
    found.forget()


def an_order(number: int, *, day: str = "mon", v: str = "first") -> Row:
    """Return an order."""
    return {"id": number, "day": day, "v": v}


def values(location: str) -> set[tuple[int, str, str]]:
    """Return the rows of a table."""
    return {(row["id"], row["day"], row["v"]) for row in rows_of(location)}


@pytest.mark.parametrize("kind", list(TableType))
def test_loads_of_all_operations_leave_the_rows_that_they_leave_on_a_disk(
    tmp_path: Path, store: MemoryObjectStorage, kind: TableType
) -> None:
    """The same loads into both tables; nothing but the table is left in the store."""
    for name in ("disk", "objects"):
        (tmp_path / name).mkdir()
    disk = Lake(folder=tmp_path / "disk", type=kind)
    objects = Lake(folder=tmp_path / "objects", type=kind, at=store.location)
    steps: tuple[tuple[WriteOperation, list[Row], Any], ...] = (
        (WriteOperation.INSERT, [an_order(n, day="tue" if n > 3 else "mon") for n in range(6)], {}),
        (WriteOperation.UPSERT, [an_order(1, v="second"), an_order(7)], {}),
        (WriteOperation.DELETE, [an_order(2)], {}),
        (WriteOperation.BULK_INSERT, [an_order(8, day="wed")], {}),
        (WriteOperation.INSERT_OVERWRITE, [an_order(9, day="tue")], {}),
        (WriteOperation.UPSERT, [an_order(9, day="tue", v="third"), an_order(0, v="late")], {}),
    )
    for operation, rows, changes in steps:
        for lake in (disk, objects):
            load(lake, operation, rows, **changes)
        assert values(objects.location) == values(disk.location), operation
    for lake in (disk, objects):
        load(lake, WriteOperation.DELETE_PARTITION, partitions=("day=wed",))
    assert values(objects.location) == values(disk.location)
    left = [key for key in tree(store) if key.startswith((TEMP, LEASE))]
    assert left == []
    assert not store.service.uploads
    states = (f"{LAKESTRAP}/state/",)
    assert [k for k in tree(store) if k.startswith(LAKESTRAP) and not k.startswith(states)] == []


def test_load_whose_tasks_run_twice_makes_the_same_files(
    tmp_path: Path, store: MemoryObjectStorage
) -> None:
    """A second attempt of each task finds its names taken by equal bytes."""
    lake = Lake(folder=tmp_path, at=store.location, type=TableType.MERGE_ON_READ)
    tasks = Twice(1)
    load(lake, WriteOperation.INSERT, [an_order(n) for n in range(5)], tasks=tasks)
    load(lake, WriteOperation.UPSERT, [an_order(1, v="second"), an_order(9)], tasks=tasks)
    assert tasks.repeated == 2
    assert len(values(store.location)) == 6


class Twice(InProcessTasks):
    """Runs each writing task twice, as after a lost answer, and takes the second answer."""

    repeated = 0

    def run(self, work: Callable[[str], str], descriptors: Any) -> Iterator[str]:
        """Yield the statuses of the second attempts."""
        if work in {group_task, new_files_task}:
            for descriptor in descriptors:
                work(descriptor)
                self.repeated += 1
        yield from super().run(work, descriptors)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", list(TableType))
def test_load_killed_at_every_step_leaves_the_rows_of_before_or_after(
    tmp_path: Path, kind: TableType
) -> None:
    """The next run recovers, the load is done or repeated, and an hour later nothing is left."""
    mortal = Mortal(Lake(folder=tmp_path, at=f"objects://{uuid4().hex}", type=kind))
    before, start = values(mortal.lake.location), dict(mortal.service.objects)
    mortal.change()
    after, files = values(mortal.lake.location), len(mortal.service.objects)
    outcomes = set[bool]()
    for step in range(1, mortal.service.steps + 1):
        mortal.killed_at(step, start)
        assert values(mortal.lake.location) in (before, after), step
        recover(mortal.store, mortal.clock, "b" * 32)
        found = values(mortal.lake.location)
        outcomes.add(found == after)
        if found == before:
            mortal.change()
        assert values(mortal.lake.location) == after, step
        mortal.sweep()
        assert len(mortal.service.objects) == files, step
    assert outcomes == {True, False}
    mortal.store.forget()


class Mortal:
    """A table with four rows, and an upsert whose process dies."""

    def __init__(self, lake: Lake) -> None:
        self.lake, self.service = lake, DyingObjects()
        self.store = MemoryObjectStorage(lake.location.removeprefix("objects://"), self.service)
        self.clock = ManualClock(time.time_ns() // 1_000_000)
        self.service.now_ns = lambda: self.clock.now_ms() * 1_000_000
        load(lake, WriteOperation.INSERT, [an_order(n) for n in range(4)], clock=self.clock)
        files = an_input(lake, [an_order(1, v="second"), an_order(9)])
        self._plan = a_load_plan(lake, WriteOperation.UPSERT, files)
        self.service.steps = 0

    def change(self) -> None:
        """Do the upsert."""
        run(self._plan, InProcessTasks(1), clock=self.clock)

    def killed_at(self, step: int, start: dict[str, StoredObject]) -> None:
        """Do it from the start, and die before a step."""
        self.service.objects.clear()
        self.service.objects.update(start)
        self.service.uploads.clear()
        self.service.steps, self.service.kill_at = 0, step
        with pytest.raises(Killed):
            self.change()
        self.service.revive()

    def sweep(self) -> None:
        """Sweep an hour later."""
        self.clock.advance(3_600_000)
        lease = acquire(self.store, Owner.here("c" * 32), self.clock)
        sweep_dead(self.store, lease)
        release(self.store, lease)
