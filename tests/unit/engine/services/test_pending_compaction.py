"""Compactions that are planned first and executed later, while loads continue."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.services.pending_compaction import (
    observe_pending_compaction,
    run_pending_compaction,
    schedule_compaction,
)
from framework.engine.services.undo import plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from framework.hudi.commit.pending import find_pending
from framework.hudi.filegroup.names import BaseFileName, LogFileName
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import ManualClock, SystemClock
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from tests.support.orders import Shop
from tests.support.writing import rows_of

META = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key")


@pytest.fixture(params=[False, True], ids=["ordinary", "adopted"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return a merge-on-read table with a log file in each of its two file groups."""
    shop = Shop(tmp_path, "merge_on_read", adopts=bool(request.param))
    if request.param:
        shop.run()
    else:
        shop.lands("one", ("d1-1", "d1", 0), ("d2-1", "d2", 0))
    shop.lands("two", ("d1-1", "d1", 1), ("d2-1", "d2", 1))
    return shop


def schedule(shop: Shop, storage: Storage | None = None) -> str:
    """Schedule a compaction of every slice with log files and return its instant."""
    plan = observe_compaction(str(shop.location))
    done = schedule_compaction(plan, ManualClock(SystemClock().now_ms()), storage)
    assert done is not None
    return done.instant


def execute(shop: Shop, storage: Storage | None = None, *, retry: bool = False) -> str:
    """Execute the pending compaction and return its instant."""
    plan = observe_pending_compaction(str(shop.location), retry=retry)
    assert plan is not None
    clock = ManualClock(SystemClock().now_ms())
    return run_pending_compaction(plan, InProcessTasks(2), clock, storage).instant


def meta_of(shop: Shop) -> list[tuple[str, ...]]:
    """Return the meta columns that a compaction keeps, sorted."""
    return sorted(tuple(row[name] for name in META) for row in rows_of(str(shop.location)))


def names_of(shop: Shop) -> list[str]:
    """Return the names of all files of the table."""
    return [path.rpartition("/")[2] for path in shop.tree()]


def logs_at(shop: Shop, instant: str) -> int:
    """Return the number of log files of slices that start at an instant."""
    found = [LogFileName.parse(each) for each in names_of(shop)]
    return sum(each is not None and each.base_instant == instant for each in found)


def bases_at(shop: Shop, instant: str) -> int:
    """Return the number of base files of an instant."""
    found = [BaseFileName.parse(each) for each in names_of(shop)]
    return sum(each is not None and each.instant == instant for each in found)


def refusal(attempt: Callable[[], object]) -> str:
    """Return the condition of an attempt that is refused."""
    with pytest.raises(FrameworkError) as refused:
        attempt()
    return refused.value.condition


def test_scheduled_compaction_is_one_file_that_recovery_leaves(shop: Shop) -> None:
    """The rows are as before, and the next run sees no leftover."""
    rows, before = shop.rows(), shop.tree()
    instant = schedule(shop)
    assert shop.tree().keys() - before.keys() == {f".hoodie/{instant}.compaction.requested"}
    assert find_pending(LocalStorage(str(shop.location))) is None
    shop.recover()
    assert f".hoodie/{instant}.compaction.requested" in shop.tree()
    assert shop.rows() == rows


def test_load_beside_a_scheduled_compaction_starts_new_slices(shop: Shop) -> None:
    """Its log files have the instant of the plan, and are kept when that completes."""
    instant = schedule(shop)
    shop.lands("three", ("d1-1", "d1", 2), ("new", "d1", 2))
    shop.lands("four", ("d1-1", "d1", 3))
    assert logs_at(shop, instant) == 2
    expected = [("d1-1", "d1", 3), ("d2-1", "d2", 1), ("new", "d1", 2)]
    assert shop.rows() == expected
    meta = meta_of(shop)
    assert execute(shop) == instant
    assert (logs_at(shop, instant), bases_at(shop, instant)) == (2, 2)
    assert (shop.rows(), meta_of(shop)) == (expected, meta)
    assert len(observe_compaction(str(shop.location)).slices) == 1
    shop.lands("five", ("d1-1", "d1", 4), ("d2-1", "d2", 4))
    assert shop.rows() == [("d1-1", "d1", 4), ("d2-1", "d2", 4), ("new", "d1", 2)]


def test_loads_after_an_executed_plan_remember_what_was_loaded(shop: Shop) -> None:
    """A rollback of the load that came between takes its memory, and the plan's commit stays."""
    schedule(shop)
    before = shop.rows()
    shop.lands("three", ("d1-1", "d1", 2))
    after = shop.rows()
    execute(shop)
    run_undo(plan_rollback(str(shop.location)), Action.ROLLBACK)
    assert shop.rows() == before
    shop.run()
    assert shop.rows() == after


def test_pending_compaction_leaves_other_groups_to_a_new_plan(shop: Shop) -> None:
    """Slices under a pending plan are not planned twice."""
    schedule(shop)
    assert observe_compaction(str(shop.location)).slices == ()
    shop.lands("three", ("x", "d3", 1))
    shop.lands("four", ("x", "d3", 2))
    plan = observe_compaction(str(shop.location))
    assert [each.group.partition_path for each in plan.slices] == ["day=d3"]
    assert run_compaction(plan, InProcessTasks(1)) is not None
    execute(shop)
    assert ("x", "d3", 2) in shop.rows()


def test_execution_of_a_plan_whose_table_changed_below_is_refused(shop: Shop) -> None:
    """Another run has executed it meanwhile."""
    schedule(shop)
    plan = observe_pending_compaction(str(shop.location))
    assert plan is not None
    execute(shop)
    attempt = partial(run_pending_compaction, plan, InProcessTasks(1))
    assert refusal(attempt) == "compaction/stale-plan"


def test_rollback_below_a_pending_plan_is_refused(shop: Shop) -> None:
    """The plan names the files of that instant; a later load can be rolled back."""
    schedule(shop)
    before = shop.rows()
    assert refusal(lambda: plan_rollback(str(shop.location))) == "rollback/compaction-pending"
    shop.lands("three", ("d1-1", "d1", 2))
    run_undo(plan_rollback(str(shop.location)), Action.ROLLBACK)
    assert shop.rows() == before
    execute(shop)
    assert shop.rows() == before


def test_compaction_that_another_writer_has_begun_needs_retry(shop: Shop) -> None:
    """Its base files and its inflight file go first; those of loads stay."""
    instant = schedule(shop)
    shop.lands("three", ("d1-1", "d1", 2))
    rows = shop.rows()
    (shop.location / f".hoodie/{instant}.compaction.inflight").touch()
    copy = next(path for path in shop.location.rglob(".*.log.*") if instant not in path.name)
    found = LogFileName.parse(copy.name)
    assert found is not None
    half = copy.with_name(f"{found.file_id}_7-7-7_{instant}.parquet")
    half.write_bytes(b"half")
    assert refusal(lambda: execute(shop)) == "compaction/inflight"
    shop.lands("four", ("d1-1", "d1", 3))
    assert execute(shop, retry=True) == instant
    assert not half.exists()
    assert shop.rows() == [(k, d, 3 if k == "d1-1" else v) for k, d, v in rows]


def test_load_beside_an_unreadable_plan_is_refused(shop: Shop) -> None:
    """Which groups it plans is unknown, so log files could be lost."""
    (shop.location / ".hoodie" / "20250101000000000.compaction.requested").write_bytes(b"")
    assert refusal(lambda: shop.lands("three", ("d1-1", "d1", 2))) == "timeline/corrupt-plan"


def test_killed_compaction_whose_slices_others_use_becomes_a_plan(
    shop: Shop, tmp_path: Path
) -> None:
    """Without its plan, the log files of the others would hide the rows before."""
    rows, step = shop.rows(), 0
    while True:
        step += 1
        dead = shop.copied(tmp_path / "dead")
        plan = observe_compaction(str(dead.location))
        assert dead.dies_at(step, partial(run_compaction, plan, InProcessTasks(1), None))
        begun = list((dead.location / ".hoodie").glob("*.compaction.inflight"))
        if begun:
            break
        shutil.rmtree(dead.location)
    instant = begun[0].name.partition(".")[0]
    (dead.location / f".hoodie/{int(instant) + 1}.deltacommit").write_text("{}")
    dead.recover()
    assert not begun[0].exists()
    assert execute(dead) == instant
    assert dead.rows() == rows


@pytest.mark.long
def test_execution_killed_at_any_call_leaves_the_plan_or_completes_it(
    shop: Shop, tmp_path: Path
) -> None:
    """Recovery removes our files, keeps the plan byte for byte, and the logs of later loads."""
    instant = schedule(shop)
    shop.lands("three", ("d1-1", "d1", 2))
    requested = f".hoodie/{instant}.compaction.requested"
    rows, meta, before = shop.rows(), meta_of(shop), shop.tree()
    outcomes, step = set(), 0
    while True:
        step += 1
        survivor = shop.copied(tmp_path / "copy")
        if not survivor.dies_at(step, partial(execute, survivor)):
            break
        survivor.recover()
        assert (survivor.rows(), meta_of(survivor)) == (rows, meta), step
        assert find_pending(LocalStorage(str(survivor.location))) is None
        tree = survivor.tree()
        assert tree[requested] == before[requested]
        done = load_timeline(LocalStorage(str(survivor.location))).is_completed(instant)
        assert done or tree == before, step
        if not done:
            execute(survivor)
        assert survivor.rows() == rows, step
        outcomes.add(done)
        shutil.rmtree(survivor.location)
    assert step > 20
    assert outcomes == {True, False}


@pytest.mark.long
def test_recovery_of_an_execution_killed_at_any_call_is_finished_by_the_next(
    shop: Shop, tmp_path: Path
) -> None:
    """Twice dead, and still the plan and the rows are there."""
    schedule(shop)
    shop.lands("three", ("d1-1", "d1", 2))
    rows, before, step = shop.rows(), shop.tree(), 0
    dead = shop.copied(tmp_path / "dead")
    last = next(each for each in range(1, 500) if not _linked_at(shop, tmp_path / "try", each))
    assert dead.dies_at(last - 1, partial(execute, dead))
    while True:
        step += 1
        survivor = dead.copied(tmp_path / "copy")
        if not survivor.dies_at(step, survivor.recover):
            break
        survivor.recover()
        assert survivor.tree() == before, step
        assert survivor.rows() == rows
        shutil.rmtree(survivor.location)
    assert step > 5


def _linked_at(shop: Shop, place: Path, step: int) -> bool:
    """Return whether an execution killed at a step has not yet completed its instant."""
    survivor = shop.copied(place)
    died = survivor.dies_at(step, partial(execute, survivor))
    done = not load_timeline(LocalStorage(str(place))).pending
    shutil.rmtree(place)
    return died and not done


@pytest.mark.long
def test_schedule_killed_at_any_call_is_whole_or_absent(shop: Shop, tmp_path: Path) -> None:
    """Either there is a plan, or the table is as before."""
    rows, before, outcomes, step = shop.rows(), shop.tree(), set(), 0
    while True:
        step += 1
        survivor = shop.copied(tmp_path / "copy")
        if not survivor.dies_at(step, partial(schedule, survivor)):
            break
        survivor.recover()
        new = survivor.tree().keys() - before.keys()
        assert len(new) <= 1, step
        assert survivor.rows() == rows
        outcomes.add(len(new))
        shutil.rmtree(survivor.location)
    assert outcomes == {0, 1}
