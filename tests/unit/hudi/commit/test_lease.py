"""The lease: one holder, an end by time or death, and no way back after a loss."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from framework.errors import LeaseHeldError
from framework.hudi.commit.lease import (
    DEFAULT_TTL_MS,
    Lease,
    Owner,
    acquire,
    current_lease,
    keep,
    release,
    renew,
    require,
)
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.timeline.clock import ManualClock, SystemClock
from tests.support.storage_suite import put, tree
from tests.support.transactions import dead_owner

A, B = "a" * 32, "b" * 32


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage(uuid4().hex)
    yield found
    found.forget()


def condition_of(action: Callable[[], object]) -> str:
    """Return the condition of the lease error that `action` raises."""
    with pytest.raises(LeaseHeldError) as caught:
        action()
    return caught.value.condition


def test_lease_that_is_held_is_refused_with_its_holder(storage: MemoryStorage) -> None:
    """The second run gets the holder's name; the first keeps its lease."""
    clock = ManualClock()
    first = acquire(storage, dead_owner(A), clock)
    with pytest.raises(LeaseHeldError) as caught:
        acquire(storage, dead_owner(B), clock)
    assert caught.value.condition == "commit/lease-held"
    assert "process 1 on far" in caught.value.message
    assert require(storage, first) == first
    assert set(tree(storage)) == {first.path}


def test_lease_whose_time_is_over_can_be_taken(storage: MemoryStorage) -> None:
    """The old holder then has lost it for good."""
    clock = ManualClock()
    first = acquire(storage, dead_owner(A), clock)
    clock.advance(DEFAULT_TTL_MS - 1)
    assert condition_of(lambda: acquire(storage, dead_owner(B), clock)) == "commit/lease-held"
    clock.advance(1)
    second = acquire(storage, dead_owner(B), clock)
    assert second.number == first.number + 1
    assert condition_of(lambda: require(storage, first)) == "commit/lease-lost"
    assert condition_of(lambda: renew(storage, first, clock)) == "commit/lease-lost"
    release(storage, first)
    assert require(storage, second) == second


def test_lease_that_is_renewed_lasts_longer(storage: MemoryStorage) -> None:
    """Renewal needs no free moment in between, and leaves one file."""
    clock = ManualClock()
    lease = acquire(storage, dead_owner(A), clock)
    for _ in range(5):
        clock.advance(DEFAULT_TTL_MS - 1)
        longer = renew(storage, lease, clock)
        assert condition_of(lambda: acquire(storage, dead_owner(B), clock)) == "commit/lease-held"
        assert set(tree(storage)) == {longer.path}


def test_lease_of_the_same_run_in_another_process_is_another_taking(
    storage: MemoryStorage,
) -> None:
    """A resumed run has the old write id; its paused predecessor must not pass for it."""
    clock = ManualClock()
    first = acquire(storage, dead_owner(A), clock)
    clock.advance(DEFAULT_TTL_MS)
    acquire(storage, replace(dead_owner(A), token="other"), clock)  # noqa: S106 # not a password
    assert condition_of(lambda: require(storage, first)) == "commit/lease-lost"


def test_lease_that_cannot_be_understood_ends_by_time(storage: MemoryStorage) -> None:
    """A damaged lease has no known holder, and expires the usual time after its modification."""
    put(storage, ".hoodie/.lakestrap/lease/00000007.json", b"{")
    clock = ManualClock(SystemClock().now_ms())
    assert condition_of(lambda: acquire(storage, dead_owner(A), clock)) == "commit/lease-held"
    clock.advance(2 * DEFAULT_TTL_MS)
    assert acquire(storage, dead_owner(A), clock).number == 8


def test_lease_of_a_dead_process_can_be_taken_at_once(tmp_path: Path) -> None:
    """On the same machine a dead process holds nothing, a live one does."""
    storage, clock = LocalStorage(str(tmp_path / "t")), SystemClock()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = replace(Owner.here(A), pid=child.pid, started="")
    acquire(storage, owner, clock)
    assert condition_of(lambda: acquire(storage, Owner.here(B), clock)) == "commit/lease-held"
    child.kill()
    deadline = time.monotonic() + 10
    while not owner.is_gone() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert acquire(storage, Owner.here(B), clock).owner.write_id == B
    child.wait()
    assert child.stdin is not None
    child.stdin.close()


def test_owner_with_a_reused_process_id_is_dead() -> None:
    """The number is alive, but it is another process that started at another time."""
    here = Owner.here(A)
    assert not here.is_gone()
    assert replace(here, started="1").is_gone()
    assert not replace(here, started="1", machine="elsewhere").is_gone()


def test_lease_taken_by_many_at_once_is_given_to_one(tmp_path: Path) -> None:
    """Five runs create a table at the same moment: one continues, four are refused."""
    storage = LocalStorage(str(tmp_path / "t"))
    barrier = threading.Barrier(5)
    taken: list[Lease] = []
    refused: list[str] = []

    def run() -> None:
        """Try to take the lease."""
        owner = Owner.here(uuid4().hex)
        barrier.wait()
        try:
            taken.append(acquire(storage, owner, SystemClock()))
        except LeaseHeldError as error:
            refused.append(error.condition)

    threads = [threading.Thread(target=run) for _ in range(5)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (len(taken), len(refused)) == (1, 4)
    assert set(tree(storage)) == {taken[0].path}


def test_lease_released_leaves_no_trace_of_itself(tmp_path: Path) -> None:
    """Folders that the lease made go with it, others stay."""
    made, given = LocalStorage(str(tmp_path / "made")), LocalStorage(str(tmp_path / "given"))
    (tmp_path / "given").mkdir()
    for each in (made, given):
        release(each, acquire(each, Owner.here(A), SystemClock()))
    assert made.stat("") is None
    assert list(given.list("")) == []
    put(made, "data")
    release(made, acquire(made, Owner.here(A), SystemClock()))
    assert set(tree(made)) == {"data"}


def test_lease_kept_in_the_background_does_not_end(storage: MemoryStorage) -> None:
    """While the context lasts, the lease is renewed; a lost one is not fought for."""
    clock = SystemClock()
    lease = acquire(storage, dead_owner(A), clock, ttl_ms=60)
    with keep(storage, lease, clock, ttl_ms=60):
        time.sleep(0.3)
        held = current_lease(storage)
        assert held is not None
        assert held.number > lease.number
        storage.delete(".hoodie/.lakestrap/lease")
        time.sleep(0.1)
        assert current_lease(storage) is None


def test_lease_released_while_it_is_kept_stays_away(tmp_path: Path) -> None:
    """A renewal in the background never brings back what was released."""
    clock = SystemClock()
    for number in range(20):
        storage = LocalStorage(str(tmp_path / str(number)))
        lease = acquire(storage, Owner.here(A), clock, ttl_ms=9)
        with keep(storage, lease, clock, ttl_ms=9):
            time.sleep(0.002 * (number % 5))
            release(storage, lease)
            time.sleep(0.01)
        assert tree(storage) == {}
