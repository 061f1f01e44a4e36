"""Work on many files overlaps where a storage is far away."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.overlap import overlapped
from framework.hudi.storage.port import Storage


@pytest.fixture
def far() -> Storage:
    """Return a storage in an object store, which is not used."""
    return open_storage("s3://bucket/x")


def test_results_come_in_order(far: Storage) -> None:
    """However long each takes."""

    def slow(number: int) -> int:
        """Take longer for even numbers."""
        time.sleep(0.002 * (number % 2))
        return number

    assert list(overlapped(far, slow, range(100))) == list(range(100))


def test_several_items_are_worked_on_at_once_in_an_object_store(far: Storage) -> None:
    """Four that wait for each other would never end one by one."""
    barrier = threading.Barrier(4, timeout=60)
    assert len(list(overlapped(far, lambda _: barrier.wait(), range(4)))) == 4


def test_items_are_worked_on_one_by_one_on_this_machine(tmp_path: Path) -> None:
    """By the calling thread."""
    threads = overlapped(LocalStorage(str(tmp_path)), lambda _: threading.get_ident(), range(9))
    assert set(threads) == {threading.get_ident()}


def test_first_error_in_order_is_raised_and_few_items_are_begun(far: Storage) -> None:
    """Later items are not begun."""
    begun: list[int] = []

    def failing(number: int) -> int:
        """Fail at one item."""
        begun.append(number)
        if number == 3:
            raise ValueError(number)
        return number

    found: list[int] = []
    with pytest.raises(ValueError, match="3"):
        found.extend(overlapped(far, failing, range(10_000)))
    assert len(begun) < 200


def test_items_are_taken_as_results_are(far: Storage) -> None:
    """A million files are not held."""
    taken = 0

    def counted() -> Iterator[int]:
        """Count what is taken."""
        nonlocal taken
        for number in range(10_000):
            taken += 1
            yield number

    results = overlapped(far, lambda each: each, counted())
    for _ in range(10):
        next(results)
    assert taken <= 64


def test_items_that_are_large_together_are_worked_on_one_by_one(far: Storage) -> None:
    """Two of 40 MiB would hold more than 64."""
    at_work: list[int] = []
    most = 0

    def large(number: int) -> int:
        """Note how many are at work."""
        nonlocal most
        at_work.append(number)
        most = max(most, len(at_work))
        time.sleep(0.002)
        at_work.remove(number)
        return number

    assert list(overlapped(far, large, range(20), size=lambda _: 40 << 20)) == list(range(20))
    assert most == 1
    assert list(overlapped(far, large, range(20), size=lambda _: 20 << 20)) == list(range(20))
    assert 1 < most <= 3
