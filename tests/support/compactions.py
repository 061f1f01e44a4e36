"""Compactions of a shop's table: planned, executed, and what they keep."""

from __future__ import annotations

from pathlib import Path

from framework.engine.services.compaction import (
    observe_compaction,
    observe_pending_compaction,
    run_pending_compaction,
    schedule_compaction,
)
from framework.engine.tasks import InProcessTasks
from framework.hudi.filegroup.slices import LogFileName
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import ManualClock, SystemClock
from tests.support.orders import Shop
from tests.support.writing import rows_of

__all__ = ["begin_as_another", "execute", "meta_of", "schedule", "shop_with_logs"]

META = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key")


def shop_with_logs(folder: Path, *, adopts: bool) -> Shop:
    """Return a merge-on-read table with a log file in each of its two file groups."""
    shop = Shop(folder, "merge_on_read", adopts=adopts)
    if adopts:
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


def begin_as_another(shop: Shop, instant: str) -> Path:
    """Begin to execute a compaction as a writer that dies; return the file it has written."""
    (shop.location / f".hoodie/{instant}.compaction.inflight").touch()
    log = next(path for path in shop.location.rglob(".*.log.*") if instant not in path.name)
    name = LogFileName.parse(log.name)
    assert name is not None
    half = log.with_name(f"{name.file_id}_7-7-7_{instant}.parquet")
    half.write_bytes(b"half")
    return half
