"""Runs on Spark: the backend, the views that its tasks query, and a run on a caller's session.

The driver holds one view per table and serves it to the tasks of its runs (RFC-03). The service
belongs to the process, not to a run: the next run of the same table reuses the view and lists
nothing. The first load that needs the service starts it.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Final, Self

from framework.engine.events import Events, silent
from framework.engine.prepare import (
    PlanningContext,
    Request,
    load,
    locations_of,
    prepare_loaded,
)
from framework.engine.reading.table import Table
from framework.engine.reading.views import LISTED, Views, checked, listing_view
from framework.engine.runner import Backend, RunResult, run_nothing
from framework.engine.tasks import InProcessTasks
from framework.hudi.timeline.timeline import timeline_hash
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.port import FileSystemView
from framework.hudi.view.remote import ServiceAddress
from framework.plan.target import target_of
from framework.spark.checking.checker import SparkChecker
from framework.spark.cluster.executors import is_local
from framework.spark.cluster.preflight import check_executors, is_cluster
from framework.spark.cluster.reach import check_reach
from framework.spark.loading.preview import SparkInput
from framework.spark.reading.jvm import Jvm
from framework.spark.session import is_connect
from framework.spark.tasks import SparkTasks
from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.spec.sections.timeline_service_spec import TimelineServiceSpec
from framework.timeline_service.access import Access
from framework.timeline_service.host import store_of
from framework.timeline_service.server import EmbeddedServer
from framework.timeline_service.service import Service
from framework.timeline_service.tables import ServedTable, Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["EmbeddedViews", "check_places", "run", "spark_backend", "views_for"]

_LOOPBACK: Final = "127.0.0.1"


def views_for(spark: SparkSession, wished: TimelineServiceSpec | None) -> Views:
    """Return the views that runs on a session query for the files of their tables.

    Args:
        spark: a cluster's tasks use the driver's own address, local ones loopback.
        wished: the section of the spec, None for the defaults.
    """
    spec = wished or TimelineServiceSpec()
    if not spec.enabled:
        return LISTED
    context = spark.sparkContext
    master = context.master or ""
    host = spec.host or (
        _LOOPBACK if is_local(master) else context.getConf().get("spark.driver.host")
    )
    wish = (spec, host or _LOOPBACK)
    with _LOCK:
        found = _KEPT.get(wish)
        if found is None:
            found = _KEPT[wish] = EmbeddedViews.of(*wish)
            atexit.register(found.stop)
        return found


class EmbeddedViews:
    """Views that this process holds, and serves from the first use on."""

    def __init__(self, spec: TimelineServiceSpec, host: str) -> None:
        self._spec = spec
        self._host = host
        self._lock = Lock()
        self._running: _Running | None = None

    @classmethod
    def of(cls, spec: TimelineServiceSpec, host: str = _LOOPBACK) -> Self:
        """Return the views of a service of its own that listens on `host`."""
        return cls(spec, host)

    @contextmanager
    def opened(self, table: Table) -> Iterator[FileSystemView]:
        """Yield the held view if it matches the table's timeline, else one that lists.

        Either is compared with the records of the table's commits.
        """
        view = self.served(table).view
        view.sync()
        with view.lock:
            if timeline_hash(view.facts.timeline) == timeline_hash(table.timeline):
                yield checked(view, table)
                return
        with listing_view(table) as listed:
            yield listed

    def address(self, table: Table) -> ServiceAddress:
        """Return the address where tasks query this table, as of its timeline."""
        service = self._service()
        return ServiceAddress(
            host=service.server.host,
            port=service.server.port,
            token=service.access.token,
            driver=service.tables.driver,
            table=self.served(table).id,
            instant=table.timeline.last_requested_time or "",
            timeline=timeline_hash(table.timeline),
        )

    def served(self, table: Table) -> ServedTable:
        """Return the table with its view, which is held from now on."""
        service = self._service()
        with self._lock:
            location = table.storage.location
            found = service.tables.find(location)
            if found is None:
                store = store_of(self._spec.store, self._spec.memory)
                view = IncrementalView(table.storage, store, incremental=self._spec.incremental)
                found = service.tables.register(location, view)
            return found

    def serves(self, location: str) -> bool:
        """Return whether a table's view is held."""
        with self._lock:
            running = self._running
            return running is not None and running.tables.find(location) is not None

    def stop(self) -> None:
        """Stop serving, and drop all views."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.server.stop()
            running.tables.close()

    def _service(self) -> _Running:
        """Return the service; the first call starts it."""
        with self._lock:
            if self._running is None:
                tables = Tables()
                access = Access(auth=self._spec.auth, hosts=frozenset({self._host}))
                service = Service(tables, access)
                server = EmbeddedServer(service, host=self._host, port=self._spec.port)
                self._running = _Running(tables, access, server.start())
            return self._running


@dataclass(frozen=True)
class _Running:
    """A service of this process."""

    tables: Tables
    access: Access
    server: EmbeddedServer


_LOCK: Final = Lock()
_KEPT: Final[dict[tuple[TimelineServiceSpec, str], EmbeddedViews]] = {}


def run(
    spark: SparkSession,
    spec: str | Path,
    *,
    target: str | None = None,
    variables: Mapping[str, str] | None = None,
    run_id: str | None = None,
) -> RunResult:
    """Run a spec file and return the result; having nothing new to load is not an error.

    The session is used unchanged: the spec's section `spark` is not applied, and it stays open. An
    interrupted run is resumed if spec and source are unchanged, else rolled back and started again.
    A load with a `run_id` that was published before does nothing.

    Raises:
        SpecError, PlanError: the spec is faulty, or does not fit the table or source.
        AuditFailedError: the audit gate refused; the table is unchanged.
        RetryableError, EngineError: nothing was published.
        AfterCommitError: published, but a later step failed.
        OutcomeUnknownError: the outcome is unknown; nothing was deleted.
        NotYetBuiltError: `spark/connect-storage`; over Spark Connect also `quality/needs-spark`
            and `input/needs-spark`. Nothing was written.
    """
    request = Request(path=Path(spec), target=target, variables=variables or {}, run_id=run_id)
    tasks = SparkTasks(spark)  # before reading the spec, as it refuses some sessions
    kept = nullcontext() if is_connect(spark) else Jvm(spark).keeping_active()
    with TemporaryDirectory() as scratch, kept:
        loaded = load(request)
        check_places(spark, loaded)
        # the scratch folder is on this machine
        is_far = is_connect(spark) or is_cluster(spark)
        near = InProcessTasks(os.cpu_count() or 1) if is_far else tasks
        planning = PlanningContext(tasks=near, scratch=Path(scratch))
        prepared = prepare_loaded(loaded, request, planning)
        plan = prepared.plan
        if not plan.has_changes:
            return run_nothing(plan)
        return spark_backend(spark, prepared.spec.timeline_service).run(plan)


def check_places(spark: SparkSession, spec: PipelineSpec, events: Events = silent) -> None:
    """Check that the executors of a cluster can run the tasks of a spec, see `check_executors`.

    Over Spark Connect, as many tasks as run at once look for the locations.
    """
    connected = is_connect(spark)
    if not connected and not is_cluster(spark):
        return
    table, *sources = locations_of(spec)
    quarantine = target_of(spec).quality.quarantine
    writes = (table, quarantine) if quarantine else (table,)
    if connected:
        check_reach(SparkTasks(spark), reads=sources, writes=writes)
    else:
        check_executors(spark, reads=sources, writes=writes, events=events)


def spark_backend(
    spark: SparkSession, service: TimelineServiceSpec | None, events: Events = silent
) -> Backend:
    """Return the backend on a session, which stays open and unchanged.

    Over Spark Connect it reads plain Parquet only and runs no checks, and its tasks get the files
    in their descriptors: they may not reach this process.

    Args:
        spark: the session.
        service: the spec's section `timeline_service`, None for the defaults.
        events: receives the notes of the input reader.

    Raises:
        PlanError: `spark/speculation-refused`.
    """
    if is_connect(spark):
        return Backend(tasks=SparkTasks(spark))
    return Backend(
        tasks=SparkTasks(spark),
        reader=SparkInput(spark, events),
        checker=SparkChecker(spark),
        views=views_for(spark, service),
    )
