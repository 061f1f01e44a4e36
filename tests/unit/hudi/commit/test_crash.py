"""The whole bootstrap-shaped write, killed at every step, and recovery killed at every step too."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from framework.errors import AfterCommitError, FrameworkError
from framework.hudi.commit.pending import find_pending
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import ManualClock
from tests.support.fault_storage import FaultStorage, Killed
from tests.support.storage_suite import put, tree
from tests.support.transactions import (
    TTL_MS,
    a_transaction,
    an_intent,
    bootstrap,
    recover,
    visible_files,
)


@pytest.fixture
def fresh() -> Iterator[Callable[[], MemoryStorage]]:
    """Return a maker of empty storages, all forgotten at the end."""
    made: list[MemoryStorage] = []

    def make() -> MemoryStorage:
        """Return an empty storage."""
        made.append(MemoryStorage(uuid4().hex))
        return made[-1]

    yield make
    for each in made:
        each.forget()


def steps_of(make: Callable[[], MemoryStorage]) -> int:
    """Return how many steps the write has."""
    storage = FaultStorage(make())
    bootstrap(a_transaction(storage))
    return storage.steps


def killed_at(storage: Storage, step: int, clock: ManualClock) -> None:
    """Run the write and kill it at `step`."""
    faulty = FaultStorage(storage, kill_at=step)
    with pytest.raises(Killed):
        bootstrap(a_transaction(faulty, clock=clock))
    assert faulty.dead


def test_write_killed_anywhere_leaves_nothing_or_the_whole_table(
    fresh: Callable[[], MemoryStorage],
) -> None:
    """Readers see no table or all of it; recovery leaves nothing at all, or just the table."""
    whole = fresh()
    bootstrap(a_transaction(whole))
    expected = visible_files(whole)
    assert expected
    outcomes = set()
    for step in range(1, steps_of(fresh) + 1):
        storage, clock = fresh(), ManualClock()
        killed_at(storage, step, clock)
        before = visible_files(storage)
        assert before in (None, expected), step
        recover(storage, clock, "b" * 32)
        after = visible_files(storage)
        assert after in (None, expected), step
        assert before is None or after == expected, step
        assert find_pending(storage) is None, step
        assert set(tree(storage)) == (set(tree(whole)) if after else set()), step
        assert storage.stat("") is None or after, step
        outcomes.add(after is None)
    assert outcomes == {True, False}


@pytest.mark.long
def test_recovery_killed_anywhere_is_recovered_by_the_next(
    fresh: Callable[[], MemoryStorage],
) -> None:
    """Recovery of a write killed anywhere may itself be killed anywhere, twice in a row."""
    whole = fresh()
    bootstrap(a_transaction(whole))
    expected = visible_files(whole)
    killed = 0
    for step in range(1, steps_of(fresh) + 1):
        crashed, clock = fresh(), ManualClock()
        killed_at(crashed, step, clock)
        before = visible_files(crashed)
        second, alive = 0, False
        while not alive:
            second += 1 + step % 3  # neighbouring steps share the second kills among them
            storage = copy_of(crashed, fresh)
            alive = recovers(FaultStorage(storage, kill_at=second), clock, "b" * 32)
            recovers(FaultStorage(storage, kill_at=second // 2 + 1), clock, "c" * 32)
            recover(storage, clock, "d" * 32)
            after = visible_files(storage)
            assert after in (None, expected), (step, second)
            assert before is None or after == expected, (step, second)
            assert set(tree(storage)) == (set(tree(whole)) if after else set()), (step, second)
            storage.forget()
            killed += not alive
    assert killed > 500


def recovers(storage: FaultStorage, clock: ManualClock, write_id: str) -> bool:
    """Recover, and return whether that survived."""
    try:
        recover(storage, clock, write_id)
    except Killed:
        return False
    return True


def copy_of(storage: Storage, make: Callable[[], MemoryStorage]) -> MemoryStorage:
    """Return another storage with the same files."""
    copy = make()
    for path, data in tree(storage).items():
        put(copy, path, data)
    return copy


@pytest.mark.long
def test_write_killed_anywhere_can_be_resumed(fresh: Callable[[], MemoryStorage]) -> None:
    """The same intent continues after a kill anywhere before the commit, to the same table."""
    whole = fresh()
    bootstrap(a_transaction(whole))
    resumed = 0
    for step in range(1, steps_of(fresh) + 1):
        storage, clock = fresh(), ManualClock()
        killed_at(storage, step, clock)
        pending = find_pending(storage)
        if pending is None or not pending.can_resume or pending.intent is None:
            continue
        clock.advance(TTL_MS)
        bootstrap(a_transaction(storage, pending.intent, clock=clock))
        assert visible_files(storage) == visible_files(whole), step
        assert set(tree(storage)) == set(tree(whole)), step
        resumed += 1
    assert resumed > 20


@pytest.mark.long
def test_write_that_meets_a_full_disk_anywhere_fails_typed_and_is_recovered(
    fresh: Callable[[], MemoryStorage],
) -> None:
    """One step fails with a full disk: a typed error, and then nothing or the whole table."""
    whole = fresh()
    bootstrap(a_transaction(whole))
    conditions = set()
    for step in range(1, steps_of(fresh) + 1):
        storage, clock = fresh(), ManualClock()
        faulty = FaultStorage(storage, fail_at=step)
        committed = True
        try:
            bootstrap(a_transaction(faulty, clock=clock))
        except FrameworkError as error:
            conditions.add(error.condition)
            committed = isinstance(error, AfterCommitError)
        recover(storage, clock, "b" * 32)
        assert visible_files(storage) == (visible_files(whole) if committed else None), step
        assert set(tree(storage)) == (set(tree(whole)) if committed else set()), step
    assert conditions == {"storage/full", "commit/properties", "commit/cleanup"}


@pytest.mark.long
def test_publish_with_a_lost_reply_reads_back_and_succeeds(
    fresh: Callable[[], MemoryStorage],
) -> None:
    """The link took place, the answer got lost: our own write id says that it was us."""
    survived = 0
    for step in range(1, steps_of(fresh) + 1):
        storage, clock = fresh(), ManualClock()
        faulty = FaultStorage(storage, lost_reply_at=step)
        try:
            instant = bootstrap(a_transaction(faulty, clock=clock))
        except FrameworkError:
            continue
        survived += storage.stat(instant.path) is not None
    assert survived > 0


@pytest.mark.long
def test_paused_writer_that_was_recovered_publishes_nothing(
    fresh: Callable[[], MemoryStorage],
) -> None:
    """Before every single step of the write another run takes over and rolls back, or forward.

    Whatever the paused writer does then, the outcome is what the recovery left, or a whole table.
    """
    whole = fresh()
    bootstrap(a_transaction(whole))
    expected = visible_files(whole)
    refused = 0
    for step in range(1, steps_of(fresh) + 1):
        storage, clock = fresh(), ManualClock()

        def take_over(
            at: int, storage: MemoryStorage = storage, clock: ManualClock = clock, step: int = step
        ) -> None:
            """Recover while the writer is paused."""
            if at == step:
                recover(storage, clock, "b" * 32)

        faulty = FaultStorage(storage, hook=take_over)
        try:
            bootstrap(a_transaction(faulty, clock=clock))
        except FrameworkError:
            refused += 1
        assert visible_files(storage) in (None, expected), step
        recover(storage, clock, "c" * 32)
        assert visible_files(storage) in (None, expected), step
        known = set(tree(whole)) if visible_files(storage) else set()
        assert set(tree(storage)) == known, step
    assert refused > 20


@pytest.mark.long
def test_paused_writer_that_was_replaced_harms_nothing(
    fresh: Callable[[], MemoryStorage],
) -> None:
    """Before every single step another run takes over and makes the whole table itself."""
    whole = fresh()
    bootstrap(a_transaction(whole))
    replaced = 0
    for step in range(1, steps_of(fresh) + 1):
        storage, clock = fresh(), ManualClock()

        def replace(
            at: int, storage: MemoryStorage = storage, clock: ManualClock = clock, step: int = step
        ) -> None:
            """Recover, then bootstrap under another write id."""
            nonlocal replaced
            if at == step:
                recover(storage, clock, "b" * 32)
                if visible_files(storage) is None:
                    bootstrap(a_transaction(storage, an_intent(write_id="b" * 32), clock=clock))
                    replaced += 1

        with contextlib.suppress(FrameworkError):
            bootstrap(a_transaction(FaultStorage(storage, hook=replace), clock=clock))
        assert visible_files(storage) == visible_files(whole), step
        recover(storage, clock, "c" * 32)
        assert visible_files(storage) == visible_files(whole), step
        assert set(tree(storage)) == set(tree(whole)), step
    assert replaced > 50
