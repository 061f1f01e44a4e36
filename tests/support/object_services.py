"""Each table service on a table in an object store, its process dead before any change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from framework.engine.fsck.table_check import check_table
from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import run
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
from framework.engine.services.materialize import observe_materialize, run_materialize
from framework.engine.services.savepoint import create_savepoint, delete_savepoint
from framework.engine.services.service_run import service_run
from framework.engine.services.undo import plan_restore, plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.hudi.commit.fence import sweep_dead
from framework.hudi.commit.lease import Owner, acquire, release
from framework.hudi.commit.pending import find_pending
from framework.hudi.storage.memory_objects import MemoryObjectStorage, StoredObject
from framework.hudi.table.layout import LAKESTRAP, PROPERTIES, TEMP
from framework.hudi.table.properties import read_properties
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.archival import ArchivalLimits
from framework.plan.services.clean import CleanPolicy
from framework.plan.services.clustering import ClusterRequest
from framework.vocabulary import TableType, WriteOperation
from tests.support.dying_objects import dies_on_objects
from tests.support.object_lives import ObjectStore
from tests.support.scenes import a_document, a_scene, with_spec
from tests.support.writing import Lake, load, rows_of

__all__ = ["SERVICES", "ServicedTable", "Signature"]

_HOUR_MS = 3_600_000
_TASKS = InProcessTasks(1)

Signature = tuple[tuple[tuple[Any, ...], ...], tuple[tuple[str, int], ...]]
"""The rows of a table, and how many instants of each action and state are on its timeline."""


@dataclass
class ServicedTable:
    """A table that one service changes.

    Attributes:
        store: where it is.
        folder: for inputs.
        location: the table's.
        lake: loads into it; None for an adopted table.
        start: all objects before the service.
        steps: changes that the service makes.
    """

    store: ObjectStore
    folder: Path
    location: str
    lake: Lake | None = None
    start: Mapping[str, StoredObject] = field(default_factory=dict)
    steps: int = 0

    @classmethod
    def of(cls, store: ObjectStore, folder: Path, kind: TableType) -> ServicedTable:
        """Return a table of four loads, an hour apart."""
        made = cls(store, folder, f"{store.location}/{uuid4().hex}/table")
        made.lake = Lake(folder=folder, at=made.location, type=kind)
        for number in range(4):
            made.upsert(f"{number}", 5 - number)
        return made

    def upsert(self, v: str, rows: int) -> None:
        """Load rows, and let an hour pass."""
        assert self.lake is not None
        found = [{"id": n, "day": "ab"[n % 2], "v": v} for n in range(rows)]
        load(self.lake, WriteOperation.UPSERT, found, clock=self.store.clock)
        self.store.clock.advance(_HOUR_MS)

    @classmethod
    def adopted(cls, store: ObjectStore, folder: Path, kind: TableType) -> ServicedTable:
        """Return a table of skeletons."""
        made = cls(store, folder, f"{store.location}/{uuid4().hex}/table")
        rows = pa.table({"id": [1, 2, 3], "v": ["x"] * 3})
        files = {"p=1/a.parquet": rows, "p=2/a.parquet": rows}
        document = a_document(
            key=("id", "p"), table={"type": kind.value, "ordering": "commit_time"}
        )
        scene = with_spec(a_scene(folder, files, document), location=made.location)
        (folder / "scratch").mkdir()
        planning = PlanningContext(tasks=_TASKS, scratch=folder / "scratch")
        run(prepare(Request(path=scene.spec), planning).plan, _TASKS, clock=store.clock)
        store.clock.advance(_HOUR_MS)
        return made

    @property
    def storage(self) -> MemoryObjectStorage:
        """The table's."""
        return MemoryObjectStorage(self.location.removeprefix("objects://"))

    def remember(self) -> None:
        """Take the table as it is for the start."""
        self.start = dict(self.store.service.objects)

    def back(self) -> None:
        """Make the table as it was at the start."""
        self.store.service.objects.clear()
        self.store.service.objects.update(self.start)
        self.store.service.uploads.clear()

    def signature(self) -> Signature:
        """Return what the table holds."""
        instants = load_timeline(self.storage).instants
        counts = Counter(f"{each.action} {each.state}" for each in instants)
        if self.storage.stat(PROPERTIES) is None:
            return (), ()
        rows = [{**row, "_hoodie_file_name": ""} for row in rows_of(self.location)]
        found = sorted(tuple(sorted(row.items())) for row in rows)
        return tuple(found), tuple(sorted(counts.items()))

    def dies(self, step: int, service: Callable[[ServicedTable], object]) -> bool:
        """Return whether the service died at a step of its own process."""
        return dies_on_objects(self.storage, step, lambda _: service(self))

    def recover(self) -> None:
        """Do what the next run does first, much later."""
        self.store.clock.advance(_HOUR_MS)
        with service_run(self.storage, self.store.clock):
            pass

    def check_whole(self) -> None:
        """See that nothing is wrong, and, an hour later, nothing is left."""
        assert find_pending(self.storage) is None
        if self.storage.stat(PROPERTIES) is not None:
            report = check_table(self.location, _TASKS, deep=True, clock=self.store.clock)
            assert not report.findings, report.findings
        self.store.clock.advance(_HOUR_MS)
        lease = acquire(self.storage, Owner.here("c" * 32), self.store.clock)
        sweep_dead(self.storage, lease)
        release(self.storage, lease)
        left = [key for key in self.store.service.objects if self._is_left(key)]
        assert left == []
        assert not self.store.service.uploads

    def _is_left(self, key: str) -> bool:
        return f"/{TEMP}/" in key or (f"/{LAKESTRAP}/" in key and f"/{LAKESTRAP}/state/" not in key)


def _instants(table: ServicedTable) -> list[str]:
    return [each.requested_time for each in load_timeline(table.storage).completed]


def _schedule(table: ServicedTable) -> None:
    schedule_compaction(observe_compaction(table.location), table.store.clock)


def _execute(table: ServicedTable) -> None:
    plan = observe_pending_compaction(table.location)
    if plan is not None:
        run_pending_compaction(plan, _TASKS, table.store.clock)


def _hold(table: ServicedTable) -> None:
    create_savepoint(table.location, _instants(table)[1], clock=table.store.clock)


def _nothing(_: ServicedTable) -> None:
    """Prepare nothing."""


def _restore(table: ServicedTable) -> None:
    plan = plan_restore(table.location, _instants(table)[0])
    run_undo(plan, Action.RESTORE, table.store.clock)


def _clean(table: ServicedTable) -> None:
    policy = CleanPolicy(keep_commits=1)
    run_clean(observe_clean(table.location, policy, clock=table.store.clock), table.store.clock)


def _archive(table: ServicedTable) -> None:
    limits = ArchivalLimits(keep_min=1, keep_max=2)
    run_archival(observe_archival(table.location, limits), table.store.clock)


def _compact(table: ServicedTable) -> None:
    found = read_properties(table.storage)
    if found is None or found.table_type is TableType.COPY_ON_WRITE:
        return
    run_compaction(observe_compaction(table.location), _TASKS, table.store.clock)


def _compact_twice(table: ServicedTable) -> None:
    _compact(table)
    table.upsert("again", 3)
    _compact(table)


def _compact_and_clean(table: ServicedTable) -> None:
    _compact_twice(table)
    _clean(table)


def _cluster(table: ServicedTable) -> None:
    plan = observe_clustering(table.location, ClusterRequest(by=("id",)))
    run_clustering(plan, _TASKS, table.store.clock)


def _materialize(table: ServicedTable) -> None:
    run_materialize(observe_materialize(table.location), _TASKS, table.store.clock)


def _drop(table: ServicedTable) -> None:
    if table.storage.stat(PROPERTIES) is not None:
        run_drop(observe_drop(table.location), Dropping(savepoints=True), table.store.clock)


_Step = Callable[[ServicedTable], object]
SERVICES: Mapping[str, tuple[_Step, _Step]] = {
    "rollback": (
        _nothing,
        lambda t: run_undo(plan_rollback(t.location), Action.ROLLBACK, t.store.clock),
    ),
    "restore": (_nothing, _restore),
    "savepoint": (_nothing, _hold),
    "drop savepoint": (
        _hold,
        lambda t: delete_savepoint(t.location, _instants(t)[1], clock=t.store.clock),
    ),
    "schedule": (_nothing, _schedule),
    "execute": (_schedule, _execute),
    "compact": (_nothing, _compact),
    "clean": (_compact_twice, _clean),
    "archive": (_compact_and_clean, _archive),
    "cluster": (_nothing, _cluster),
    "materialize": (_nothing, _materialize),
    "drop": (_nothing, _drop),
}
"""What is done before, and the service."""
