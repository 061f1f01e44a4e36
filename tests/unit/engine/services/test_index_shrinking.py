"""Cleans that delete skeletons shrink the bootstrap index: beside readers, killed at any step."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest

from framework.engine.fsck.table_check import check_table
from framework.engine.inspect.status import table_status
from framework.engine.reading.table import open_table
from framework.engine.services.clean import observe_clean, run_clean
from framework.engine.services.source_use import observe_sources
from framework.engine.tasks import InProcessTasks
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.commit.pending import find_pending
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Move, Storage
from framework.plan.services.clean import CleanPolicy
from framework.plan.services.source_use import SourceState
from tests.support.orders import Shop

ONE = CleanPolicy(keep_versions=1)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Return a table of two partitions with two skeletons each, all of day d1 and one of d2 old."""
    shop = Shop(tmp_path, "copy_on_write", adopts=True)
    for day in ("d1", "d2"):
        shop.comes_to_source(f"day={day}/b.parquet", (f"{day}-2", day, 0))
    shop.run()
    shop.lands("1", ("d1-1", "d1", 1), ("d1-2", "d1", 1), ("d2-1", "d2", 1))
    return shop


def clean(shop: Shop, storage: Storage | None = None) -> None:
    """Delete the three skeletons that no latest slice needs."""
    run_clean(observe_clean(str(shop.location), ONE), storage=storage)


def listed(storage: Storage) -> dict[str, int]:
    """Return the numbers of files by partition that the index lists."""
    index = BootstrapIndex.open(storage)
    assert index is not None
    with index:
        by_partition = {path: len(index.mappings(path)) for path in index.partitions()}
        assert by_partition == {path: len(found) for path, found in index.by_file_id()}
    return by_partition


def test_clean_of_skeletons_removes_their_entries_from_the_index(shop: Shop) -> None:
    """Both files list what is left, and every check of the table agrees."""
    before, storage = shop.rows(), LocalStorage(str(shop.location))
    assert listed(storage) == {"day=d1": 2, "day=d2": 2}
    clean(shop)
    assert listed(storage) == {"day=d2": 1}
    assert shop.rows() == before
    assert check_table(str(shop.location), InProcessTasks(1), deep=True).findings == ()


def test_clean_of_all_skeletons_leaves_the_index(shop: Shop) -> None:
    """There is no index without entries; no reader asks for those that are left."""
    clean(shop)
    shop.lands("2", ("d2-2", "d2", 2))
    clean(shop)
    assert listed(LocalStorage(str(shop.location))) == {"day=d2": 1}
    assert check_table(str(shop.location), InProcessTasks(1), deep=True).findings == ()


def test_sources_of_removed_entries_are_still_known(shop: Shop) -> None:
    """They are safe to delete, and status takes none of them as new."""
    clean(shop)
    states = [each.state for each in observe_sources(open_table(str(shop.location)))]
    assert sorted(states) == [SourceState.LATEST, *[SourceState.SAFE] * 3]
    assert table_status(str(shop.location)).dangers == ()
    (shop.folder / "source/day=d1/a.parquet").unlink()
    assert table_status(str(shop.location)).dangers == ()


def test_index_that_was_opened_before_a_clean_stays_as_it_was(shop: Shop) -> None:
    """One that is opened later is the new one."""
    storage = LocalStorage(str(shop.location))
    before = BootstrapIndex.open(storage)
    assert before is not None
    with before:
        first = next(before.partitions())
        clean(shop)
        assert listed(storage) == {"day=d2": 1}
        assert {path: len(before.mappings(path)) for path in before.partitions()} == {
            "day=d1": 2,
            "day=d2": 2,
        }
        assert len([*before.by_file_id()]) == len({first, "day=d2"})


class Watched(LocalStorage):
    """A storage that lets a reader work at each replacement, before and after it."""

    def __init__(self, root: str, looks: list[Event]) -> None:
        super().__init__(root)
        self.looks = looks

    def replace(self, move: Move) -> None:
        """Replace while the reader is in the middle of its look-ups."""
        looked, replaced = self.looks
        looked.wait(10)
        super().replace(move)
        replaced.set()


def test_reader_beside_a_shrinking_index_always_finds_what_it_needs(shop: Shop) -> None:
    """Whole indexes only, at any time, and each lists the skeleton that is left."""
    storage = LocalStorage(str(shop.location))
    looked, replaced, ended = Event(), Event(), Event()
    found: list[dict[str, int]] = []
    faults: list[Exception] = []

    def read() -> None:
        try:
            while not ended.is_set():
                index = BootstrapIndex.open(storage)
                assert index is not None
                with index:
                    counts: dict[str, int] = {}
                    for path in index.partitions():
                        looked.set()
                        replaced.wait(0.001)
                        counts[path] = len(index.mappings(path))
                        for file_id in index.mappings(path):
                            index.mapping(path, file_id)
                    found.append(counts)
        except Exception as error:  # noqa: BLE001  reported by the test
            faults.append(error)

    reader = Thread(target=read)
    reader.start()
    try:
        clean(shop, Watched(str(shop.location), [looked, replaced]))
    finally:
        ended.set()
        reader.join()
    assert faults == []
    assert all(counts["day=d2"] in {1, 2} for counts in found)
    assert {frozenset(counts.items()) for counts in found} <= {
        frozenset({"day=d1": 2, "day=d2": 2}.items()),
        frozenset({"day=d2": 1}.items()),
    }


@pytest.mark.long
def test_clean_killed_at_any_call_leaves_a_whole_index(shop: Shop, tmp_path: Path) -> None:
    """Also when the recovery is killed; in the end it is shrunk wherever skeletons are deleted."""
    before, step, ends = shop.rows(), 0, set()
    while True:
        step += 1
        survivor = shop.copied(tmp_path / "copy")
        if not survivor.dies_at(step, partial(clean, survivor)):
            break
        storage = LocalStorage(str(survivor.location))
        self_contained(storage)
        again, survivor.recoveries = 1, 0
        while survivor.dies_at(again, survivor.recover):
            self_contained(storage)
            again += 1
        assert survivor.rows() == before, step
        assert find_pending(storage) is None
        ends.add(tuple(listed(storage).items()))
        assert check_table(str(survivor.location), InProcessTasks(1)).findings == ()
        shutil.rmtree(survivor.location)
    assert step > 20
    assert ends == {(("day=d1", 2), ("day=d2", 2)), (("day=d2", 1),)}


def self_contained(storage: Storage) -> None:
    """Fail unless both files of the index can be read, and list the skeleton that stays."""
    index = BootstrapIndex.open(storage)
    assert index is not None
    with index:
        assert "day=d2" in set(index.partitions())
        assert "day=d2" in dict(index.by_file_id())


def test_clean_of_a_damaged_index_is_completed(shop: Shop) -> None:
    """The index stays as it is; fsck reports it."""
    storage = LocalStorage(str(shop.location))
    index = next((shop.location / ".hoodie/.aux/.bootstrap/.partitions").iterdir())
    data = bytearray(index.read_bytes())
    data[60] ^= 1
    index.write_bytes(data)
    clean(shop)
    assert index.read_bytes() == bytes(data)
    assert find_pending(storage) is None
