"""The first step of a load: a lease, the table as it is now, a pending instant."""

from __future__ import annotations

from framework.engine.load.job import Opened
from framework.engine.reading.load_history import load_state
from framework.engine.reading.table import Table, open_table
from framework.engine.run.context import RunContext
from framework.engine.run.state import RunState
from framework.errors import CommitConflictError, Where
from framework.hudi.commit.intent import Intent
from framework.hudi.timeline.clock import next_instant
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.facts import SPEC_FACT
from framework.plan.load import LoadPlan
from framework.plan.stages import BeginLoad

__all__ = ["begin_load", "load_plan"]


def load_plan(ctx: RunContext) -> LoadPlan:
    """Return the load of the plan.

    Raises:
        ValueError: the plan is not a load.
    """
    if ctx.plan.load is None:
        raise ValueError("the plan has no load")
    return ctx.plan.load


def begin_load(run: RunState, stage: BeginLoad) -> Opened:
    """Take the lease, open the current table, create the pending instant.

    Raises:
        CommitConflictError: `load/published-meanwhile`.
    """
    ctx, plan = run.ctx, load_plan(run.ctx)

    def new_intent(write_id: str) -> Intent:
        return Intent(
            write_id=write_id,
            requested_time=next_instant(ctx.clock, load_timeline(ctx.storage)),
            action=Action(stage.action),
            operation=plan.operation.value.upper(),
            is_new_table=plan.creates,
            facts={SPEC_FACT: ctx.plan.target.spec_hash},
        )

    def prepare(_: object) -> Table | None:
        _refuse_published(ctx, plan.run_id)
        if plan.creates:
            return None
        table = open_table(ctx.storage.location)
        table.require_meta_columns("a load")
        return table

    with run.stage(stage) as report:
        transaction, table = run.begin(new_intent, prepare)
        report.summary = f"instant {transaction.intent.requested_time}"
    return Opened(transaction=transaction, table=table)


def _refuse_published(ctx: RunContext, run_id: str | None) -> None:
    """Raise if the run's id was published between its plan and its lease.

    Raises:
        CommitConflictError: `load/published-meanwhile`.
    """
    if run_id is None:
        return
    state = load_state(ctx.storage, load_timeline(ctx.storage), "")
    if run_id in state.run_ids:
        raise CommitConflictError(
            "load/published-meanwhile",
            f"a run with the id {run_id} was published while this one was planned",
            where=Where(table=ctx.storage.location),
            remedy="Nothing of this run was published, and there is nothing left to do.",
        )
