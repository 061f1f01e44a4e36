"""Two writers, zombie tasks and a recovery on an object store, under schedules from seeds.

The oracle is in `object_schedules`: nothing is lost, doubled, half published, or of no run. Each
defence is switched off once, and the oracle notices.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Final

import pytest

from framework.engine.run import durable_files
from framework.errors import StorageError
from framework.hudi.commit import fence, links, recovery, rollback, transaction
from framework.hudi.commit.intent import Transaction
from framework.hudi.commit.task_files import TaskFiles
from framework.hudi.storage.memory_objects import MemoryObjects, StoredObject
from framework.hudi.storage.port import Storage
from tests.support import object_schedules
from tests.support.object_schedules import Scenario, Violation, run_schedule

LOADS: Final = Scenario(creates=False)
OTHER: Final = Scenario(creates=True)
SAME: Final = Scenario(creates=True, same=True)
UNDONE: Final = Scenario(creates=False, undoes=True)
_SCENARIOS: Final = (LOADS, OTHER, SAME, UNDONE)
_ALL: Final = 133_336
_CHUNK: Final = 501


def schedule(number: int) -> Counter[str]:
    """Run schedule `number`, of each scenario in turn; return how often each thing happened."""
    found = run_schedule(number // len(_SCENARIOS), _SCENARIOS[number % len(_SCENARIOS)])
    return Counter(found.seen)


def schedules(numbers: range) -> Counter[str]:
    """Run several schedules."""
    return sum(map(schedule, numbers), Counter())


def test_schedules_of_a_sample_keep_every_promise() -> None:
    """Runs publish, fail, die and are recovered, and readers see whole runs only."""
    seen = schedules(range(40))
    assert seen["undone"] > 0
    assert seen["published"] > 10
    assert seen["recovered"] > 10
    assert seen["swept"] > 5
    assert seen["LeaseHeldError"] + seen["CommitConflictError"] > 5


def test_schedule_of_a_seed_is_the_same_each_time() -> None:
    """Same seed, same requests in the same order; another seed, another order."""
    one, again, other = (run_schedule(seed, LOADS).trace for seed in (7, 7, 8))
    assert one == again
    assert one != other


@pytest.mark.full
@pytest.mark.timeout(4 * 3600)
def test_schedules_by_the_hundred_thousand_keep_every_promise() -> None:
    """The whole search, on all cores."""
    starts = range(0, _ALL, _CHUNK)
    seen: Counter[str] = Counter()
    with ProcessPoolExecutor() as pool:
        for found in pool.map(schedules, [range(s, min(s + _CHUNK, _ALL)) for s in starts]):
            seen += found
    assert seen["published"] > _ALL // 10
    assert seen["zombie wrote"] > _ALL // 100


Switch = Callable[[pytest.MonkeyPatch], None]


def _nothing(*_: object, **__: object) -> None:
    """Do nothing."""


def _no_abort(patch: pytest.MonkeyPatch) -> None:
    """Recorded uploads stay."""
    patch.setattr(fence, "abort_uploads", _nothing)
    patch.setattr(transaction, "abort_uploads", _nothing)


def _no_look(patch: pytest.MonkeyPatch) -> None:
    """Nothing is checked between the record of an upload and its completion."""
    patch.setattr(transaction, "check_unmoved", _nothing)


def _no_fence(patch: pytest.MonkeyPatch) -> None:
    """A recovering run reads the timeline without a fence."""
    patch.setattr(recovery, "fence", _nothing)


def _no_time(patch: pytest.MonkeyPatch) -> None:
    """Tombstones are swept at once."""
    patch.setattr(fence, "QUIET_MS", 0)


def _no_tombstone(patch: pytest.MonkeyPatch) -> None:
    """Nothing remembers a run that was rolled back."""
    patch.setattr(fence, "bury", _nothing)


def _no_wait(patch: pytest.MonkeyPatch) -> None:
    """A new table is published beside young tombstones."""
    patch.setattr(links, "require_quiet", _nothing)


def _no_exclusion(patch: pytest.MonkeyPatch) -> None:
    """The store replaces objects."""

    def put(self: MemoryObjects, key: str, data: bytes, tag: str) -> bool:
        self.objects[key] = StoredObject(data, tag, self.now_ns())
        return True

    patch.setattr(MemoryObjects, "put", put)


def _no_comparison(patch: pytest.MonkeyPatch) -> None:
    """A name that is taken counts as done."""

    def create(storage: Storage, path: str, data: bytes) -> None:
        with contextlib.suppress(StorageError), storage.create(path) as out:
            out.write(data)

    patch.setattr(durable_files, "create_bytes", create)


def _no_markers(patch: pytest.MonkeyPatch) -> None:
    """Tasks do not say what they are about to create."""
    patch.setattr(TaskFiles, "announce", _nothing)


def _no_listing(patch: pytest.MonkeyPatch) -> None:
    """Partitions are not compared with the statuses before the commit."""
    patch.setattr(object_schedules, "check_listing", _nothing)


def _no_memory(patch: pytest.MonkeyPatch) -> None:
    """A rollback does not write down which files may still arrive."""
    patch.setattr(rollback, "await_late_files", _nothing)


def _no_finish(patch: pytest.MonkeyPatch) -> None:
    """A rollback that has begun is removed instead of finished."""
    patch.setattr(rollback, "_folder", lambda staging: f"{staging.root}/lost")


def _no_token(patch: pytest.MonkeyPatch) -> None:
    """Log files of different runs may share a name."""
    patch.setattr(object_schedules, "log_token", lambda _, number, __: f"{number}-0-0")


_MOST: Final = 3000


def first_violation(scenario: Scenario) -> str | None:
    """Return what the oracle finds first; None if nothing in many schedules."""
    for seed in range(_MOST):
        try:
            run_schedule(seed, scenario)
        except Violation as found:
            return str(found)
    return None


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("switch", "scenario"),
    [
        (_no_abort, LOADS),
        (_no_look, LOADS),
        (_no_fence, LOADS),
        (_no_time, LOADS),
        (_no_tombstone, LOADS),
        (_no_wait, OTHER),
        (_no_exclusion, OTHER),
        (_no_comparison, OTHER),
        (_no_markers, LOADS),
        (_no_listing, OTHER),
        (_no_token, LOADS),
        (_no_memory, UNDONE),
        (_no_finish, UNDONE),
    ],
)
def test_defence_that_is_off_is_missed(
    monkeypatch: pytest.MonkeyPatch, switch: Switch, scenario: Scenario
) -> None:
    """The oracle sees what the defence prevents."""
    switch(monkeypatch)
    assert first_violation(scenario) is not None


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_tombstone_alone_is_enough_of_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fence needs neither the lease nor the timeline between record and completion."""

    def look(at: Transaction, required: object) -> None:
        del required
        at.intent.staging.check_not_fenced(at.storage)

    monkeypatch.setattr(transaction, "check_unmoved", look)
    assert first_violation(LOADS) is None
