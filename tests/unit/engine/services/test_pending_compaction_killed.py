"""Scheduled and executed compactions that die at any call of the storage, and their recovery."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from framework.hudi.commit.pending import find_pending
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.timeline import load_timeline
from tests.support.compactions import (
    begin_as_another,
    execute,
    meta_of,
    schedule,
    shop_with_logs,
)
from tests.support.orders import Shop


@pytest.fixture(params=[False, True], ids=["ordinary", "adopted"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return a merge-on-read table with a log file in each of its two file groups."""
    return shop_with_logs(tmp_path, adopts=bool(request.param))


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


@pytest.mark.long
def test_retry_killed_at_any_call_can_be_repeated(shop: Shop, tmp_path: Path) -> None:
    """What another writer left goes, whichever step the first attempt died at."""
    instant = schedule(shop)
    half = begin_as_another(shop, instant)
    rows, step = shop.rows(), 0
    while True:
        step += 1
        survivor = shop.copied(tmp_path / "copy")
        if not survivor.dies_at(step, partial(execute, survivor, retry=True)):
            break
        survivor.recover()
        if load_timeline(LocalStorage(str(survivor.location))).pending:
            execute(survivor, retry=True)
        assert survivor.rows() == rows, step
        assert not list(survivor.location.rglob(half.name)), step
        shutil.rmtree(survivor.location)
    assert step > 20


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
