"""Runs a plan with the pipeline of its stages, on a backend: in process, or on Spark."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self

from framework.engine.audit.subject import Checker
from framework.engine.bootstrap.pipeline import run_bootstrap
from framework.engine.catalogs.connect import connect
from framework.engine.catalogs.sync import Connect, sync_after
from framework.engine.events import Events, Published, silent
from framework.engine.load.pipeline import run_load
from framework.engine.reading.views import LISTED, Views
from framework.engine.run.lifecycle import lifecycle, recover
from framework.engine.run.state import SECONDS, Committed, InputReader, RunContext
from framework.engine.run.store_limits import require_conditions
from framework.engine.services.maintenance import Serviced, maintain
from framework.engine.tasks import Tasks
from framework.errors import AfterCommitError
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.properties import read_properties
from framework.hudi.timeline.clock import Clock, SystemClock
from framework.plan.catalogs.words import SyncDocument, sync_document
from framework.plan.definition import Plan
from framework.plan.stages import BootstrapStages, LoadStages

__all__ = ["Backend", "RunResult", "run", "run_nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of a run.

    Attributes:
        case: the plan's case.
        location: the table.
        instant: requested time of the instant that was published; None if none was.
        files: base files published.
        rows: rows in them.
        bytes_written: their total size.
        seconds: wall time of all stages.
        proof: the audit's proof; empty if nothing was published.
        services: the table services that followed a load and changed something.
        catalog: what was registered; None if the spec names no catalog.
    """

    case: str
    location: str
    instant: str | None
    files: int
    rows: int
    bytes_written: int
    seconds: float
    proof: dict[str, object]
    services: tuple[Serviced, ...] = ()
    catalog: SyncDocument | None = None

    @classmethod
    def unchanged(cls, plan: Plan) -> Self:
        """Return the result of a plan without stages."""
        return cls(
            case=plan.case.value,
            location=plan.target.location,
            instant=None,
            files=0,
            rows=0,
            bytes_written=0,
            seconds=0.0,
            proof={},
        )


def run(  # noqa: PLR0913  all but two are keyword-only
    plan: Plan,
    tasks: Tasks,
    *,
    reader: InputReader | None = None,
    checker: Checker | None = None,
    figures: bool = False,
    views: Views = LISTED,
    events: Events = silent,
    clock: Clock | None = None,
    begun: float | None = None,
    opening: Connect = connect,
) -> RunResult:
    """Run the stages of `plan`, register the table in its catalog, and return the result.

    `reader` reads everything but plain Parquet, `checker` runs the checks of the spec; without one
    such a load, or such a spec, is refused. With `figures` the gate reports the nulls and the
    distinct values of each column. `views` reports which files make up the table. `begun` is when
    the run started to read its source, of `time.monotonic`; None: now. `opening` opens the catalog.

    An error before the commit rolls back all that this run made and is raised again; an
    interruption leaves the files for the next run to resume from, and releases the lease.

    Raises:
        AuditFailedError: the gate refused; the table is unchanged.
        RetryableError, EngineError: nothing was published.
        AfterCommitError: published, but a later step, or a service that follows, failed.
        OutcomeUnknownError: the outcome is unknown; nothing was deleted.
        UnsupportedTableError: see `require_conditions`; nothing was written.
    """
    ctx = RunContext(
        plan=plan,
        storage=open_storage(plan.target.location),
        tasks=tasks,
        reader=reader,
        events=events,
        clock=clock or SystemClock(),
        checker=checker,
        figures=figures,
        views=views,
        begun=time.monotonic() if begun is None else begun,
    )
    if plan.work is not None:
        require_conditions(ctx.storage)
    try:
        done = _done(ctx)
    except AfterCommitError:  # a service failed; the commit is published all the same
        with suppress(AfterCommitError):
            _registered(plan, views, events, opening)
        raise
    return replace(done, catalog=_registered(plan, views, events, opening))


def run_nothing(
    plan: Plan, *, events: Events = silent, views: Views = LISTED, opening: Connect = connect
) -> RunResult:
    """Return the result of a plan without stages, after its table is registered in its catalog.

    An earlier run may have been killed between its commit and the catalog.

    Raises:
        AfterCommitError: `catalog/sync-failed`.
    """
    return replace(RunResult.unchanged(plan), catalog=_registered(plan, views, events, opening))


def _registered(plan: Plan, views: Views, events: Events, opening: Connect) -> SyncDocument | None:
    """Register the table of a plan; return what was done, None without a catalog or a table."""
    place = plan.target.location
    if plan.catalog is None or read_properties(open_storage(place)) is None:
        return None
    found = sync_after(place, plan.catalog, views=views, events=events, opening=opening)
    return sync_document(found)


def _done(ctx: RunContext) -> RunResult:
    """Run the stages of a plan, and the services that follow."""
    plan = ctx.plan
    match plan.work:
        case BootstrapStages():
            return _result(ctx, run_bootstrap(ctx, plan.work))
        case LoadStages():
            done = _result(ctx, run_load(ctx, plan.work))
            if plan.maintenance is None:
                return done
            place, rules = plan.target.location, plan.maintenance
            services = maintain(place, rules, ctx.tasks, ctx.clock, ctx.events)
            return replace(done, services=services)
        case None:
            with lifecycle(ctx) as alone:
                recover(alone, plan.recover)
            return replace(RunResult.unchanged(plan), seconds=time.monotonic() - ctx.begun)


def _result(ctx: RunContext, done: Committed) -> RunResult:
    """Report the publication; return the result of the run."""
    written, proof = done.audited.written, dict(done.audited.proof)
    said = proof.get(SECONDS)
    seconds = said if isinstance(said, float) else time.monotonic() - ctx.begun
    ctx.events(Published(instant=done.instant, seconds=seconds))
    return RunResult(
        case=ctx.plan.case.value,
        location=ctx.plan.target.location,
        instant=done.instant,
        files=written.files,
        rows=written.rows,
        bytes_written=written.bytes,
        seconds=seconds,
        proof=proof,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """The backend of a run. The one on Spark comes from `framework.spark.backend`.

    Attributes:
        tasks: read and write files.
        reader: reads everything but plain Parquet; None: such a load is refused.
        checker: runs the checks of the spec; None: such a spec is refused.
        views: report which files make up the table.
    """

    tasks: Tasks
    reader: InputReader | None = None
    checker: Checker | None = None
    views: Views = LISTED

    def run(
        self,
        plan: Plan,
        *,
        figures: bool = False,
        events: Events = silent,
        begun: float | None = None,
    ) -> RunResult:
        """Run the stages of a plan; arguments, result and errors are those of `runner.run`."""
        return run(
            plan,
            self.tasks,
            reader=self.reader,
            checker=self.checker,
            views=self.views,
            figures=figures,
            events=events,
            begun=begun,
        )
