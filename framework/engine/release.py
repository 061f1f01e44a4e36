"""Releases of quarantined rows: separate loads through the gate."""

from __future__ import annotations

import time

from framework.engine.inspect.observe import observe
from framework.engine.prepare import PlanningContext, Prepared, Request, load
from framework.engine.quarantine.datasets import leased, sweep
from framework.engine.quarantine.quarantined_batch import QuarantinedBatch
from framework.errors import AfterCommitError, FrameworkError, Where
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.clock import Clock
from framework.plan.build import build
from framework.plan.release import release_request
from framework.plan.target import target_of

__all__ = ["finish_release", "prepare_release"]


def prepare_release(
    request: Request, batch: QuarantinedBatch, planning: PlanningContext
) -> Prepared:
    """Return the plan that loads a data set into the table of a spec; changes nothing.

    If the data set was released meanwhile, the plan at most recovers an earlier run.

    Raises:
        SpecError, PlanError: the spec is faulty, or does not fit source or table.
        RetryableError, EngineError: see `observe` and `build`.
    """
    spec = load(request)
    asked = release_request(
        spec,
        location=batch.location,
        instant=batch.instant,
        files=batch.files,
        came_for=batch.operation,
    )
    begun = time.monotonic()
    observation = observe(
        target_of(spec), planning.tasks, planning.scratch, request=asked, events=planning.events
    )
    plan = build(spec, observation)
    return Prepared(request=request, spec=spec, observation=observation, plan=plan, begun=begun)


def finish_release(table: str, clock: Clock, *, location: str | None = None) -> None:
    """Remove the released data sets of a table; idempotent.

    Raises:
        AfterCommitError: `quarantine/not-removed`; another run holds the table, or the disk fails.
    """
    try:
        with leased(open_storage(table), clock):
            sweep(table, location)
    except FrameworkError as error:
        raise AfterCommitError(
            "quarantine/not-removed",
            f"rows were released, but their data set still exists: {error.message}",
            where=Where(table=table),
            remedy="They are not released again. The next run that quarantines rows removes the"
            " leftovers, and so does `run-pipeline quarantine release`.",
        ) from error
