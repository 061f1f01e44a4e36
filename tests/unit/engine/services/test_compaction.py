"""Compaction: log files become part of base files, and no reader sees a difference."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from framework.cli.compact import command
from framework.cli.options import JsonFormat
from framework.engine.reading.load_history import history
from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.services.undo import plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from framework.hudi.commit.pending import find_pending
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import ManualClock, SystemClock
from framework.hudi.timeline.instant import Action
from tests.support.orders import Shop
from tests.support.writing import rows_of

pytestmark = pytest.mark.long

META = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key")


@pytest.fixture(params=[False, True], ids=["ordinary", "adopted"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return a merge-on-read table with log files in two of its file groups."""
    shop = Shop(tmp_path, "merge_on_read", adopts=bool(request.param))
    if request.param:
        shop.run()
        shop.lands("one", ("d1-1", "d1", 1))
        shop.lands("two", ("d2-1", "d2", 2))
    else:
        shop.lands("one", ("a", "d1", 1), ("b", "d1", 1), ("c", "d2", 1))
        shop.lands("two", ("a", "d1", 2), ("c", "d2", 2))
    shop.lands("three", *(row for row in shop.rows() if row[1] == "d1"))
    return shop


def meta_of(shop: Shop) -> list[tuple[str, ...]]:
    """Return the meta columns that a compaction keeps, sorted."""
    return sorted(tuple(row[name] for name in META) for row in rows_of(str(shop.location)))


def compact(shop: Shop, storage: Storage | None = None) -> str:
    """Compact the table and return the instant."""
    plan = observe_compaction(str(shop.location))
    done = run_compaction(plan, InProcessTasks(2), ManualClock(SystemClock().now_ms()), storage)
    assert done is not None
    return done.instant


def test_compaction_keeps_rows_commit_times_and_numbers(shop: Shop) -> None:
    """Readers of what changed see nothing new, and no slice has a log file any more."""
    before, meta = shop.rows(), meta_of(shop)
    plan = observe_compaction(str(shop.location))
    assert (len(plan.slices), plan.logs) == (2, 3)
    instant = compact(shop)
    assert shop.rows() == before
    assert meta_of(shop) == meta
    newest = history(str(shop.location))[-1]
    assert (newest.instant, newest.action, newest.operation) == (instant, "commit", "COMPACT")
    assert observe_compaction(str(shop.location)).slices == ()
    assert run_compaction(observe_compaction(str(shop.location)), InProcessTasks(1)) is None


def test_loads_after_a_compaction_continue(shop: Shop) -> None:
    """Loaded files stay loaded, and new ones are merged with the new base files."""
    compact(shop)
    before = {(key, day): value for key, day, value in shop.rows()}
    key, day, _ = shop.rows()[0]
    shop.lands("four", (key, day, 9))
    assert {(k, d): v for k, d, v in shop.rows()} == before | {(key, day): 9}


def test_compaction_can_be_rolled_back(shop: Shop) -> None:
    """The log files count again."""
    before = shop.rows()
    compact(shop)
    run_undo(plan_rollback(str(shop.location)), Action.ROLLBACK)
    assert shop.rows() == before
    assert len(observe_compaction(str(shop.location)).slices) == 2


def test_compaction_by_number_of_logs_leaves_short_slices(shop: Shop) -> None:
    """Only the group with two log files is due."""
    assert len(observe_compaction(str(shop.location), min_logs=2).slices) == 1
    assert observe_compaction(str(shop.location), min_logs=3).slices == ()


def refusal(attempt: Callable[[], object]) -> str:
    """Return the condition of an attempt that is refused."""
    with pytest.raises(FrameworkError) as refused:
        attempt()
    return refused.value.condition


def test_compaction_of_a_stale_plan_is_refused(shop: Shop) -> None:
    """A load came after the plan; nothing is changed."""
    plan = observe_compaction(str(shop.location))
    key, day, _ = next(row for row in shop.rows() if row[1] == "d1")
    shop.lands("four", (key, day, 5))
    before = shop.tree()
    assert refusal(lambda: run_compaction(plan, InProcessTasks(1))) == "compaction/stale-plan"
    assert shop.tree() == before


def test_compaction_beside_a_pending_log_compaction_is_refused(shop: Shop) -> None:
    """Apache Hudi has planned one; its slices are its own."""
    (shop.location / ".hoodie" / "20990101000000000.logcompaction.requested").write_bytes(b"")
    assert refusal(lambda: observe_compaction(str(shop.location))) == "compaction/pending"


def test_compaction_of_a_copy_on_write_table_is_refused(tmp_path: Path) -> None:
    """It has no log files."""
    shop = Shop(tmp_path, "copy_on_write")
    shop.lands("one", ("a", "d1", 1))
    assert refusal(lambda: observe_compaction(str(shop.location))) == "compaction/copy-on-write"


def test_compaction_over_a_damaged_log_file_is_refused(shop: Shop) -> None:
    """Nothing is published, and nothing is left behind."""
    plan = observe_compaction(str(shop.location))
    log = shop.location / plan.slices[0].logs[-1].path
    log.write_bytes(log.read_bytes()[:-9])
    before = shop.tree()
    assert refusal(lambda: run_compaction(plan, InProcessTasks(1))) == "table/file-size"
    assert shop.tree() == before


@pytest.mark.long
def test_compaction_killed_at_any_call_is_whole_or_absent(shop: Shop, tmp_path: Path) -> None:
    """The next run finds the logs or the base files; rows and meta columns are the same."""
    rows, meta = shop.rows(), meta_of(shop)
    outcomes, deaths, step = set(), 0, 0
    while True:
        step += 1
        survivor = shop.copied(tmp_path / "copy")
        if not survivor.dies_at(step, partial(compact, survivor)):
            break
        deaths += 1
        survivor.recover()
        assert survivor.rows() == rows, step
        assert meta_of(survivor) == meta, step
        assert find_pending(LocalStorage(str(survivor.location))) is None
        outcomes.add(bool(observe_compaction(str(survivor.location)).slices))
        shutil.rmtree(survivor.location)
    assert deaths > 20
    assert outcomes == {True, False}


def test_compact_command_prints_its_plan_and_its_outcome(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --dry-run nothing changes."""
    place = str(shop.location)
    assert command(place, dry_run=True) == 0
    assert "2 slices in 2 partitions, 3 log files" in capsys.readouterr().out
    assert command(place, form=JsonFormat.JSON) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["files"], len(document["slices"])) == (2, 2)
    assert command(place) == 0
    assert "no log files to compact" in capsys.readouterr().out
