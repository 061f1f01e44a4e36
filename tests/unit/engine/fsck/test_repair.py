"""Repairs delete what no reader sees and no instant names, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from framework.engine.fsck.findings import Repair
from framework.engine.fsck.repair import Outcome, repair_table
from framework.engine.fsck.table_check import check_table
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.commit.staging import new_write_id
from framework.hudi.commit.state_files import STATE
from framework.hudi.filegroup.log_file import log_file_bytes
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Storage
from framework.hudi.table.properties import read_properties
from framework.hudi.timeline.clock import ManualClock, SystemClock
from framework.hudi.timeline.timeline import load_timeline
from tests.support.compactions import execute, schedule, shop_with_logs
from tests.support.orders import LATER_MS, Shop

pytestmark = pytest.mark.long

ALL = tuple(Repair)


@pytest.fixture(params=["copy_on_write", "merge_on_read"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return an adopted table with two loads over it."""
    shop = Shop(tmp_path, str(request.param), adopts=True)
    shop.run()
    shop.lands("one", ("d1-1", "d1", 1), ("b", "d1", 1))
    shop.lands("two", ("b", "d1", 2), ("c", "d3", 2))
    return shop


def conditions(shop: Shop) -> list[str]:
    """Return the conditions of a shallow check."""
    found = check_table(str(shop.location), InProcessTasks(1)).findings
    return sorted(each.condition for each in found)


def repair(shop: Shop, *repairs: Repair) -> list[tuple[str, str]]:
    """Repair long after, and return what was done to which file."""
    later = ManualClock(SystemClock().now_ms() + LATER_MS)
    found = repair_table(str(shop.location), repairs or ALL, later)
    return [(each.done, each.file) for each in found]


def between(shop: Shop) -> str:
    """Return an instant that does not exist, between two that do."""
    done = load_timeline(LocalStorage(str(shop.location))).completed
    return str(int(done[1].requested_time) + 1).zfill(17)


def strew(shop: Shop) -> list[str]:
    """Leave one orphan of each kind; return their paths."""
    base = next(shop.location.glob("day=d2/*.parquet"))
    instant, write_id = between(shop), new_write_id()
    paths = [
        f"day=d2/{'a' * 8}-0_0-0-0_{instant}.parquet",
        f"day=d2/.{'b' * 8}-0_{instant}.log.1_0-0-0",
        "day=d2/.gone.parquet.crc",
        ".hoodie/.gone.commit.crc",
        f"{STATE}/{instant}-{write_id}-state.json",
    ]
    for path in paths:
        shutil.copy(base, shop.location / path)
    log = log_file_bytes(instant, "{}", deleted=[("d2-1", "day=d2")])
    (shop.location / paths[1]).write_bytes(log)
    return paths


def test_repair_of_a_clean_table_does_nothing(shop: Shop) -> None:
    """Not one byte changes."""
    before = shop.tree()
    assert repair(shop) == []
    assert shop.tree() == before


def test_orphans_are_deleted_and_nothing_else(shop: Shop) -> None:
    """Each is named, and the table is clean afterwards."""
    before, rows = shop.tree(), shop.rows()
    paths = strew(shop)
    assert len(conditions(shop)) == len(paths)
    assert sorted(repair(shop, Repair.ORPHANS)) == sorted(("deleted", path) for path in paths)
    assert shop.tree() == before
    assert (conditions(shop), shop.rows()) == ([], rows)


def test_orphans_newer_than_the_newest_instant_stay(shop: Shop) -> None:
    """Their writer may be about to begin."""
    base = next(shop.location.glob("day=d2/*.parquet"))
    shutil.copy(base, base.parent / f"{'a' * 8}-0_0-0-0_20990101000000000.parquet")
    before = shop.tree()
    assert repair(shop) == []
    assert shop.tree() == before


def test_files_that_readers_count_stay(shop: Shop) -> None:
    """A repair never changes rows."""
    base = next(shop.location.glob("day=d2/*.parquet"))
    shutil.copy(base, base.parent / f"{'a' * 8}-0_0-0-0_00000000000000.parquet")
    before = shop.tree()
    assert repair(shop) == []
    assert shop.tree() == before
    assert conditions(shop) == ["fsck/ghost-file"]


def test_log_file_with_a_block_of_a_completed_instant_stays(tmp_path: Path) -> None:
    """Its name has an unknown instant, but its rows were committed."""
    shop = Shop(tmp_path, "merge_on_read")
    shop.lands("one", ("a", "d1", 1))
    shop.lands("two", ("a", "d1", 2))
    log = next(shop.location.glob("day=d1/.*.log.*"))
    other = log.parent / f".{'c' * 8}-0_{between(shop)[:-1]}.log.1_0-0-0"
    shop.lands("three", ("b", "d1", 1))
    shutil.copy(log, other)
    (done,) = repair(shop, Repair.ORPHANS)
    assert done == ("kept", str(other.relative_to(shop.location)))


@pytest.mark.parametrize("attempt", [Repair.ORPHANS, Repair.MARKERS])
def test_repair_beside_other_writers_is_refused(shop: Shop, attempt: Repair) -> None:
    """One that is at work, one that is pending: nothing is deleted."""
    strew(shop)
    pending = shop.location / ".hoodie" / "20990101000000000.commit.requested"
    pending.touch()
    before = shop.tree()
    assert refusal(lambda: repair(shop, attempt)) == "table/foreign-pending"
    assert shop.tree() == before
    pending.unlink()
    acquire(LocalStorage(str(shop.location)), Owner.here(new_write_id()), SystemClock())
    before = shop.tree()
    now = partial(repair_table, str(shop.location), (attempt,))
    assert refusal(now) == "commit/lease-held"
    assert shop.tree() == before


def test_repair_beside_a_planned_compaction_is_done(tmp_path: Path) -> None:
    """No file is of a compaction that no writer has begun."""
    shop = shop_with_logs(tmp_path, adopts=False)
    time = schedule(shop)
    shop.lands("three", ("d1-1", "d1", 2))
    strew(shop)
    assert {done for done, _ in repair(shop, Repair.ORPHANS)} == {"deleted"}
    assert execute(shop) == time


def refusal(attempt: Callable[[], object]) -> str:
    """Return the condition of an attempt that is refused."""
    with pytest.raises(FrameworkError) as refused:
        attempt()
    return refused.value.condition


def test_markers_are_deleted_once_they_lead_to_nothing(shop: Shop) -> None:
    """As long as an orphan is there, they are the way to it."""
    orphan = strew(shop)[0]
    folder = shop.location / ".hoodie" / ".temp" / between(shop)
    marker = folder / f"{orphan}.marker.CREATE"
    marker.parent.mkdir(parents=True)
    marker.touch()
    assert repair(shop, Repair.MARKERS)[-1] == ("kept", f".hoodie/.temp/{between(shop)}")
    repair(shop)
    assert not folder.exists()
    assert conditions(shop) == []


def test_dead_run_is_rolled_back_file_by_file(shop: Shop, tmp_path: Path) -> None:
    """By the recovery of every service; the lease goes with it."""
    survivor = shop.copied(tmp_path / "copy")
    write_id = new_write_id()
    clock = ManualClock(SystemClock().now_ms() - 10**9)
    acquire(LocalStorage(str(survivor.location)), Owner.here(write_id), clock)
    assert conditions(survivor) == ["fsck/dead-lease", "fsck/dead-run"]
    done = repair(survivor, Repair.LEASES)
    assert [each for each, _ in done] == ["deleted", "deleted"]
    assert survivor.tree() == shop.tree()
    assert conditions(survivor) == []


def with_metadata_table(shop: Shop, *, knows: bool) -> None:
    """Let a table have a metadata table, as an Apache Hudi writer makes it."""
    path = shop.location / ".hoodie" / "hoodie.properties"
    path.write_text(path.read_text() + "hoodie.table.metadata.partitions=files\n")
    meta = shop.location / ".hoodie" / "metadata"
    (meta / ".hoodie").mkdir(parents=True)
    (meta / "files").mkdir()
    (meta / "files" / "x").write_bytes(b"x")
    done = load_timeline(LocalStorage(str(shop.location))).completed
    for instant in done if knows else done[:1]:
        (meta / ".hoodie" / f"{instant.requested_time}.deltacommit").write_bytes(b"{}")


def test_stale_metadata_table_is_deleted_with_its_entry(shop: Shop) -> None:
    """Readers that use it do not see the commits that it does not know."""
    with_metadata_table(shop, knows=False)
    assert conditions(shop) == ["table/metadata-table"]
    done = repair(shop, Repair.METADATA_TABLE)
    assert ("rewritten", ".hoodie/hoodie.properties") in done
    assert ("deleted", ".hoodie/metadata/files/x") in done
    assert conditions(shop) == []
    found = read_properties(LocalStorage(str(shop.location)))
    assert found is not None
    assert (found.metadata_partitions, found.checksum_ok) == ((), True)


def test_metadata_table_that_knows_every_instant_is_left_to_apache_hudi(shop: Shop) -> None:
    """A writer may rely on it."""
    with_metadata_table(shop, knows=True)
    before = shop.tree()
    refused = refusal(lambda: repair(shop, Repair.METADATA_TABLE))
    assert refused == "fsck/metadata-table-in-use"
    assert shop.tree() == before


def test_repair_killed_at_any_call_leaves_the_rows_and_is_finished(
    shop: Shop, tmp_path: Path
) -> None:
    """Properties are readable at every moment."""
    rows, clean = shop.rows(), shop.tree()
    strew(shop)
    with_metadata_table(shop, knows=False)
    later = ManualClock(SystemClock().now_ms() + LATER_MS)
    deaths, step = 0, 0

    def attempt(storage: Storage) -> tuple[Outcome, ...]:
        return repair_table(storage.location, ALL, later, storage)

    while True:
        step += 1
        survivor = shop.copied(tmp_path / "copy")
        if not survivor.dies_at(step, attempt):
            break
        deaths += 1
        assert read_properties(LocalStorage(str(survivor.location))) is not None
        assert survivor.rows() == rows
        repair_table(str(survivor.location), ALL, ManualClock(later.now_ms() + LATER_MS))
        assert conditions(survivor) == []
        assert survivor.tree().keys() == clean.keys()
        shutil.rmtree(survivor.location)
    assert deaths > 20
