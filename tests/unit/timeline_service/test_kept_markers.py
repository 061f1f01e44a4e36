"""Markers that writers send one by one: durable when acknowledged, new once, in few files."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from framework.errors import StorageError
from framework.hudi.commit.markers import batch_files, read_batch
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.storage.port import Entry
from framework.timeline_service.marker_routes import KeptMarkers
from tests.support.fault_storage import FaultStorage, Killed
from tests.support.storage_suite import put

pytestmark = pytest.mark.long

INSTANT = "20261101000000001"
FOLDER = f".hoodie/.temp/{INSTANT}"


def marker(number: int) -> str:
    """Return the name of a marker."""
    return f"p={number % 3}/f{number}_1-0-1_{INSTANT}.parquet.marker.CREATE"


def on_disk(storage: MemoryStorage) -> set[str]:
    """Return all markers that Apache Hudi's rollback would find."""
    batches = batch_files(storage, INSTANT).values()
    return {line for each in batches for line in read_batch(storage, each.path)}


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage(uuid4().hex)
    yield found
    found.forget()


@dataclass
class Meddled(FaultStorage):
    """A storage whose folder is deleted just before the type file is read.

    Attributes:
        looks_left: reads until then, inclusive; 0 for never.
    """

    looks_left: int = 0

    def stat(self, path: str) -> Entry | None:
        """Look."""
        if path.endswith("MARKERS.type"):
            self.looks_left -= 1
            if self.looks_left == 0:
                self.inner.delete(FOLDER)
        return super().stat(path)


def test_marker_is_on_disk_when_acknowledged_and_reported_as_new_once(
    storage: MemoryStorage,
) -> None:
    """Also by another service of the same table."""
    markers = KeptMarkers(storage, INSTANT)
    assert not markers.is_there()
    assert markers.create(marker(1)) is True
    assert on_disk(storage) == {marker(1)}
    assert markers.create(marker(1)) is False
    assert KeptMarkers(storage, INSTANT).create(marker(1)) is False
    assert markers.is_there()


def test_markers_of_many_threads_are_each_new_for_one_of_them(storage: MemoryStorage) -> None:
    """None is lost."""
    begun = threading.Barrier(8)
    slow = FaultStorage(storage, hook=lambda _: time.sleep(0.001))
    markers = KeptMarkers(slow, INSTANT)

    def send_all(_: int) -> list[bool]:
        begun.wait()
        return [markers.create(marker(number)) for number in range(60)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send_all, range(8)))
    assert [sum(each) for each in zip(*answers, strict=True)] == [1] * 60
    assert on_disk(storage) == set(map(marker, range(60)))


def test_writers_that_never_pause_share_batches(storage: MemoryStorage) -> None:
    """A call whose marker is written does not begin a batch of the one that came since."""
    slow = FaultStorage(storage, hook=lambda _: time.sleep(0.001))
    markers = KeptMarkers(slow, INSTANT)

    def send_own(thread: int) -> None:
        for number in range(20):
            markers.create(marker(100 * thread + number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send_own, range(8)))
    assert len(on_disk(storage)) == 160
    assert max(batch_files(storage, INSTANT)) < 80, "a batch for each marker, nearly"


def test_calls_that_come_while_a_batch_is_written_share_the_next(storage: MemoryStorage) -> None:
    """One file for all of them."""
    held, writing = threading.Event(), threading.Event()

    def hold(step: int) -> None:
        if step == 1:
            writing.set()
            held.wait(20)

    markers = KeptMarkers(FaultStorage(storage, hook=hold), INSTANT)
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(markers.create, marker(0))
        assert writing.wait(20)
        others = [pool.submit(markers.create, marker(n)) for n in range(1, 9)]
        while len(markers._waiting) < 8:  # noqa: SLF001 - nothing else shows that they wait
            time.sleep(0.001)
        held.set()
        assert all(each.result(20) for each in (first, *others))
    sizes = [len(read_batch(storage, each.path)) for each in batch_files(storage, INSTANT).values()]
    assert sizes == [1, 8]


def test_many_markers_are_kept_in_few_files(storage: MemoryStorage) -> None:
    """A file for each would take a rollback, and the deletion, as long as direct markers do."""
    markers = KeptMarkers(storage, INSTANT)
    for number in range(200):
        markers.create(marker(number))
    assert len(batch_files(storage, INSTANT)) <= 32
    assert on_disk(storage) == set(map(marker, range(200)))
    assert markers.names() == sorted(map(marker, range(200)))


def test_folder_that_another_process_deleted_is_not_cached(storage: MemoryStorage) -> None:
    """After a rollback by another process, a marker must not be acknowledged from the cache."""
    markers = KeptMarkers(storage, INSTANT)
    markers.create(marker(1))
    storage.delete(FOLDER)
    assert markers.create(marker(1)) is True
    storage.delete(FOLDER)
    put(storage, f"{FOLDER}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    assert markers.create(marker(1)) is True
    assert on_disk(storage) == {marker(1)}


def test_folder_that_is_deleted_while_a_batch_is_made_is_not_taken_for_known(
    storage: MemoryStorage,
) -> None:
    """What was in it is new again."""
    meddled = Meddled(storage)
    markers = KeptMarkers(meddled, INSTANT)
    markers.create(marker(1))
    meddled.looks_left = 2  # one to see that the folder is the known one, one to add to it
    markers.create(marker(2))
    assert on_disk(storage) == {marker(2)}
    assert markers.create(marker(1)) is True
    assert on_disk(storage) == {marker(1), marker(2)}


def test_deletion_removes_the_folder_and_its_pending_files(storage: MemoryStorage) -> None:
    """True where there was one; nothing of ours stays behind."""
    markers = KeptMarkers(storage, INSTANT)
    assert markers.delete() is False
    markers.create(marker(1))
    put(storage, f".hoodie/.lakestrap/markers/{INSTANT}/left", b"half")
    assert markers.delete() is True
    assert (markers.is_there(), markers.names()) == (False, [])
    assert list(storage.list(".hoodie/.lakestrap/markers")) == []


@pytest.mark.parametrize("step", range(1, 7))
def test_marker_that_cannot_be_written_is_reported_and_can_be_sent_again(
    storage: MemoryStorage, step: int
) -> None:
    """At whatever step it fails: two files are made, filled and moved."""
    markers = KeptMarkers(FaultStorage(storage, fail_at=step), INSTANT)
    with pytest.raises(StorageError) as caught:
        markers.create(marker(1))
    assert caught.value.condition == "storage/full"
    assert markers.create(marker(1)) is True
    assert on_disk(storage) == {marker(1)}


def test_merge_that_fails_loses_nothing_and_fails_no_caller(
    storage: MemoryStorage, caplog: pytest.LogCaptureFixture
) -> None:
    """At whatever step; all markers are there, in more files."""
    counted = FaultStorage(storage)
    markers = KeptMarkers(counted, INSTANT)
    send(markers, 31)
    written = counted.steps + 3
    markers.create(marker(31))
    merging = range(written + 1, counted.steps + 1)
    assert len(merging) > 32
    for step in merging:
        storage.delete(FOLDER)
        caplog.clear()
        send(KeptMarkers(FaultStorage(storage, fail_at=step), INSTANT), 32)
        assert "were not merged" in caplog.text
        assert on_disk(storage) == set(map(marker, range(32)))


def test_service_that_is_killed_at_any_step_leaves_acknowledged_markers(
    storage: MemoryStorage,
) -> None:
    """Every acknowledged marker is found, and no partial one."""
    counted = FaultStorage(storage)
    send(KeptMarkers(counted, INSTANT), 32)
    for step in range(1, counted.steps + 1):
        storage.delete(".hoodie")
        killed = FaultStorage(storage, kill_at=step)
        acknowledged = send_until_killed(KeptMarkers(killed, INSTANT), 32)
        assert killed.dead
        found = on_disk(storage)
        assert set(acknowledged) <= found <= {*acknowledged, marker(len(acknowledged))}, step
        assert KeptMarkers(storage, INSTANT).create(marker(99)) is True


def send(markers: KeptMarkers, many: int) -> None:
    """Send markers, one after the other; after 32 of them they are merged."""
    for number in range(many):
        assert markers.create(marker(number)) is True


def send_until_killed(markers: KeptMarkers, many: int) -> list[str]:
    """Send markers; return the acknowledged ones."""
    acknowledged: list[str] = []
    with suppress(Killed):
        for number in range(many):
            markers.create(marker(number))
            acknowledged.append(marker(number))
    return acknowledged


class Model(RuleBasedStateMachine):
    """Two services of one table, and another process that deletes."""

    def __init__(self) -> None:
        super().__init__()
        self.storage = MemoryStorage(uuid4().hex)
        self.services = [KeptMarkers(self.storage, INSTANT) for _ in range(2)]
        self.expected: set[str] = set()

    @rule(which=st.integers(0, 1), number=st.integers(0, 9), times=st.sampled_from([1, 1, 40]))
    def create(self, which: int, number: int, times: int) -> None:
        """Create one or many; a service that has not seen another's may report one as new again."""
        for each in range(number, number + times):
            is_new = self.services[which].create(marker(each))
            assert is_new or marker(each) in self.expected
            self.expected.add(marker(each))

    @rule(which=st.integers(0, 1))
    def delete(self, which: int) -> None:
        """By a service."""
        assert self.services[which].delete() == bool(self.expected)
        self.expected = set()

    @rule()
    def delete_elsewhere(self) -> None:
        """By another process."""
        self.storage.delete(FOLDER)
        self.expected = set()

    @invariant()
    def same(self) -> None:
        """Both return the markers on disk, which are those that were sent."""
        assert [each.names() for each in self.services] == [sorted(self.expected)] * 2

    def teardown(self) -> None:
        """Forget the files."""
        self.storage.forget()


TestModel = pytest.mark.property(
    settings(max_examples=40, stateful_step_count=15, deadline=None)(Model).TestCase
)
