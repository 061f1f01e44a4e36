"""Compaction: slices with log files become base files, as one instant in Apache Hudi's own form."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from framework.engine.reading.table import open_table
from framework.engine.services.pending_compaction import check_latest, planned_groups_of
from framework.engine.services.rewriting import (
    Rewritten,
    require_rewritable,
    rewrite_in_place,
    rewriting,
    slices_of,
)
from framework.engine.tasks import Tasks
from framework.errors import CommitConflictError, PlanError, Where
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import Clock
from framework.hudi.timeline.instant import COMPACTIONS, Action, Instant
from framework.hudi.timeline.requested_plans import compaction_plan_bytes
from framework.plan.services.compaction import CompactionPlan, plan_compaction
from framework.vocabulary import TableType

__all__ = ["Compacted", "observe_compaction", "run_compaction"]

Compacted = Rewritten
"""A published compaction."""


def observe_compaction(
    location: str, *, min_logs: int = 1, log_bytes: int = 0, partitions: Collection[str] = ()
) -> CompactionPlan:
    """Return the plan to compact a table; lists each partition once and changes nothing.

    Slices under a pending compaction are left to that.

    Args:
        location: the table's.
        min_logs: only slices with as many log files or more.
        log_bytes: only slices whose log files have as many bytes in total or more.
        partitions: only these; none means all.

    Raises:
        PlanError: `compaction/copy-on-write`, `service/no-such-partition`.
        CommitConflictError: `compaction/pending`; another writer's log compaction is pending.
        UnsupportedTableError: see `require_rewritable`.
        CorruptFileError: a file that a commit names is missing or damaged.
    """
    storage = open_storage(location)
    properties = require_rewritable(storage)
    if properties.table_type is not TableType.MERGE_ON_READ:
        raise PlanError(
            "compaction/copy-on-write",
            "a copy-on-write table has no log files to compact",
            where=Where(table=storage.location),
            remedy="Nothing is left to do.",
        )
    found = find_pending(storage)
    if found is not None and found.kind is PendingKind.FOREIGN and _compacts(found.instant):
        time = found.instant.requested_time if found.instant else ""
        raise CommitConflictError(
            "compaction/pending",
            f"compaction {time} of another writer is pending",
            where=Where(table=storage.location, instant=time),
            remedy="Execute it with Apache Hudi (run_compaction), then run again.",
        )
    table = open_table(location)
    planned = planned_groups_of(table)
    slices = [each for each in slices_of(table, partitions) if each.group not in planned]
    return plan_compaction(storage.location, slices, min_logs=min_logs, log_bytes=log_bytes)


def _compacts(instant: Instant | None) -> bool:
    return instant is not None and instant.action in COMPACTIONS


def run_compaction(
    plan: CompactionPlan,
    tasks: Tasks,
    clock: Clock | None = None,
    storage: Storage | None = None,
) -> Compacted | None:
    """Write a base file for each slice of the plan, compare the records, and publish.

    Args:
        plan: the slices.
        tasks: run the work.
        clock: the time; None means the system's.
        storage: the table's; None opens it.

    Returns:
        The published compaction; None if the plan has no slice.

    Raises:
        LeaseHeldError: another run is at work on the table.
        CommitConflictError: `compaction/stale-plan`; the table has changed since it was planned.
        SourceDriftError, CorruptFileError, UnsupportedTableError: a slice cannot be read, or
            `audit/records-differ`; nothing was published.
        AfterCommitError: published, but leftovers could not be removed.
    """
    if not plan.slices:
        return None
    with rewriting(plan.location, storage, clock) as (run, table):
        check_latest(table, plan)
        requested = compaction_plan_bytes(plan.slices, run.facts)
        begin = partial(run.begin, Action.COMPACTION, "COMPACT", requested)
        return rewrite_in_place(run, table, plan.slices, tasks, begin)
