"""The first step of a load: a lease, the table as it is now, a pending instant."""

from __future__ import annotations

from functools import cache

import numpy as np

from framework.engine.load.job import Opened
from framework.engine.reading.table import Table, open_table
from framework.engine.reading.table_memory import TableMemory, read_memory
from framework.engine.run.state import RunContext, RunState
from framework.errors import CommitConflictError, Where
from framework.hudi.bootstrap.file_list import FileList
from framework.hudi.commit.intent import Intent
from framework.hudi.table.properties import read_properties
from framework.hudi.timeline.clock import next_instant
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.facts import SPEC_FACT
from framework.plan.load import LoadPlan
from framework.plan.stages import BeginLoad

__all__ = ["begin_load", "load_plan", "new_files"]


def load_plan(ctx: RunContext) -> LoadPlan:
    """Return the load of the plan.

    Raises:
        ValueError: the plan is not a load.
    """
    if ctx.plan.load is None:
        raise ValueError("the plan has no load")
    return ctx.plan.load


def new_files(plan: LoadPlan) -> np.ndarray:
    """Return the hashes of the files that no earlier run loaded, ascending; reads their list."""
    files = plan.request.files if plan.request else None
    return files.new_hashes() if isinstance(files, FileList) else np.empty(0, np.uint64)


def begin_load(run: RunState, stage: BeginLoad) -> Opened:
    """Take the lease, open the current table, create the pending instant.

    Raises:
        CommitConflictError: `load/published-meanwhile`, `load/table-removed`.
    """
    ctx, plan = run.ctx, load_plan(run.ctx)

    timeline = cache(lambda: load_timeline(ctx.storage))  # of the moment after the lease

    def new_intent(write_id: str) -> Intent:
        return Intent(
            write_id=write_id,
            requested_time=next_instant(ctx.clock, timeline()),
            action=Action(stage.action),
            operation=plan.operation.value.upper(),
            is_new_table=plan.creates,
            facts={SPEC_FACT: ctx.plan.target.spec_hash},
        )

    def prepare(_: object) -> tuple[Table | None, TableMemory | None]:
        memory = read_memory(ctx.storage, timeline())
        if memory is not None:
            _refuse_published(ctx, plan, memory)
        if plan.creates:
            return None, memory
        _refuse_removed(ctx)
        table = open_table(ctx.storage.location, timeline=timeline())
        table.require_meta_columns("a load")
        return table, memory

    with run.stage(stage) as report:
        transaction, (table, memory) = run.begin(new_intent, prepare)
        report.summary = f"instant {transaction.intent.requested_time}"
    return Opened(transaction=transaction, table=table, memory=memory)


def _refuse_removed(ctx: RunContext) -> None:
    """Raise if there is no table any more: recovery may have finished a rollback of all of it.

    Raises:
        CommitConflictError: `load/table-removed`.
    """
    if read_properties(ctx.storage) is None:
        raise CommitConflictError(
            "load/table-removed",
            "the table was removed after this load was planned, by a rollback of its only instant",
            where=Where(table=ctx.storage.location),
            remedy="Nothing was published. Run again: the load makes the table.",
        )


def _refuse_published(ctx: RunContext, plan: LoadPlan, memory: TableMemory) -> None:
    """Raise if the run's id or one of its new files was published after the run was planned.

    Raises:
        CommitConflictError: `load/published-meanwhile`.
    """
    known = memory.loaded.get(plan.source_id)
    fresh = new_files(plan)
    if plan.run_id is not None and memory.has_run(ctx.storage, plan.run_id):
        what = f"a run with the id {plan.run_id} was"
    elif known is not None and known.holds(ctx.storage, fresh).any():
        what = "files of this load were"
    else:
        return
    raise CommitConflictError(
        "load/published-meanwhile",
        f"{what} published after this run was planned",
        where=Where(table=ctx.storage.location),
        remedy="Nothing of this run was published. Run again; it loads what is left.",
    )
