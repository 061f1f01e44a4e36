"""Rollback, savepoint and restore: what goes, what comes back, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from framework.cli.options import JsonFormat
from framework.cli.undo import rollback_command
from framework.engine.fsck.table_check import check_table
from framework.engine.reading.load_history import history
from framework.engine.services.clean import observe_clean, run_clean
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.services.savepoint import create_savepoint, delete_savepoint, savepoints
from framework.engine.services.undo import plan_restore, plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.errors import (
    CommitConflictError,
    FrameworkError,
    PlanError,
    UnsupportedTableError,
)
from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.commit.pending import find_pending
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import ManualClock, SystemClock
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.clean import CleanPolicy
from framework.plan.services.clustering import ClusterRequest
from tests.support.orders import Shop
from tests.support.storage_suite import tree

pytestmark = pytest.mark.long

KINDS = ("copy_on_write", "merge_on_read")


@pytest.fixture(params=KINDS)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return a table of three loads: inserts, an upsert over them, and one more."""
    shop = Shop(tmp_path, str(request.param))
    shop.lands("one", ("a", "d1", 1), ("b", "d1", 1), ("c", "d2", 1))
    shop.lands("two", ("a", "d1", 2), ("d", "d3", 2))
    shop.lands("three", ("b", "d1", 3), ("d", "d3", 3), ("e", "d4", 3))
    return shop


def after_one() -> list[tuple[str, str, int]]:
    """Return the rows after the first load."""
    return [("a", "d1", 1), ("b", "d1", 1), ("c", "d2", 1)]


def after_two() -> list[tuple[str, str, int]]:
    """Return the rows after the second load."""
    return [("a", "d1", 2), ("b", "d1", 1), ("c", "d2", 1), ("d", "d3", 2)]


def rolled_back(shop: Shop, action: Action = Action.ROLLBACK) -> str:
    """Roll the newest instant back."""
    return run_undo(plan_rollback(str(shop.location)), action)


def test_rollback_takes_the_rows_of_the_newest_load_and_no_others(shop: Shop) -> None:
    """Inserted rows go, changed rows are as before, and nothing of the instant is left."""
    plan = plan_rollback(str(shop.location))
    (seen,) = plan.instants
    assert (seen.inserted, seen.updated) == (1, 2)
    gone = seen.instant.requested_time
    instant = run_undo(plan, Action.ROLLBACK)
    assert shop.rows() == after_two()
    assert not [path for path in shop.tree() if gone in path and ".rollback" not in path]
    assert not (shop.location / "day=d4").exists()
    newest = history(str(shop.location))[-1]
    assert (newest.instant, newest.action, newest.state) == (instant, "rollback", "completed")


def test_files_of_a_load_that_was_rolled_back_are_loaded_again(shop: Shop) -> None:
    """The table's memory goes back with the instant."""
    rolled_back(shop)
    shop.run()
    assert shop.rows() == [
        ("a", "d1", 2),
        ("b", "d1", 3),
        ("c", "d2", 1),
        ("d", "d3", 3),
        ("e", "d4", 3),
    ]


def test_rollback_of_every_load_removes_the_table_and_a_run_makes_it_again(shop: Shop) -> None:
    """The last one takes properties and timeline along."""
    for _ in range(2):
        rolled_back(shop)
    assert shop.rows() == after_one()
    assert plan_rollback(str(shop.location)).drops
    rolled_back(shop)
    assert shop.tree() == {}
    shop.run()
    assert len(shop.rows()) == 5


@pytest.mark.parametrize("kind", KINDS)
def test_rollback_of_a_bootstrap_leaves_nothing_and_the_source_as_it_was(
    kind: str, tmp_path: Path
) -> None:
    """A bootstrap may be run again afterwards."""
    shop = Shop(tmp_path, kind, adopts=True)
    source = tree(LocalStorage(str(tmp_path / "source")))
    shop.run()
    before = shop.rows()
    rolled_back(shop)
    assert shop.tree() == {}
    assert tree(LocalStorage(str(tmp_path / "source"))) == source
    shop.run()
    assert shop.rows() == before


@pytest.mark.parametrize("kind", KINDS)
def test_rollback_of_an_upsert_into_skeletons_brings_them_back(kind: str, tmp_path: Path) -> None:
    """Rows are read from the source again."""
    shop = Shop(tmp_path, kind, adopts=True)
    shop.run()
    before = shop.rows()
    shop.lands("one", ("d1-1", "d1", 7), ("x", "d2", 7))
    assert shop.rows() != before
    rolled_back(shop)
    assert shop.rows() == before


def test_restore_goes_back_over_several_instants(shop: Shop) -> None:
    """One action on the timeline, and the state of that moment."""
    first = load_timeline(open_storage(str(shop.location))).completed[0].requested_time
    plan = plan_restore(str(shop.location), first)
    assert len(plan.instants) == 2
    instant = run_undo(plan, Action.RESTORE)
    assert shop.rows() == after_one()
    newest = history(str(shop.location))[-1]
    assert (newest.instant, newest.action) == (instant, "restore")
    shop.run()
    assert len(shop.rows()) == 5


def test_restore_to_a_savepoint_names_it_and_keeps_it(shop: Shop) -> None:
    """A savepoint holds the state of its instant, whatever comes after."""
    first = load_timeline(open_storage(str(shop.location))).completed[0].requested_time
    made = create_savepoint(str(shop.location), first, comment="before the migration")
    assert (made.instant, made.files) == (first, 2)
    plan = plan_restore(str(shop.location), first)
    assert plan.savepoint == first
    run_undo(plan, Action.RESTORE)
    assert shop.rows() == after_one()
    assert savepoints(load_timeline(open_storage(str(shop.location)))) == (first,)


def refusal(attempt: Callable[[], object]) -> FrameworkError:
    """Return the error of an attempt that is refused."""
    with pytest.raises(FrameworkError) as refused:
        attempt()
    return refused.value


def test_rollback_of_a_savepointed_instant_is_refused(shop: Shop) -> None:
    """Nothing is changed until the savepoint is released."""
    made = create_savepoint(str(shop.location))
    before = shop.tree()
    error = refusal(lambda: rolled_back(shop))
    assert isinstance(error, UnsupportedTableError)
    assert error.condition == "rollback/savepointed"
    assert shop.tree() == before
    delete_savepoint(str(shop.location), made.instant)
    rolled_back(shop)
    assert shop.rows() == after_two()


def test_rollback_of_another_than_the_newest_is_refused(shop: Shop) -> None:
    """Newest first, since later instants build on earlier ones."""
    first = load_timeline(open_storage(str(shop.location))).completed[0].requested_time
    error = refusal(lambda: plan_rollback(str(shop.location), first))
    assert isinstance(error, PlanError)
    assert error.condition == "rollback/not-newest"
    error = refusal(lambda: plan_rollback(str(shop.location), "20200101000000000"))
    assert error.condition == "rollback/no-such-instant"


def test_rollback_past_a_clean_is_refused(tmp_path: Path) -> None:
    """Where the slice before is gone, its rows would be lost."""
    shop = Shop(tmp_path, "copy_on_write")
    first = shop.lands("one", ("a", "d1", 1), ("b", "d1", 1))
    shop.lands("two", ("a", "d1", 2))
    (old,) = (shop.location / "day=d1").glob(f"*_{first}.parquet")
    old.unlink()
    before = shop.tree()
    error = refusal(lambda: rolled_back(shop))
    assert error.condition == "rollback/cleaned"
    assert shop.tree() == before


@pytest.mark.parametrize("kind", KINDS)
def test_restore_to_a_savepoint_over_slices_that_were_cleaned_succeeds(
    kind: str, tmp_path: Path
) -> None:
    """The cleaned slices are of instants that go; those of the savepoint are there."""
    shop = Shop(tmp_path, kind)
    shop.lands("one", ("a", "d1", 1), ("b", "d1", 1))
    first = create_savepoint(str(shop.location)).instant
    for number in range(2, 5):
        shop.lands(f"load {number}", ("a", "d1", number), (f"n{number}", "d2", number))
        if kind == "merge_on_read":
            run_compaction(observe_compaction(str(shop.location)), InProcessTasks(1))
    by = ClusterRequest(by=("id",))
    run_clustering(observe_clustering(str(shop.location), by), InProcessTasks(1))
    done = run_clean(observe_clean(str(shop.location), CleanPolicy(keep_versions=1)))
    assert done is not None
    assert done.files > 2
    run_undo(plan_restore(str(shop.location), first), Action.RESTORE)
    assert shop.rows() == [("a", "d1", 1), ("b", "d1", 1)]
    assert check_table(str(shop.location), InProcessTasks(1), deep=True).findings == ()
    shop.run()
    assert len(shop.rows()) == 5


def test_restore_to_what_is_there_already_or_before_the_table_is_refused(shop: Shop) -> None:
    """Each with a condition of its own."""
    newest = load_timeline(open_storage(str(shop.location))).completed[-1].requested_time
    error = refusal(lambda: plan_restore(str(shop.location), newest))
    assert isinstance(error, CommitConflictError)
    assert error.condition == "rollback/nothing-to-undo"
    error = refusal(lambda: plan_restore(str(shop.location), "2020-01-01"))
    assert error.condition == "restore/before-table"


def test_rollback_beside_a_run_is_refused(shop: Shop) -> None:
    """The lease is the run's."""
    plan = plan_rollback(str(shop.location))
    acquire(open_storage(str(shop.location)), Owner.here(new_write_id()), SystemClock())
    error = refusal(lambda: run_undo(plan, Action.ROLLBACK))
    assert error.condition == "commit/lease-held"
    assert len(shop.rows()) == 5


def test_rollback_of_a_stale_plan_is_refused(shop: Shop) -> None:
    """Another load was published since the plan was shown."""
    plan = plan_rollback(str(shop.location))
    shop.lands("four", ("z", "d1", 4))
    error = refusal(lambda: run_undo(plan, Action.ROLLBACK))
    assert (error.condition, error.exit_code) == ("rollback/stale-plan", 4)
    assert len(shop.rows()) == 6


@pytest.mark.parametrize("action", [Action.ROLLBACK, Action.RESTORE])
@pytest.mark.parametrize("kind", KINDS)
def test_undo_killed_at_any_step_is_finished_or_never_began(
    action: Action, kind: str, tmp_path: Path
) -> None:
    """The next run finds the state before or the state after, whatever was done already."""
    shop = Shop(tmp_path, kind)
    shop.lands("one", ("a", "d1", 1), ("b", "d1", 1), ("c", "d2", 1))
    shop.lands("two", ("a", "d1", 2), ("d", "d3", 2))
    shop.lands("three", ("b", "d1", 3), ("d", "d3", 3), ("e", "d4", 3))
    all_rows, wanted = shop.rows(), after_two() if action is Action.ROLLBACK else after_one()
    deaths, outcomes, step = 0, set(), 0

    def undo(storage: Storage) -> None:
        copied = storage.location
        first = load_timeline(storage).completed[0].requested_time
        by_one = action is Action.ROLLBACK
        plan = plan_rollback(copied) if by_one else plan_restore(copied, first)
        run_undo(plan, action, ManualClock(SystemClock().now_ms()), storage)

    while True:
        step += 1
        survivor = shop.copied(tmp_path / f"copy-{step}")
        if not survivor.dies_at(step, undo):
            break
        deaths += 1
        survivor.recover()
        found = survivor.rows()
        assert found in (all_rows, wanted), step
        assert find_pending(LocalStorage(str(survivor.location))) is None
        outcomes.add(found == wanted)
        shutil.rmtree(survivor.location)
    assert deaths > 20
    assert outcomes == {True, False}


def test_run_that_finishes_the_rollback_of_the_only_load_is_to_be_repeated(tmp_path: Path) -> None:
    """It was planned while there was a table; the run after it makes the table again."""
    shop = Shop(tmp_path, "copy_on_write")
    shop.lands("one", ("a", "d1", 1))
    plan = plan_rollback(str(shop.location))

    def undo(storage: Storage) -> None:
        run_undo(replace(plan, location=storage.location), Action.ROLLBACK, storage=storage)

    for step in range(1, 60):
        other = shop.copied(tmp_path / f"copy-{step}")
        other.dies_at(step, undo)
        if not [*(other.location / ".hoodie").glob("*.commit")]:
            break
    assert shop.dies_at(step, undo)
    assert not [*(shop.location / ".hoodie").glob("*.commit")]
    shutil.rmtree(shop.location / ".hoodie/.lakestrap/lease")
    error = refusal(shop.run)
    assert (error.condition, error.exit_code) == ("load/table-removed", 4)
    shop.run()
    assert shop.rows() == [("a", "d1", 1)]


def test_rollback_command_shows_its_plan_and_asks(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --dry-run nothing changes; as JSON the plan is one line."""
    assert rollback_command(str(shop.location), dry_run=True) == 0
    shown = capsys.readouterr().out
    assert "1 instant to roll back" in shown
    assert "Nothing has been changed." in shown
    assert rollback_command(str(shop.location), yes=True, form=JsonFormat.JSON) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["instants"][0]["inserted"] == 1
    assert document["completed"]
    assert shop.rows() == after_two()
