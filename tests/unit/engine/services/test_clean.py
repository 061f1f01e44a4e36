"""Cleans: old files go, and no retained commit loses a row."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from framework.cli.options import JsonFormat
from framework.cli.retention import clean_command
from framework.engine.inspect.status import table_status
from framework.engine.services.clean import observe_clean, run_clean
from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.services.savepoint import create_savepoint, delete_savepoint
from framework.engine.services.undo import plan_restore, plan_rollback
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError, SpecError
from framework.hudi.commit.pending import find_pending
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.timeline.clock import ManualClock, SystemClock
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.stores.port import MemoryStore
from framework.plan.services.clean import CleanPlan, CleanPolicy
from tests.support.orders import Shop
from tests.support.writing import rows_of

pytestmark = pytest.mark.long

TWO = CleanPolicy(keep_commits=2)
LOADS = 4


@pytest.fixture(params=["ordinary", "adopted", "merge_on_read", "adopted merge_on_read"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return a table whose groups have four slices each or, with logs, two."""
    adopts = "adopted" in request.param
    merges = "merge_on_read" in request.param
    shop = Shop(tmp_path, "merge_on_read" if merges else "copy_on_write", adopts=adopts)
    if adopts:
        shop.run()
    for number in range(LOADS):
        ids = ("d1-1", "d2-1") if adopts else ("a", "b")
        shop.lands(f"{number}", *((key, f"d{n + 1}", number) for n, key in enumerate(ids)))
        if merges and number % 2:
            run_compaction(observe_compaction(str(shop.location)), InProcessTasks(1))
    return shop


def commits(shop: Shop) -> list[str]:
    """Return the completed instants of data, oldest first."""
    found = load_timeline(LocalStorage(str(shop.location))).completed
    return [each.requested_time for each in found if each.action in DATA_ACTIONS]


def states(shop: Shop, times: list[str]) -> dict[str, list[str]]:
    """Return the rows as of each instant."""
    return {time: sorted(map(str, rows_of(str(shop.location), time))) for time in times}


def observe(shop: Shop, policy: CleanPolicy = TWO) -> CleanPlan:
    """Return the plan to clean the table."""
    return observe_clean(str(shop.location), policy)


def clean(shop: Shop, storage: Storage | None = None, policy: CleanPolicy = TWO) -> str:
    """Clean the table and return the instant."""
    done = run_clean(observe(shop, policy), ManualClock(SystemClock().now_ms()), storage)
    assert done is not None
    return done.instant


def refusal(attempt: Callable[[], object]) -> str:
    """Return the condition of an attempt that is refused."""
    with pytest.raises(FrameworkError) as refused:
        attempt()
    return refused.value.condition


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the folders that are listed from now on, as the storage counts them."""
    found: list[str] = []
    listing = LocalStorage.list

    def counted(storage: LocalStorage, folder: str) -> Iterator[Entry]:
        found.append(folder)
        return listing(storage, folder)

    monkeypatch.setattr(LocalStorage, "list", counted)
    return found


def test_clean_keeps_what_retained_commits_read(shop: Shop) -> None:
    """Each can be read as before, earlier ones are refused, and nothing more is to be cleaned."""
    retained = commits(shop)[-2:]
    before = states(shop, retained)
    plan = observe(shop)
    assert plan.files
    assert plan.earliest == retained[0]
    clean(shop)
    assert states(shop, retained) == before
    assert refusal(lambda: rows_of(str(shop.location), commits(shop)[0])) == "read/cleaned"
    assert observe(shop).files == ()
    assert run_clean(observe(shop)) is None
    assert not any((shop.location / each.path).exists() for each in plan.files)


def test_clean_plan_lists_no_partition(shop: Shop, listed: list[str]) -> None:
    """All it needs is in the commits."""
    plan = observe(shop)
    assert plan.files
    assert plan.listed == ()
    assert [folder for folder in listed if not folder.startswith(".hoodie")] == []


def test_clean_of_skeletons_names_their_sources_and_keeps_them(shop: Shop) -> None:
    """They are no longer needed, and still there."""
    plan = observe(shop)
    source = shop.folder / "source"
    assert len(plan.sources) == (2 if source.exists() else 0)
    clean(shop)
    for uri in plan.sources:
        assert Path(uri.removeprefix("file://")).is_file()


def test_status_does_not_miss_sources_that_a_clean_released(shop: Shop) -> None:
    """They may be deleted; a source that a skeleton needs may not."""
    plan = observe(shop, CleanPolicy(keep_versions=1))
    if not plan.sources:
        return
    clean(shop, policy=CleanPolicy(keep_versions=1))
    for uri in plan.sources:
        Path(uri.removeprefix("file://")).unlink()
    assert "source/drifted" not in {e.condition for e in table_status(str(shop.location)).dangers}


def test_clean_leaves_a_view_that_follows_the_timeline_as_a_listing(shop: Shop) -> None:
    """The view learns of it from the clean's metadata alone."""
    storage = LocalStorage(str(shop.location))
    view = IncrementalView(storage, MemoryStore())
    for day in ("day=d1", "day=d2"):
        view.latest_slices(day)
    clean(shop)
    view.sync()
    listing = ListingView(storage, load_timeline(storage))
    for day in ("day=d1", "day=d2"):
        assert [e.group for e in view.latest_slices(day)] == [
            e.group for e in listing.latest_slices(day)
        ]
        assert [e.base for e in view.latest_slices(day)] == [
            e.base for e in listing.latest_slices(day)
        ]


def test_loads_after_a_clean_continue(shop: Shop) -> None:
    """And the next clean takes up what has become old since."""
    clean(shop)
    key, day, _ = shop.rows()[0]
    for number in range(7, 10):
        shop.lands(f"{number}", (key, day, number))
    assert (key, day, 9) in shop.rows()
    before = shop.rows()
    if shop.document["table"]["type"] == "copy_on_write":
        clean(shop)
    assert shop.rows() == before


def test_clean_keeps_the_files_of_a_savepoint_until_it_is_dropped(shop: Shop) -> None:
    """The savepoint is still readable; its files go with the clean after its end."""
    held = commits(shop)[0]
    create_savepoint(str(shop.location), held)
    before = states(shop, [held])
    run_clean(observe(shop))
    assert states(shop, [held]) == before
    assert observe(shop).files == ()
    delete_savepoint(str(shop.location), held)
    assert observe(shop).files
    clean(shop)
    assert refusal(lambda: rows_of(str(shop.location), held)) == "read/cleaned"


def test_clean_by_versions_keeps_the_latest_slice_of_each_group(shop: Shop) -> None:
    """The rows as they are now."""
    before = shop.rows()
    clean(shop, policy=CleanPolicy(keep_versions=1))
    assert shop.rows() == before
    bases = [*shop.location.glob("day=*/*.parquet")]
    assert len(bases) == 2


def test_clean_by_hours_of_young_commits_deletes_nothing(shop: Shop) -> None:
    """All commits are younger than an hour."""
    assert observe(shop, CleanPolicy(keep_hours=1)).files == ()


def test_clean_after_archival_lists_the_partitions_of_unnamed_files(
    shop: Shop, listed: list[str]
) -> None:
    """The commits that named the old files are gone from the timeline."""
    before, policy = shop.rows(), CleanPolicy(keep_commits=1)
    expected = observe(shop, policy).files
    for time in commits(shop)[:2]:
        for path in (shop.location / ".hoodie").glob(f"{time}.*"):
            path.unlink()
    listed.clear()
    plan = observe(shop, policy)
    assert plan.listed == ("day=d1", "day=d2")
    assert [each for each in listed if each.startswith("day=")] == ["day=d1", "day=d2"]
    assert {each.path for each in plan.files} == {each.path for each in expected}
    clean(shop, policy=policy)
    assert shop.rows() == before


def test_rollback_and_restore_past_a_clean_are_refused(shop: Shop) -> None:
    """The slices before are gone."""
    clean(shop, policy=CleanPolicy(keep_versions=1))
    before = shop.tree()
    assert refusal(lambda: plan_rollback(str(shop.location))) == "rollback/cleaned"
    earlier = commits(shop)[0]
    assert refusal(lambda: plan_restore(str(shop.location), earlier)) == "rollback/cleaned"
    assert shop.tree() == before


def test_clean_of_a_stale_plan_is_refused(shop: Shop) -> None:
    """A savepoint came after the plan; nothing is changed."""
    plan = observe(shop)
    create_savepoint(str(shop.location), commits(shop)[0])
    before = shop.tree()
    assert refusal(lambda: run_clean(plan)) == "clean/stale-plan"
    assert shop.tree() == before


def test_clean_beside_another_writer_is_refused(shop: Shop) -> None:
    """It may need any file."""
    plan = observe(shop)
    begun = int(commits(shop)[-1]) + 1
    (shop.location / ".hoodie" / f"{begun}.commit.requested").write_bytes(b"")
    before = shop.tree()
    assert refusal(lambda: run_clean(plan)) == "commit/foreign-pending"
    assert shop.tree() == before


def test_clean_killed_at_any_call_is_finished_or_absent(shop: Shop, tmp_path: Path) -> None:
    """And so after a kill during recovery; retained commits lose nothing."""
    retained = commits(shop)[-2:]
    before = states(shop, retained)
    outcomes, deaths, step = set(), 0, 0
    while True:
        step += 1
        survivor = shop.copied(tmp_path / "copy")
        if not survivor.dies_at(step, partial(clean, survivor)):
            break
        deaths += 1
        again = 1
        while survivor.dies_at(again, survivor.recover):
            deaths, again = deaths + 1, again + 1
        assert states(survivor, retained) == before, step
        assert find_pending(LocalStorage(str(survivor.location))) is None
        left = observe(survivor).files
        assert len(left) in {0, len(observe(shop).files)}
        outcomes.add(bool(left))
        shutil.rmtree(survivor.location)
    assert deaths > 20
    assert outcomes == {True, False}


def test_clean_command_prints_its_plan_and_its_outcome(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --dry-run nothing changes."""
    place, files = str(shop.location), len(observe(shop).files)
    assert clean_command(place, keep_commits=2, dry_run=True) == 0
    assert f"{files} files in 2 partitions to delete" in capsys.readouterr().out
    assert clean_command(place, keep_commits=2, form=JsonFormat.JSON) == 0
    document = json.loads(capsys.readouterr().out)
    assert (len(document["files"]), document["policy"]) == (files, "KEEP_LATEST_COMMITS")
    assert document["completed"]
    assert clean_command(place, keep_for="7d") == 0
    assert "no files to clean" in capsys.readouterr().out


def test_clean_command_with_a_duration_without_unit_is_refused(tmp_path: Path) -> None:
    """Hours or days."""
    with pytest.raises(SpecError):
        clean_command(str(tmp_path), keep_for="7")
