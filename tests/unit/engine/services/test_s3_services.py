"""The life of a table on a server of S3, with every table service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from framework.engine.fsck.findings import Repair
from framework.engine.fsck.repair import repair_table
from framework.engine.fsck.table_check import check_table
from framework.engine.services.archival import observe_archival, run_archival
from framework.engine.services.clean import observe_clean, run_clean
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.compaction import (
    observe_compaction,
    observe_pending_compaction,
    run_compaction,
    run_pending_compaction,
    schedule_compaction,
)
from framework.engine.services.drop import Dropping, observe_drop, run_drop
from framework.engine.services.savepoint import create_savepoint, delete_savepoint
from framework.engine.services.undo import plan_restore, plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.hudi.commit import fence
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import uploads_of
from framework.hudi.storage.store_settings import STORAGE_VARIABLE, settings_text
from framework.hudi.table.layout import HOODIE, PROPERTIES
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.archival import ArchivalLimits
from framework.plan.services.clean import CleanPolicy
from framework.plan.services.clustering import ClusterRequest
from framework.vocabulary import TableType, WriteOperation
from tests.support.s3_server import S3Server, running_s3
from tests.support.writing import Lake, load, rows_of

pytestmark = pytest.mark.long

TASKS = InProcessTasks(1)


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """Run one server for the module."""
    with running_s3() as found:
        yield found


@pytest.fixture
def lake(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Return a merge-on-read table of one load in a new bucket."""
    monkeypatch.setenv(STORAGE_VARIABLE, settings_text({"s3": server.settings}))
    at = f"s3a://{server.new_bucket()}/lake/table"
    found = Lake(folder=tmp_path, at=at, type=TableType.MERGE_ON_READ)
    upsert(found, "first", 0, 1, 2)
    return found


def upsert(lake: Lake, v: str, *ids: int) -> None:
    """Load rows."""
    load(lake, WriteOperation.UPSERT, [{"id": n, "day": "mon", "v": v} for n in ids])


def values(lake: Lake) -> dict[int, str]:
    """Return the rows."""
    return {row["id"]: row["v"] for row in rows_of(lake.location)}


def findings(lake: Lake) -> list[str]:
    """Return what a whole check finds."""
    report = check_table(lake.location, TASKS, deep=True)
    return [each.condition for each in report.findings]


def test_table_on_s3_is_rewritten_and_restored(lake: Lake) -> None:
    """Rows are right after each service."""
    at = lake.location
    held = create_savepoint(at).instant
    upsert(lake, "bad", 0, 1, 2, 3)
    run_undo(plan_rollback(at), Action.ROLLBACK)
    assert values(lake) == {0: "first", 1: "first", 2: "first"}
    upsert(lake, "second", 1)
    run_compaction(observe_compaction(at), TASKS)
    upsert(lake, "third", 2, 4)
    assert schedule_compaction(observe_compaction(at)) is not None
    pending = observe_pending_compaction(at)
    assert pending is not None
    run_pending_compaction(pending, TASKS)
    run_clustering(observe_clustering(at, ClusterRequest(by=("id",))), TASKS)
    assert values(lake) == {0: "first", 1: "second", 2: "third", 4: "third"}
    assert findings(lake) == []
    run_undo(plan_restore(at, held), Action.RESTORE)
    assert values(lake) == {0: "first", 1: "first", 2: "first"}
    delete_savepoint(at, held)
    assert findings(lake) == []


def test_table_on_s3_is_cleaned_archived_and_dropped(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left but what waits for late requests, and that goes with the next run."""
    at = lake.location
    upsert(lake, "bad", 0, 1, 2, 3)
    run_undo(plan_rollback(at), Action.ROLLBACK)
    for number in range(3):
        upsert(lake, f"{number}", 0)
        run_compaction(observe_compaction(at), TASKS)
    assert run_clean(observe_clean(at, CleanPolicy(keep_commits=1))) is not None
    limits = ArchivalLimits(keep_min=1, keep_max=2)
    plan = observe_archival(at, limits)
    assert plan.hold is not None
    assert "may still arrive" in plan.hold.reason
    monkeypatch.setattr(fence, "QUIET_MS", -2_000)
    upsert(lake, "late", 1)  # which sweeps what was waited for
    archived = run_archival(observe_archival(at, limits))
    assert archived is not None
    assert archived.commits > 0
    assert values(lake) == {0: "2", 1: "late", 2: "first"}
    assert findings(lake) == []
    run_drop(observe_drop(at), Dropping())
    assert open_storage(at).stat(PROPERTIES) is None
    assert [e.path for e in open_storage(at).list("") if e.path != HOODIE] == []
    upsert(lake, "anew", 7)
    assert values(lake) == {7: "anew"}


def test_upload_that_a_dead_run_left_is_found_and_aborted(lake: Lake) -> None:
    """One of another program is found, and stays."""
    storage = open_storage(lake.location)
    uploads = uploads_of(storage)
    assert uploads is not None
    time = load_timeline(storage).completed[-1].requested_time
    uploads.begin(f"{HOODIE}/{int(time) + 1}.deltacommit", b"{}")
    uploads.begin("day=mon/large.parquet", b"rows")
    report = check_table(lake.location, TASKS)
    found = {each.file: each.repair for each in report.findings}
    assert {each.condition for each in report.findings} == {"fsck/upload-left"}
    assert found == {
        f"{HOODIE}/{int(time) + 1}.deltacommit": Repair.UPLOADS,
        "day=mon/large.parquet": None,
    }
    (outcome,) = repair_table(lake.location, [Repair.UPLOADS])
    assert (outcome.repair, outcome.done) == (Repair.UPLOADS, "deleted")
    assert [path for path, _ in uploads.unfinished()] == ["day=mon/large.parquet"]
