"""Compactions that are planned first and executed later, while loads continue."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from framework.engine.events import Event, StageFinished
from framework.engine.services.compaction import (
    observe_compaction,
    observe_pending_compaction,
    run_compaction,
    run_pending_compaction,
)
from framework.engine.services.undo import plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from framework.hudi.commit.pending import find_pending
from framework.hudi.filegroup.slices import BaseFileName, LogFileName
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.instant import Action
from tests.support.compactions import (
    begin_as_another,
    execute,
    meta_of,
    schedule,
    shop_with_logs,
)
from tests.support.orders import Shop

pytestmark = pytest.mark.long


@pytest.fixture(params=[False, True], ids=["ordinary", "adopted"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return a merge-on-read table with a log file in each of its two file groups."""
    return shop_with_logs(tmp_path, adopts=bool(request.param))


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
    half = begin_as_another(shop, instant)
    assert refusal(lambda: execute(shop)) == "compaction/inflight"
    shop.lands("four", ("d1-1", "d1", 3))
    assert execute(shop, retry=True) == instant
    assert not half.exists()
    assert shop.rows() == [(k, d, 3 if k == "d1-1" else v) for k, d, v in rows]


def test_plan_of_groups_that_were_replaced_completes_without_files(shop: Shop) -> None:
    """An overwrite hides the groups, whose files a clean may remove."""
    instant = schedule(shop)
    shop.document["write"]["operation"] = "insert_overwrite"
    shop.lands("three", ("d1-1", "d1", 5), ("d2-1", "d2", 5))
    plan = observe_pending_compaction(str(shop.location))
    assert plan is not None
    assert (plan.slices, plan.skipped) == ((), 2)
    assert execute(shop) == instant
    assert shop.rows() == [("d1-1", "d1", 5), ("d2-1", "d2", 5)]
    shop.document["write"]["operation"] = "upsert"
    shop.lands("four", ("d1-1", "d1", 6))
    assert shop.rows() == [("d1-1", "d1", 6), ("d2-1", "d2", 5)]


def test_load_whose_plan_is_removed_meanwhile_is_refused(shop: Shop) -> None:
    """Without the plan its log files would start slices of their own, and hide rows."""
    rows, instant = shop.rows(), schedule(shop)
    requested = shop.location / f".hoodie/{instant}.compaction.requested"

    def removing(event: Event) -> None:
        if isinstance(event, StageFinished) and event.stage == "write":
            requested.unlink()

    shop.comes("three", ("d1-1", "d1", 2))
    assert refusal(lambda: shop.run(removing)) == "commit/file-missing"
    assert shop.rows() == rows


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
