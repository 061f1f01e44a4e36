"""Drop: a table goes whole, its source and what is not its own never, and killed runs finish."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from framework.cli.drop import command
from framework.cli.options import JsonFormat
from framework.engine.fsck.table_check import check_table
from framework.engine.inspect.status import table_status
from framework.engine.services.drop import Dropping, observe_drop, run_drop
from framework.engine.services.savepoint import create_savepoint
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from framework.hudi.commit.drop import is_half_dropped
from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Storage
from framework.hudi.table.properties import read_properties
from framework.hudi.timeline.clock import ManualClock, SystemClock
from tests.golden.tables.opening import golden_names
from tests.support.damaged_lakes import hudi_lake
from tests.support.orders import LATER_MS, Shop
from tests.support.storage_suite import tree

pytestmark = pytest.mark.long


@pytest.fixture(params=["copy_on_write", "merge_on_read"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return an adopted table with a load over it."""
    shop = Shop(tmp_path, str(request.param), adopts=True)
    shop.run()
    shop.lands("one", ("d1-1", "d1", 1), ("b", "d3", 1))
    return shop


def drop(location: Path, dropping: Dropping | None = None) -> tuple[str, ...]:
    """Drop a table; return what is left in its folder."""
    return run_drop(observe_drop(str(location)), dropping or Dropping())


def refusal(attempt: Callable[[], object]) -> str:
    """Return the condition of an attempt that is refused."""
    with pytest.raises(FrameworkError) as refused:
        attempt()
    return refused.value.condition


def test_drop_removes_the_folder_and_never_the_source(shop: Shop) -> None:
    """The same spec makes the table again."""
    rows = shop.rows()
    source = tree(LocalStorage(str(shop.folder / "source")))
    plan = observe_drop(str(shop.location))
    assert (plan.name, plan.instants, plan.partitions) == ("shop.orders", 2, 3)
    assert plan.sources == (str(shop.folder / "source"),)
    assert drop(shop.location) == ()
    assert not shop.location.exists()
    assert tree(LocalStorage(str(shop.folder / "source"))) == source
    shop.run()
    shop.run()
    assert shop.rows() == rows


@pytest.mark.parametrize("name", golden_names())
def test_tables_of_apache_hudi_are_dropped(name: str, tmp_path: Path) -> None:
    """With their checksums, markers and folders."""
    location = hudi_lake(name, tmp_path)
    assert drop(location) == ()
    assert not location.exists()


def test_files_that_are_not_the_tables_stay(shop: Shop) -> None:
    """At the root, in a partition, in another table, and behind a link."""
    other = shop.folder / "other"
    other.mkdir()
    (other / "kept").write_bytes(b"x")
    (shop.location / "notes.txt").write_bytes(b"x")
    (shop.location / "day=d1" / "query.sql").write_bytes(b"x")
    (shop.location / "day=d1" / "deep").mkdir()
    (shop.location / "day=d1" / "deep" / "kept").write_bytes(b"x")
    shutil.copytree(shop.location / ".hoodie", shop.location / "nested" / ".hoodie")
    (shop.location / "link").symlink_to(other)
    linked = f"day=d1/{'a' * 8}-0_0-0-0_20200101000000000.parquet"
    (shop.location / linked).symlink_to(other / "kept")
    left = drop(shop.location)
    assert sorted(left) == sorted(
        ["day=d1/deep/", "day=d1/query.sql", linked, "link/", "nested/", "notes.txt"]
    )
    assert (shop.location / "nested" / ".hoodie" / "hoodie.properties").exists()
    assert (other / "kept").exists()
    assert list(shop.location.glob("day=*/*.parquet")) == [shop.location / linked]
    assert not (shop.location / ".hoodie").exists()
    assert sorted(each.name for each in shop.location.iterdir()) == [
        "day=d1",
        "link",
        "nested",
        "notes.txt",
    ]


def test_finishing_a_drop_follows_no_link(shop: Shop) -> None:
    """Neither does the recovery of another command: the files behind a link are not the table's."""
    real = shop.folder / "real"
    shutil.move(shop.location / "day=d3", real)
    (shop.location / "day=d3").symlink_to(real)
    there = tree(LocalStorage(str(real)))
    half_dropped(shop)
    shop.recover()
    assert tree(LocalStorage(str(real))) == there
    assert [each.name for each in shop.location.iterdir()] == ["day=d3"]


@pytest.mark.parametrize("place", ["table/raw", ".", "table"])
def test_drop_beside_a_source_is_refused(shop: Shop, place: str) -> None:
    """Inside the table's folder, around it, or the same."""
    path = shop.location / ".hoodie" / "hoodie.properties"
    kept = [e for e in path.read_text().splitlines() if "bootstrap.base.path" not in e]
    source = (shop.folder / place).resolve()
    path.write_text("\n".join([*kept, f"hoodie.bootstrap.base.path=file\\://{source}"]) + "\n")
    before = shop.tree()
    assert refusal(lambda: drop(shop.location)) == "drop/source-inside"
    assert shop.tree() == before


def test_drop_of_nothing_is_refused(tmp_path: Path) -> None:
    """There is no table."""
    assert refusal(lambda: drop(tmp_path)) == "table/missing"


def test_drop_of_a_savepointed_table_needs_consent(shop: Shop) -> None:
    """A savepoint says that somebody wants to come back."""
    create_savepoint(str(shop.location))
    before = shop.tree()
    assert refusal(lambda: drop(shop.location)) == "drop/savepointed"
    assert shop.tree() == before
    drop(shop.location, Dropping(savepoints=True))
    assert not shop.location.exists()


def test_drop_beside_other_writers_is_refused(shop: Shop) -> None:
    """A pending instant, a run at work, a table that has changed."""
    plan = observe_drop(str(shop.location))
    pending = shop.location / ".hoodie" / "20990101000000000.commit.requested"
    pending.touch()
    assert refusal(lambda: drop(shop.location)) == "table/foreign-pending"
    pending.unlink()
    shop.lands("two", ("z", "d1", 2))
    assert refusal(lambda: run_drop(plan, Dropping())) == "drop/stale-plan"
    acquire(LocalStorage(str(shop.location)), Owner.here(new_write_id()), SystemClock())
    assert refusal(lambda: drop(shop.location)) == "commit/lease-held"
    assert len(shop.rows()) == 4


def test_drop_over_a_table_that_was_made_meanwhile_is_refused(shop: Shop) -> None:
    """Its files would be deleted for those of the old one."""
    path = shop.location / ".hoodie" / "hoodie.properties"
    dropped = shop.location / ".hoodie" / ".lakestrap" / "dropped.properties"
    dropped.write_bytes(path.read_bytes() + b"# of the old table")
    before = shop.tree()
    assert refusal(lambda: drop(shop.location)) == "drop/made-again"
    assert shop.tree() == before


def half_dropped(shop: Shop) -> None:
    """Let a drop die after it took the table away."""
    step = 0
    while not is_half_dropped(LocalStorage(str(shop.location))):
        step += 1
        survivor = shop.copied(shop.folder / f"copy-{step}")
        assert survivor.dies_at(step, attempt)
        if is_half_dropped(LocalStorage(str(survivor.location))):
            shutil.rmtree(shop.location)
            shutil.move(survivor.location, shop.location)


def attempt(storage: Storage) -> tuple[str, ...]:
    """Drop the table in a storage, long ago."""
    plan = observe_drop(storage.location)
    return run_drop(plan, Dropping(), ManualClock(SystemClock().now_ms() - LATER_MS), storage)


def test_half_dropped_table_is_none_for_readers_and_commands(shop: Shop) -> None:
    """They name the drop, and a run of the spec finishes it and starts over."""
    half_dropped(shop)
    status = table_status(str(shop.location))
    assert not status.exists
    assert "drop" in status.pending
    check = refusal(lambda: check_table(str(shop.location), InProcessTasks(1)))
    assert check == "drop/unfinished"
    assert observe_drop(str(shop.location)).is_half
    assert refusal(shop.rows) == "read/not-a-table"
    shop.run()
    shop.run()
    assert len(shop.rows()) == 3


@pytest.mark.long
@pytest.mark.parametrize("finish", ["drop", "recover"])
def test_drop_killed_at_any_call_is_whole_or_gone_and_is_finished(
    shop: Shop, tmp_path: Path, finish: str
) -> None:
    """Readers see all rows or no table, and never some."""
    rows, source = shop.rows(), tree(LocalStorage(str(shop.folder / "source")))
    outcomes, deaths, step = set(), 0, 0
    while True:
        step += 1
        survivor = shop.copied(tmp_path / "copy")
        if not survivor.dies_at(step, attempt):
            break
        deaths += 1
        whole = read_properties(LocalStorage(str(survivor.location))) is not None
        outcomes.add(whole)
        if whole:
            assert survivor.rows() == rows, step
        elif finish == "recover":
            survivor.recover()
            assert survivor.tree() == {}, step
        elif (survivor.location / ".hoodie").exists():
            later = ManualClock(SystemClock().now_ms() + LATER_MS)
            run_drop(observe_drop(str(survivor.location)), Dropping(), later)
            assert not survivor.location.exists(), step
        shutil.rmtree(survivor.location, ignore_errors=True)
    assert deaths > 20
    assert outcomes == {True, False}
    assert tree(LocalStorage(str(shop.folder / "source"))) == source


def test_drop_that_died_while_it_released_its_lease_is_finished(shop: Shop) -> None:
    """All files of the table are gone, so the same command deletes what runs left."""
    drop(shop.location)
    storage = LocalStorage(str(shop.location))
    acquire(storage, Owner.here(new_write_id()), SystemClock())
    plan = observe_drop(str(shop.location))
    assert plan.is_half
    assert refusal(lambda: run_drop(plan, Dropping())) == "commit/lease-held"
    later = ManualClock(SystemClock().now_ms() + LATER_MS)
    assert run_drop(plan, Dropping(), later) == ()
    assert not shop.location.exists()


def test_drop_that_died_in_the_middle_of_its_move_is_done_again(shop: Shop) -> None:
    """The properties are at both places, so readers find the whole table."""
    rows, hoodie = shop.rows(), shop.location / ".hoodie"
    (hoodie / ".lakestrap/dropped.properties").hardlink_to(hoodie / "hoodie.properties")
    assert shop.rows() == rows
    assert drop(shop.location) == ()
    assert not shop.location.exists()


def test_drop_command_shows_what_goes_and_what_stays(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal it needs --yes; with --dry-run nothing changes."""
    place = str(shop.location)
    (shop.location / "notes.txt").write_bytes(b"x")
    assert command(place, dry_run=True) == 0
    shown = capsys.readouterr().out
    assert "table shop.orders, 2 instants" in shown
    assert f"keeps    the source {shop.folder / 'source'}" in shown
    assert "notes.txt" in shown
    assert refusal(lambda: command(place)) == "usage/not-confirmed"
    capsys.readouterr()
    assert command(place, yes=True, form=JsonFormat.JSON) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["dropped"] is True
    assert document["unknown"] == ["notes.txt"]
    assert [each.name for each in shop.location.iterdir()] == ["notes.txt"]
