"""Materialize: skeletons become ordinary base files, and no reader sees a difference."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from framework.cli.options import JsonFormat
from framework.cli.rewrite import materialize_command
from framework.engine.reading.load_history import history
from framework.engine.services.materialize import (
    BATCH_BYTES,
    Materialized,
    observe_materialize,
    run_materialize,
)
from framework.engine.services.undo import plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.hudi.commit.lease import Owner, acquire
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import ManualClock, SystemClock
from framework.hudi.timeline.instant import Action
from tests.support.orders import Shop
from tests.support.rewrites import (
    check_view,
    foreign_pending,
    kept_view,
    meta_of,
    refusal,
    survivors,
)

pytestmark = pytest.mark.long

KINDS = ("copy_on_write", "merge_on_read")


@pytest.fixture(params=KINDS)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """Return an adopted table with a skeleton in each of two partitions, one of them changed.

    A merge-on-read table has a log file over one skeleton; a copy-on-write one has only one left.
    """
    shop = Shop(tmp_path, str(request.param), adopts=True)
    shop.run()
    shop.lands("one", ("d1-1", "d1", 1), ("new", "d3", 1))
    return shop


def materialize(
    shop: Shop, storage: Storage | None = None, *, batch_bytes: int = BATCH_BYTES
) -> Materialized | None:
    """Materialize the table."""
    plan = observe_materialize(str(shop.location), batch_bytes=batch_bytes)
    return run_materialize(plan, InProcessTasks(2), ManualClock(SystemClock().now_ms()), storage)


def test_materialized_table_has_the_same_rows_and_needs_no_source(shop: Shop) -> None:
    """Commit times and numbers are kept, so readers of what changed see nothing new."""
    rows, meta, view = shop.rows(), meta_of(shop), kept_view(shop)
    done = materialize(shop)
    check_view(shop, view)
    assert done is not None
    is_log = shop.document["table"]["type"] == "merge_on_read"
    assert done.files == (2 if is_log else 1)
    shutil.rmtree(shop.folder / "source")
    assert (shop.rows(), meta_of(shop)) == (rows, meta)
    newest = history(str(shop.location))[-1]
    assert (newest.instant, newest.action, newest.operation) == (
        done.batches[-1].instant,
        "commit",
        "COMPACT",
    )
    assert observe_materialize(str(shop.location)).batches == ()
    assert materialize(shop) is None


def test_materialized_table_is_loaded_into(shop: Shop) -> None:
    """Loaded files stay loaded, and changes go to the new base files."""
    materialize(shop)
    before = {(key, day): value for key, day, value in shop.rows()}
    shop.lands("two", ("d2-1", "d2", 9), ("d1-1", "d1", 9))
    expected = before | {("d2-1", "d2"): 9, ("d1-1", "d1"): 9}
    assert {(key, day): value for key, day, value in shop.rows()} == expected


def test_materialize_can_be_rolled_back(shop: Shop) -> None:
    """The skeletons count again."""
    rows = shop.rows()
    plan = observe_materialize(str(shop.location))
    materialize(shop)
    run_undo(plan_rollback(str(shop.location)), Action.ROLLBACK)
    assert shop.rows() == rows
    assert observe_materialize(str(shop.location)) == plan


def test_materialize_in_batches_publishes_one_instant_each(tmp_path: Path) -> None:
    """No batch reads more than its bytes, unless a single slice does."""
    shop = Shop(tmp_path, "copy_on_write", adopts=True)
    shop.run()
    rows = shop.rows()
    done = materialize(shop, batch_bytes=1)
    assert done is not None
    assert [each.files for each in done.batches] == [1, 1]
    assert shop.rows() == rows


def test_materialize_of_one_partition_leaves_the_others(tmp_path: Path) -> None:
    """An unknown partition is refused."""
    shop = Shop(tmp_path, "copy_on_write", adopts=True)
    shop.run()
    place = str(shop.location)
    run_materialize(observe_materialize(place, partitions=["day=d1"]), InProcessTasks(1))
    (left,) = observe_materialize(place).slices
    assert left.group.partition_path == "day=d2"
    unknown = refusal(lambda: observe_materialize(place, partitions=["day=d9"]))
    assert unknown == "service/no-such-partition"


@pytest.mark.parametrize("change", ["gone", "longer", "touched", "rewritten"])
def test_materialize_over_a_drifted_source_is_refused(shop: Shop, change: str) -> None:
    """Before anything is published, also where only the last batch meets it."""
    source = shop.folder / "source" / "day=d2" / "a.parquet"
    found = source.stat()
    if change == "gone":
        source.unlink()
    elif change == "longer":
        source.write_bytes(source.read_bytes() + b"x")
    elif change == "rewritten":
        data = bytearray(source.read_bytes())
        data[-20] ^= 1
        source.write_bytes(data)
    times = (found.st_atime_ns, found.st_mtime_ns + (10**9 if change == "touched" else 0))
    if change != "gone":
        os.utime(source, ns=times)
    before = shop.tree()
    assert refusal(lambda: materialize(shop, batch_bytes=1)) == "source/drift"
    assert shop.tree() == before


def test_materialize_of_a_stale_plan_is_refused(shop: Shop) -> None:
    """A load came after the plan; nothing is changed."""
    plan = observe_materialize(str(shop.location))
    shop.lands("two", ("d2-1", "d2", 5))
    before = shop.tree()
    assert refusal(lambda: run_materialize(plan, InProcessTasks(1))) == "materialize/stale-plan"
    assert shop.tree() == before


def test_materialize_beside_other_writers_is_refused(shop: Shop) -> None:
    """Apache Hudi's pending instant, or the lease of another run."""
    plan = observe_materialize(str(shop.location))
    pending = foreign_pending(shop)
    before = shop.tree()
    assert refusal(lambda: observe_materialize(str(shop.location))) == "table/foreign-pending"
    assert refusal(lambda: run_materialize(plan, InProcessTasks(1))) == "commit/foreign-pending"
    assert shop.tree() == before
    pending.unlink()
    acquire(open_storage(str(shop.location)), Owner.here(new_write_id()), SystemClock())
    assert refusal(lambda: materialize(shop)) == "commit/lease-held"


@pytest.mark.long
def test_materialize_killed_at_any_call_is_whole_or_absent(shop: Shop, tmp_path: Path) -> None:
    """Rows and meta columns are the same after recovery, whatever was done."""
    rows, meta = shop.rows(), meta_of(shop)
    outcomes, deaths = set(), 0
    one_by_one = partial(materialize, batch_bytes=1)
    for deaths, survivor in enumerate(survivors(shop, tmp_path / "copy", one_by_one), start=1):
        assert (survivor.rows(), meta_of(survivor)) == (rows, meta), deaths
        outcomes.add(len(observe_materialize(str(survivor.location)).slices))
    assert deaths > 20
    assert outcomes == set(range(len(observe_materialize(str(shop.location)).slices) + 1))


def test_materialize_command_prints_its_plan_progress_and_outcome(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --dry-run nothing changes; each batch is one line on stderr."""
    place = str(shop.location)
    count = len(observe_materialize(place).slices)
    assert materialize_command(place, dry_run=True) == 0
    assert "skeleton" in capsys.readouterr().out
    assert materialize_command(place, batch_bytes="1", form=JsonFormat.JSON) == 0
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert (document["files"], len(document["completed"])) == (count, count)
    assert f"batch {count}/{count}" in shown.err
    assert materialize_command(place) == 0
    assert "no skeletons" in capsys.readouterr().out
