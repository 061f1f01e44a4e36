"""Damage to each kind of file is one finding; a healthy table has none."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.fsck.findings import Severity
from framework.engine.fsck.table_check import TableReport, check_table
from framework.engine.services.clean import observe_clean, run_clean
from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.services.savepoint import create_savepoint
from framework.engine.services.undo import plan_restore, plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.errors import PlanError
from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.clock import ManualClock, SystemClock
from framework.hudi.timeline.instant import Action
from framework.plan.services.clean import CleanPolicy
from framework.vocabulary import TableType
from tests.golden.tables.opening import golden_names
from tests.support.compactions import schedule, shop_with_logs
from tests.support.damaged_lakes import (
    adopted_lake,
    changed_bytes,
    files_of,
    hudi_lake,
    written_lake,
)
from tests.support.orders import Shop
from tests.support.storage_suite import tree
from tests.support.tables import record_size

pytestmark = pytest.mark.long


def report_of(location: Path, *, deep: bool = True) -> TableReport:
    """Return the report on a table, after checking that it was not changed."""
    before = tree(LocalStorage(str(location)))
    found = check_table(str(location), InProcessTasks(2), deep=deep)
    assert tree(LocalStorage(str(location))) == before
    return found


def conditions(location: Path, *, deep: bool = True) -> list[str]:
    """Return the conditions of the findings, each once."""
    return sorted({each.condition for each in report_of(location, deep=deep).findings})


@pytest.fixture(params=["copy_on_write", "merge_on_read"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return an adopted table with two loads over it, which has every kind of file."""
    shop = Shop(tmp_path, str(request.param), adopts=True)
    shop.run()
    shop.lands("one", ("d1-1", "d1", 1), ("b", "d1", 1))
    shop.lands("two", ("b", "d1", 2), ("c", "d3", 2))
    return shop


def test_healthy_table_is_clean_and_counted(shop: Shop) -> None:
    """Every key is proven, every file read."""
    found = report_of(shop.location)
    assert found.findings == ()
    assert (found.checked.instants, found.checked.partitions) == (3, 3)
    assert found.checked.keys == len(shop.rows())
    assert found.checked.files == len([p for p in shop.tree() if ".parquet" in p or ".log." in p])


def test_table_after_services_is_clean(shop: Shop) -> None:
    """Compaction, rollback and a savepoint leave nothing to find."""
    if shop.document["table"]["type"] == "merge_on_read":
        plan = observe_compaction(str(shop.location))
        run_compaction(plan, InProcessTasks(1), ManualClock(SystemClock().now_ms()))
    create_savepoint(str(shop.location))
    shop.lands("three", ("x", "d4", 1))
    run_undo(plan_rollback(str(shop.location)), Action.ROLLBACK)
    assert conditions(shop.location) == []


def test_planned_compaction_is_no_leftover(tmp_path: Path) -> None:
    """It is work that any writer may do; once another one has begun, it is reported."""
    shop = shop_with_logs(tmp_path, adopts=False)
    time = schedule(shop)
    assert conditions(shop.location) == []
    (shop.location / f".hoodie/{time}.compaction.inflight").touch()
    assert conditions(shop.location) == ["table/foreign-pending"]


def test_old_slice_that_was_cleaned_before_a_restore_is_no_loss(tmp_path: Path) -> None:
    """The restore goes back to a state that needs it no more."""
    shop = Shop(tmp_path, "copy_on_write")
    times = [shop.lands(f"load {number}", ("a", "d1", number)) for number in range(4)]
    done = run_clean(observe_clean(str(shop.location), CleanPolicy(keep_commits=2)))
    assert done is not None
    run_undo(plan_restore(str(shop.location), times[2]), Action.RESTORE)
    assert conditions(shop.location) == []


@pytest.mark.parametrize("name", golden_names())
def test_tables_of_apache_hudi_are_clean(name: str, tmp_path: Path) -> None:
    """Their files have no seal, and their keys are unique in each partition."""
    location = hudi_lake(name, tmp_path)
    assert conditions(location) == []


def test_missing_table_is_an_error(tmp_path: Path) -> None:
    """There is nothing to check."""
    with pytest.raises(PlanError) as refused:
        check_table(str(tmp_path / "nothing"), InProcessTasks(1))
    assert refused.value.condition == "table/missing"


def newest(shop: Shop, pattern: str) -> Path:
    """Return the newest file of a pattern."""
    return max(shop.location.glob(pattern), key=lambda each: each.stat().st_mtime_ns)


LOST = [
    ("day=d3/*.parquet", "table/file-lost"),
    ("day=d2/*_00000000000001.parquet", "table/file-lost"),
    (".hoodie/.aux/.bootstrap/.fileids/*.hfile", "bootstrap-index/half"),
    (".hoodie/.lakestrap/state/*.json", "state/lost"),
    ("day=d3/.hoodie_partition_metadata", "table/partition-lost"),
]


@pytest.mark.parametrize(("pattern", "condition"), LOST)
def test_lost_file_is_found_without_reading(shop: Shop, pattern: str, condition: str) -> None:
    """The listing and the small files are enough."""
    newest(shop, pattern).unlink()
    assert conditions(shop.location, deep=False) == [condition]


def test_lost_index_is_found_by_its_skeletons(shop: Shop) -> None:
    """Apache Hudi would read nulls."""
    shutil.rmtree(shop.location / ".hoodie" / ".aux")
    assert conditions(shop.location, deep=False) == ["fsck/not-mapped"]


def test_lost_log_file_is_found(tmp_path: Path) -> None:
    """Its changes would be lost."""
    location = written_lake(TableType.MERGE_ON_READ, tmp_path)
    next(location.glob("day=*/.*.log.*")).unlink()
    assert conditions(location, deep=False) == ["table/file-lost"]


def test_lost_file_of_an_older_slice_is_a_warning(tmp_path: Path) -> None:
    """The table is whole, and only a read of the past fails."""
    location = written_lake(TableType.COPY_ON_WRITE, tmp_path)
    min(location.glob("day=d0/*.parquet"), key=lambda each: each.name.rpartition("_")[2]).unlink()
    (found,) = report_of(location, deep=False).findings
    assert (found.condition, found.severity) == ("table/file-lost", Severity.WARNING)


def cut(data: bytes) -> bytes:
    """Leave out the end."""
    return data[:-7]


def flip(data: bytes) -> bytes:
    """Turn a bit of the first page."""
    return data[:40] + bytes((data[40] ^ 1,)) + data[41:]


def flip_footer(data: bytes) -> bytes:
    """Turn a bit of the footer."""
    return data[:-40] + bytes((data[-40] ^ 1,)) + data[-39:]


@pytest.mark.parametrize("kind", list(TableType))
def test_every_truncated_data_file_is_found_without_reading(
    kind: TableType, tmp_path: Path
) -> None:
    """By its size alone; errors for the latest slices."""
    location = written_lake(kind, tmp_path)
    files = files_of(location)
    for path in [*files["base"], *files.get("log", [])]:
        with changed_bytes(path, cut):
            assert conditions(location, deep=False) == ["table/file-size"], path


@pytest.mark.parametrize("damage", [flip, flip_footer])
@pytest.mark.parametrize("kind", list(TableType))
def test_every_flipped_bit_of_a_data_file_is_found_by_reading(
    kind: TableType, damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """It names the file, and nothing else is reported."""
    location = written_lake(kind, tmp_path)
    files = files_of(location)
    for path in [*files["base"], *files.get("log", [])]:
        with changed_bytes(path, damage):
            assert conditions(location, deep=False) == []
            found = report_of(location).findings
            assert {each.file for each in found} == {str(path.relative_to(location))}


def test_flipped_bits_of_skeleton_and_source_are_found_by_reading(tmp_path: Path) -> None:
    """Each under its own name."""
    location, source = adopted_lake(tmp_path)
    skeleton = next(each for each in location.glob("p=1/*.parquet"))
    with changed_bytes(skeleton, flip):
        (found,) = report_of(location).findings
        assert found.file == str(skeleton.relative_to(location))
    with changed_bytes(source / "p=1" / "a", flip_footer):
        assert conditions(location) == ["source/drift"]
    with changed_bytes(source / "p=1" / "a", cut):
        assert conditions(location, deep=False) == ["source/drifted"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (".hoodie/.lakestrap/state/*.json", {"state/damaged"}),
        (".hoodie/.aux/.bootstrap/.partitions/*.hfile", {"hfile/corrupt"}),
        (".hoodie/.aux/.bootstrap/.fileids/*.hfile", {"hfile/corrupt"}),
    ],
)
def test_flipped_bits_of_state_and_index_are_found_without_reading(
    shop: Shop, pattern: str, expected: set[str]
) -> None:
    """They are small, and read anyway."""
    with changed_bytes(newest(shop, pattern), flip):
        assert set(conditions(shop.location, deep=False)) == expected


def test_damaged_commit_is_found(shop: Shop) -> None:
    """The rest cannot be checked without it."""
    newest(shop, ".hoodie/*commit").write_bytes(b"{")
    assert conditions(shop.location) == ["timeline/corrupt-commit"]


def rewritten(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Write a base file again with other rows, as a writer with a bug would."""
    table = pq.read_table(path, partitioning=None)
    pq.write_table(change(table), path, store_schema=False)


def test_duplicate_keys_are_found_with_their_file_groups(tmp_path: Path) -> None:
    """A key in two rows of one file, and rows that the commit did not record."""
    location = written_lake(TableType.COPY_ON_WRITE, tmp_path)
    path = max(location.glob("day=d1/*.parquet"), key=lambda each: each.name.rpartition("_")[2])
    rewritten(path, lambda table: pa.concat_tables([table, table.slice(0, 1)]))
    record_size(location, path)
    found = report_of(location).findings
    assert {each.condition for each in found} == {"fsck/rows-differ", "fsck/duplicate-keys"}
    assert all(each.file == str(path.relative_to(location)) for each in found)


def test_null_keys_are_found(tmp_path: Path) -> None:
    """No writer could update such rows."""
    location = written_lake(TableType.COPY_ON_WRITE, tmp_path)
    path = max(location.glob("day=d1/*.parquet"), key=lambda each: each.name.rpartition("_")[2])

    def without(table: pa.Table) -> pa.Table:
        column = pa.array([None, *table["_hoodie_record_key"].to_pylist()[1:]], pa.string())
        return table.set_column(2, "_hoodie_record_key", column)

    rewritten(path, without)
    record_size(location, path)
    assert conditions(location) == ["fsck/null-keys"]


def test_orphans_are_found_and_files_of_a_pending_instant_are_none(shop: Shop) -> None:
    """Only an instant that exists claims a file."""
    old, pending = "20200101000000000", "20990101000000000"
    first = next(shop.location.glob("day=d2/*.parquet"))
    stray = str(int(first_active(shop)) + 1).zfill(17)
    for instant in (stray, pending):
        shutil.copy(first, first.parent / f"{'a' * 8}-0_0-0-0_{instant}.parquet")
    (shop.location / ".hoodie" / f"{pending}.commit.requested").touch()
    assert conditions(shop.location) == ["fsck/orphan-file", "table/foreign-pending"]
    shutil.copy(first, first.parent / f"{'b' * 8}-0_0-0-0_{old}.parquet")


@pytest.mark.parametrize("adopts", [False, True])
def test_scheduled_compaction_is_no_finding(tmp_path: Path, *, adopts: bool) -> None:
    """It is planned work; one that another writer has begun is a finding."""
    shop = shop_with_logs(tmp_path, adopts=adopts)
    instant = schedule(shop)
    shop.lands("three", ("d1-1", "d1", 2))
    assert conditions(shop.location) == []
    (shop.location / f".hoodie/{instant}.compaction.inflight").touch()
    assert conditions(shop.location) == ["table/foreign-pending"]


def first_active(shop: Shop) -> str:
    """Return the second instant of the shop, after the bootstrap."""
    times = sorted(each.name.split(".")[0] for each in (shop.location / ".hoodie").glob("*commit"))
    return times[1]


def test_file_that_readers_count_without_an_instant_is_an_error(tmp_path: Path) -> None:
    """A ghost: older than the timeline, and in no archive."""
    location = written_lake(TableType.COPY_ON_WRITE, tmp_path)
    first = next(location.glob("day=d1/*.parquet"))
    shutil.copy(first, first.parent / f"{'b' * 8}-0_0-0-0_20200101000000000.parquet")
    found = report_of(location, deep=False).findings
    assert [(each.condition, each.repair) for each in found] == [("fsck/ghost-file", None)]


def test_leftovers_of_a_dead_run_are_found_and_those_of_a_live_one_are_not(shop: Shop) -> None:
    """The lease decides."""
    storage, write_id = LocalStorage(str(shop.location)), new_write_id()
    (shop.location / ".hoodie" / ".lakestrap" / write_id).mkdir()
    (shop.location / ".hoodie" / ".temp" / first_active(shop)).mkdir(parents=True)
    assert conditions(shop.location) == ["fsck/dead-run", "fsck/markers-left"]
    acquire(storage, Owner.here(write_id), SystemClock())
    assert conditions(shop.location) == []


def test_lease_of_a_dead_process_is_found(shop: Shop) -> None:
    """Taken long ago."""
    clock = ManualClock(SystemClock().now_ms() - 10**9)
    acquire(LocalStorage(str(shop.location)), Owner.here(new_write_id()), clock)
    assert "fsck/dead-lease" in conditions(shop.location)
