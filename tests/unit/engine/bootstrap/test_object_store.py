"""Bootstraps whose table is on an object store: both modes, deaths at every step, resumption."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from framework.engine.inspect import observe
from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.run.quiet import wait_until_quiet
from framework.engine.runner import RunResult, run
from framework.engine.tasks import InProcessTasks
from framework.hudi.commit.fence import QUIET_MS, bury, sweep_dead
from framework.hudi.commit.lease import Owner, acquire, release
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.memory_objects import MemoryObjectStorage
from framework.hudi.table.layout import LAKESTRAP, TEMP
from framework.hudi.timeline.clock import ManualClock
from tests.support.dying_objects import DyingObjects
from tests.support.fault_storage import Killed
from tests.support.scenes import Scene, a_document, a_scene, with_spec
from tests.support.transactions import a_transaction, an_intent
from tests.support.writing import rows_of

_HOUR_MS = 3_600_000


class Clock(ManualClock):
    """The time of the processes and of the store."""

    def __init__(self, service: DyingObjects) -> None:
        super().__init__(time.time_ns() // 1_000_000)
        service.now_ns = lambda: self.now_ms() * 1_000_000


@pytest.fixture
def store() -> Iterator[MemoryObjectStorage]:
    """Return an empty object store."""
    found = MemoryObjectStorage(uuid4().hex, DyingObjects())
    yield found
    found.forget()


def a_lake(folder: Path, location: str) -> Scene:
    """Return three partitions, one of which is rewritten; the table is to be at the location."""
    files = {
        f"p={p}/{name}.parquet": _rows(2 * p + n) for p in (1, 2, 3) for n, name in enumerate("ab")
    }
    rule = {"partition": "p=3", "mode": "full_record", "reason": "both kinds in one instant"}
    scene = a_scene(folder, files, a_document(rules=[rule]))
    return with_spec(scene, location=location)


def _rows(number: int) -> pa.Table:
    return pa.table({"id": [row * 100 + number for row in range(5)], "v": ["x"] * 5})


def adopt(scene: Scene, clock: ManualClock) -> RunResult | None:
    """Plan and run in this process."""
    scratch = scene.folder.parent / uuid4().hex
    scratch.mkdir()
    tasks = InProcessTasks(1)
    plan = prepare(Request(path=scene.spec), PlanningContext(tasks=tasks, scratch=scratch)).plan
    return run(plan, tasks, clock=clock) if plan.has_changes else None


def values(location: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table with their keys."""
    found = rows_of(location)
    return sorted((row["id"], row["v"], row["p"], row["_hoodie_record_key"]) for row in found)


def service_of(store: MemoryObjectStorage) -> DyingObjects:
    """Return the store's service."""
    assert isinstance(store.service, DyingObjects)
    return store.service


def swept(store: MemoryObjectStorage, clock: ManualClock) -> list[str]:
    """Return what runs have left an hour later."""
    clock.advance(_HOUR_MS)
    lease = acquire(store, Owner.here(new_write_id()), clock)
    sweep_dead(store, lease)
    release(store, lease)
    keys = store.service.objects
    return [k for k in keys if k.startswith((TEMP, LAKESTRAP)) and f"{LAKESTRAP}/state/" not in k]


def test_bootstrap_in_both_modes_makes_the_table_that_it_makes_on_a_disk(
    tmp_path: Path, store: MemoryObjectStorage
) -> None:
    """Skeletons, full records and index; nothing of the run is left."""
    here = a_lake(tmp_path / "disk", str(tmp_path / "disk" / "table"))
    there = a_lake(tmp_path / "objects", store.location)
    clock = Clock(service_of(store))
    adopt(here, clock)
    adopt(there, clock)
    assert values(store.location) == values(str(here.location))
    assert len(values(store.location)) == 30
    assert not store.service.uploads
    assert swept(store, clock) == []


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_bootstrap_killed_at_every_step_is_resumed_to_the_whole_table(
    tmp_path: Path, store: MemoryObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No kill leaves part of a table, and the next run finishes or repeats the work."""
    scene = a_lake(tmp_path / "lake", store.location)
    service, clock = service_of(store), Clock(service_of(store))
    let_time_pass(monkeypatch, clock)
    monkeypatch.setattr(observe, "SystemClock", lambda: clock)
    adopt(scene, clock)
    whole, expected = values(store.location), set(service.objects)
    steps = service.steps
    for step in range(1, steps + 1):
        service.objects.clear()
        service.uploads.clear()
        service.steps, service.kill_at = 0, step
        with pytest.raises(Killed):
            adopt(scene, clock)
        service.revive()
        clock.advance(_HOUR_MS)
        adopt(scene, clock)
        assert values(store.location) == whole, step
        assert swept(store, clock) == [], step
        assert len(service.objects) == len(expected), step
    assert steps > 40


def test_bootstrap_after_another_was_rolled_back_waits_for_late_files(
    store: MemoryObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits as long as the tombstone is young, and no longer."""
    clock = Clock(service_of(store))
    waited = let_time_pass(monkeypatch, clock)
    bury(store, an_intent(write_id="b" * 32))
    transaction = a_transaction(store, clock=clock)
    notes: list[object] = []
    wait_until_quiet(notes.append, transaction)
    assert sum(waited) * 1000 >= QUIET_MS
    assert len(notes) == 1
    wait_until_quiet(notes.append, transaction)
    assert len(notes) == 1


def let_time_pass(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> list[float]:
    """Let sleeping advance the clock; return how long each sleep took."""
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        clock.advance(int(seconds * 1000))

    monkeypatch.setattr(time, "sleep", sleep)
    return waited
