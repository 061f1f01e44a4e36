"""Rollback of instants whose log file also has blocks of others: a command block takes theirs back.

Apache Hudi appends to log files where the storage can, so one may have blocks of several instants.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from framework.engine.fsck.table_check import check_table
from framework.engine.services.undo import plan_restore, plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.hudi.commit.pending import find_pending
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import ManualClock, SystemClock
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.stores.port import MemoryStore
from tests.support.orders import Shop

AFTER = {number: [("a", "d1", number), ("b", "d1", 1)] for number in (1, 2, 3)}


def log_of(shop: Shop, instant: str) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """Return the file of a deltacommit with its content and its only stat."""
    file = shop.location / f".hoodie/{instant}.deltacommit"
    document = json.loads(file.read_text())
    ((stat,),) = document["partitionToWriteStats"].values()
    return file, document, stat


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Return a table of three loads, of which the last appended to the log file of the second."""
    shop = Shop(tmp_path, "merge_on_read")
    shop.lands("1", ("a", "d1", 1), ("b", "d1", 1))
    second = shop.lands("2", ("a", "d1", 2))
    third = shop.lands("3", ("a", "d1", 3))
    _, _, first = log_of(shop, second)
    file, document, stat = log_of(shop, third)
    log, other = shop.location / first["path"], shop.location / stat["path"]
    size, data = log.stat().st_size, other.read_bytes()
    log.write_bytes(log.read_bytes() + data)
    other.unlink()
    stat.update(path=first["path"], logVersion=first["logVersion"], logOffset=size)
    stat["logFiles"] = first.get("logFiles")
    file.write_text(json.dumps(document))
    assert shop.rows() == AFTER[3]
    return shop


def undone(shop: Shop, action: Action, storage: Storage | None = None) -> None:
    """Roll back the third load, or restore to the first."""
    location = str(shop.location)
    first = load_timeline(LocalStorage(location)).completed[0].requested_time
    plan = plan_rollback(location) if action is Action.ROLLBACK else plan_restore(location, first)
    run_undo(plan, action, ManualClock(SystemClock().now_ms()), storage)
    for name in ("2", "3") if action is Action.RESTORE else ("3",):
        (shop.folder / f"landing/{name}.parquet").unlink(missing_ok=True)  # or it is loaded again


def logs(shop: Shop) -> int:
    """Return the number of log files."""
    return len([*shop.location.glob("day=d1/.*.log.*")])


@pytest.mark.parametrize(("action", "left"), [(Action.ROLLBACK, 2), (Action.RESTORE, 1)])
def test_undo_of_a_shared_log_file_takes_only_its_blocks_back(
    shop: Shop, action: Action, left: int
) -> None:
    """Also for a view that follows the timeline; loads after it are read."""
    storage = LocalStorage(str(shop.location))
    view = IncrementalView(storage, MemoryStore())
    view.latest_slices("day=d1")
    undone(shop, action)
    assert shop.rows() == AFTER[left]
    assert logs(shop) == 1 + (2 if action is Action.RESTORE else 1)
    view.sync()
    listing = ListingView(storage, load_timeline(storage))
    assert [e.logs for e in view.latest_slices("day=d1")] == [
        e.logs for e in listing.latest_slices("day=d1")
    ]
    assert check_table(str(shop.location), InProcessTasks(1), deep=True).findings == ()
    shop.lands("4", ("b", "d1", 4))
    assert shop.rows() == [AFTER[left][0], ("b", "d1", 4)]


def test_blocks_stay_away_once_the_timeline_has_moved_past_them(shop: Shop) -> None:
    """Then their instant counts as archived, and only the command keeps readers off."""
    undone(shop, Action.ROLLBACK)
    shop.lands("4", ("b", "d1", 4))
    for old in sorted((shop.location / ".hoodie").glob("2*"))[:-3]:
        if "deltacommit" in old.name or "rollback" in old.name:
            old.unlink()
    assert shop.rows() == [("a", "d1", 2), ("b", "d1", 4)]


@pytest.mark.long
@pytest.mark.parametrize("action", [Action.ROLLBACK, Action.RESTORE])
def test_undo_of_a_shared_log_file_killed_at_any_step_is_finished_or_never_began(
    shop: Shop, action: Action, tmp_path: Path
) -> None:
    """The next run finds the state before or the state after."""
    wanted, outcomes, step = AFTER[2 if action is Action.ROLLBACK else 1], set(), 0
    while True:
        step += 1
        survivor = shop.copied(tmp_path / "copy")
        if not survivor.dies_at(step, lambda storage: undone(survivor, action, storage)):  # noqa: B023
            break
        survivor.recover()
        assert survivor.rows() in (AFTER[3], wanted), step
        assert find_pending(LocalStorage(str(survivor.location))) is None
        outcomes.add(survivor.rows() == wanted)
        shutil.rmtree(survivor.location)
    assert step > 15
    assert outcomes == {True, False}
