"""Tasks on threads: every status once, errors as they were, interruptions at once.

And work shared among tasks.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.engine.tasks import (
    InProcessTasks,
    LimitedTasks,
    decode,
    encode,
    release_memory,
    shared,
)
from framework.errors import StorageError


@dataclass(frozen=True)
class Share:
    """A descriptor."""

    start: int
    names: list[str]


def test_descriptor_comes_back_from_its_text() -> None:
    """One line of JSON."""
    share = Share(start=3, names=["a", "é"])
    assert "\n" not in encode(share)
    assert decode(Share, encode(share)) == share


@pytest.mark.parametrize("parallelism", [0, 1, 2, 8])
def test_every_descriptor_has_one_status(parallelism: int) -> None:
    """On one thread in order, on several in any."""
    tasks = InProcessTasks(parallelism)
    assert tasks.parallelism == max(1, parallelism)
    found = list(tasks.run(str.upper, ["a", "b", "c"]))
    assert sorted(found) == ["A", "B", "C"]
    assert parallelism > 1 or found == ["A", "B", "C"]


@pytest.mark.parametrize("parallelism", [1, 2])
def test_no_descriptor_has_no_status(parallelism: int) -> None:
    """Nothing is started."""
    assert list(InProcessTasks(parallelism).run(str.upper, [])) == []


def test_error_is_raised_after_tasks_under_way_have_ended() -> None:
    """None may write into what is undone next; those that wait are not begun."""
    done: list[str] = []

    def work(text: str) -> str:
        if text == "bad":
            raise StorageError("storage/failed", "no")
        time.sleep(0.2)
        done.append(text)
        return text

    with pytest.raises(StorageError):
        list(InProcessTasks(2).run(work, ["slow", "bad", *("late" for _ in range(50))]))
    count = len(done)
    assert "slow" in done
    assert count < 10
    time.sleep(0.3)
    assert len(done) == count


def test_interruption_does_not_wait_for_tasks_under_way() -> None:
    """What they write from then on is never looked at."""
    free = threading.Event()

    def work(text: str) -> str:
        if text == "stop":
            raise KeyboardInterrupt
        free.wait(20)
        return text

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(InProcessTasks(2).run(work, ["slow", "stop"]))
    assert time.monotonic() - begun < 10
    free.set()


def test_limited_tasks_run_in_waves() -> None:
    """Never more at a time than the author allows."""
    at_work, most, lock = 0, 0, threading.Lock()

    def work(text: str) -> str:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        time.sleep(0.01)
        with lock:
            at_work -= 1
        return text

    tasks = LimitedTasks(InProcessTasks(4), 2)
    assert tasks.parallelism == 2
    assert sorted(tasks.run(work, list("abcde"))) == list("abcde")
    assert most <= 2


def test_limit_above_the_cores_hands_all_on_at_once() -> None:
    """It says how many tasks to cut, not how many cores there are."""
    tasks = LimitedTasks(InProcessTasks(1), 7)
    assert tasks.parallelism == 7
    assert list(tasks.run(str.upper, ["a", "b"])) == ["A", "B"]


@given(
    costs=st.lists(st.floats(0, 1e9), max_size=50),
    parallelism=st.integers(1, 8),
    least=st.floats(0, 1e9),
)
def test_shared_any_costs_keeps_every_item_in_order(
    costs: list[float], parallelism: int, least: float
) -> None:
    """Stretches put together are the items; none is empty, and there are not too many."""
    items = list(enumerate(costs))
    parts = shared(items, lambda each: each[1], parallelism, least=least)
    assert [each for part in parts for each in part] == items
    assert all(parts)
    assert len(parts) <= parallelism * 2


def test_shared_equal_costs_gives_equal_parts() -> None:
    """Eight items of one cost for two cores are four parts of two."""
    parts = shared(range(8), lambda _: 1.0, 2)
    assert [len(part) for part in parts] == [2, 2, 2, 2]


def test_shared_little_work_stays_in_one_part() -> None:
    """What costs less than a task is worth is not divided."""
    assert len(shared(range(8), lambda _: 1.0, 4, least=10.0)) == 1


def resident_mb() -> float:
    """Return the memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def test_released_memory_is_the_systems() -> None:
    """Arrow alone keeps what arrays of 128 MB leave behind."""
    held = [pa.repeat(pa.scalar(number, pa.int64()), 1 << 20) for number in range(16)]
    full = resident_mb()
    del held
    release_memory()
    assert resident_mb() < full - 100


def test_released_memory_includes_what_only_a_circle_of_objects_holds() -> None:
    """A reader and its stream refer to each other; nothing else frees their arrays in time."""
    circle: list[object] = [pa.repeat(pa.scalar(1, pa.int64()), 1 << 25)]
    circle.append(circle)
    full = resident_mb()
    del circle
    release_memory()
    assert resident_mb() < full - 200
