"""Services on an object store: late requests, paused runs, and what is refused there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from framework.engine.fsck.findings import Severity
from framework.engine.fsck.table_check import check_table
from framework.engine.services.archival import observe_archival, run_archival
from framework.engine.services.compaction import (
    observe_compaction,
    observe_pending_compaction,
    run_pending_compaction,
    schedule_compaction,
)
from framework.engine.services.relocation import observe_relocation, run_relocation
from framework.engine.services.savepoint import create_savepoint, delete_savepoint
from framework.engine.services.service_run import service_run
from framework.engine.services.undo import plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from framework.hudi.commit.alone import begin_alone, create_alone
from framework.hudi.commit.intent import Transaction
from framework.hudi.filegroup.slices import instant_of
from framework.hudi.storage.memory_objects import MemoryObjectStorage, StoredObject
from framework.hudi.storage.port import storage_error
from framework.hudi.table.layout import name_of
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.archival import ArchivalLimits
from framework.vocabulary import TableType
from tests.support.dying_objects import dies_on_objects
from tests.support.object_lives import ObjectStore, an_object_store
from tests.support.object_services import ServicedTable

pytestmark = pytest.mark.long

HOUR_MS = 3_600_000
TASKS = InProcessTasks(1)


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    """Return an empty store."""
    with an_object_store() as found:
        yield found


@pytest.fixture
def table(store: ObjectStore, tmp_path: Path) -> ServicedTable:
    """Return a merge-on-read table of four loads."""
    return ServicedTable.of(store, tmp_path, TableType.MERGE_ON_READ)


def condition_of(attempt: Callable[[], object]) -> str:
    """Return the condition of an attempt that is refused."""
    with pytest.raises(FrameworkError) as caught:
        attempt()
    return caught.value.condition


def files_of(table: ServicedTable, instant: str) -> dict[str, StoredObject]:
    """Return the data files that the name of an instant is in, by key."""
    objects = table.store.service.objects.items()
    return {k: v for k, v in objects if instant_of(name_of(k)) == instant and "/.hoodie/" not in k}


def test_file_of_an_undone_load_that_arrives_late_is_deleted_by_a_later_run(
    store: ObjectStore, tmp_path: Path
) -> None:
    """The rollback left its name, and a tombstone, for a quarter of an hour."""
    table = ServicedTable.of(store, tmp_path, TableType.COPY_ON_WRITE)
    newest = load_timeline(table.storage).completed[-1].requested_time
    late = files_of(table, newest)
    assert late
    run_undo(plan_rollback(table.location), Action.ROLLBACK, store.clock)
    rows = table.signature()[0]
    store.service.objects.update(late)
    assert table.signature()[0] == rows
    table.upsert("next", 1)
    assert files_of(table, newest)
    table.upsert("after that", 1)
    assert files_of(table, newest) == {}


def test_compaction_that_is_executed_again_waits_for_late_deletions(table: ServicedTable) -> None:
    """Its files have the names of those that recovery has deleted."""
    clock = table.store.clock
    schedule_compaction(observe_compaction(table.location), clock)
    before = table.signature()[0]

    def execute() -> None:
        plan = observe_pending_compaction(table.location)
        assert plan is not None
        run_pending_compaction(plan, TASKS, clock)

    table.upsert("beside", 1)  # so that the plan stays when its execution is rolled back
    assert dies_on_objects(table.storage, 12, lambda _: execute())
    table.recover()
    assert condition_of(execute) == "commit/not-quiet-yet"
    clock.advance(HOUR_MS)
    execute()
    assert len(table.signature()[0]) == len(before)
    table.check_whole()


def test_savepoint_of_the_same_instant_waits_for_late_deletions(table: ServicedTable) -> None:
    """Both have one name."""
    held = create_savepoint(table.location, clock=table.store.clock).instant
    delete_savepoint(table.location, held, clock=table.store.clock)
    again = partial(create_savepoint, table.location, held, clock=table.store.clock)
    assert condition_of(again) == "commit/not-quiet-yet"
    table.check_whole()
    assert again().instant == held


def test_plan_of_a_run_that_was_paused_and_fenced_is_never_created(table: ServicedTable) -> None:
    """However late it continues, its upload was aborted."""
    clock, path = table.store.clock, ".hoodie/20200101000000000.compaction.requested"

    def pause() -> None:
        clock.advance(HOUR_MS)
        with service_run(table.storage, clock):
            pass

    def scheduled(transaction: Transaction) -> None:
        begin_alone(transaction)
        create_alone(transaction, path, b"plan", pause)

    with service_run(table.storage, clock) as run:
        transaction = run.transaction(Action.COMPACTION, "COMPACT", b"plan")
        assert condition_of(lambda: scheduled(transaction)) == "commit/fenced"
    assert table.storage.stat(path) is None
    table.check_whole()


def test_run_beside_another_that_has_begun_is_refused(table: ServicedTable) -> None:
    """The other one lost its lease after this run had looked for leftovers."""
    with service_run(table.storage, table.store.clock) as run:
        other = run.transaction(Action.COMPACTION, "COMPACT", b"plan")
    plan = plan_rollback(table.location)
    with service_run(table.storage, table.store.clock) as run:
        begin_alone(other)
        begin = partial(run.begin, Action.ROLLBACK, "ROLLBACK", b"plan")
        assert condition_of(begin) == "commit/foreign-pending"
    run_undo(plan, Action.ROLLBACK, table.store.clock)
    table.check_whole()


def test_archival_leaves_instants_for_which_requests_may_still_arrive(
    table: ServicedTable,
) -> None:
    """A late request would make an archived instant pending again."""
    clock, limits = table.store.clock, ArchivalLimits(keep_min=1, keep_max=2)
    for _ in range(5):
        table.upsert("more", 2)
    table.store.service.objects.update(
        {
            key: StoredObject(each.data, each.tag, clock.now_ms() * 1_000_000)
            for key, each in table.store.service.objects.items()
        }
    )
    plan = observe_archival(table.location, limits)
    assert (plan.instants, plan.hold is not None) == ((), True)
    clock.advance(HOUR_MS)
    done = run_archival(plan, clock)
    assert done is not None
    assert done.commits > 0
    table.check_whole()


def test_relocation_on_an_object_store_is_refused_and_changes_nothing(
    store: ObjectStore, tmp_path: Path
) -> None:
    """It replaces files in place, which a store without moves cannot do for readers."""
    table = ServicedTable.adopted(store, tmp_path, TableType.COPY_ON_WRITE)
    before = dict(store.service.objects)
    plan = observe_relocation(table.location, str(tmp_path / "source"), TASKS)
    attempt = partial(run_relocation, plan, TASKS, store.clock)
    assert condition_of(attempt) == "service/object-store"
    assert store.service.objects == before


def test_uploads_that_may_not_be_listed_are_a_warning(
    table: ServicedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check goes through all the same."""

    def unfinished(self: MemoryObjectStorage) -> Iterator[tuple[str, str]]:
        raise storage_error(OSError("denied"), self.location, condition="permission")

    monkeypatch.setattr(MemoryObjectStorage, "unfinished", unfinished)
    (found,) = check_table(table.location, TASKS, clock=table.store.clock).findings
    assert (found.condition, found.severity) == ("storage/permission", Severity.WARNING)
