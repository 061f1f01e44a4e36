"""Compaction: slices with log files become base files, as one instant in Apache Hudi's own form.

It is run at once, or planned at one time and executed at another, by Lakestrap or Apache Hudi (ADR
0042). A requested compaction is a plan that every writer respects: log files of the planned groups
start new slices at its instant. So it is executed while others write, its instant may be older than
theirs when it completes, and no recovery removes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from framework.engine.reading.table import Table, open_table
from framework.engine.reading.views import LISTED, latest_slices
from framework.engine.services.rewriting import (
    Rewritten,
    are_latest,
    require_rewritable,
    rewrite_in_place,
    rewriting,
    slices_of,
)
from framework.engine.services.service_run import ServiceRun, require_table
from framework.engine.tasks import Tasks
from framework.errors import CommitConflictError, PlanError, Where
from framework.hudi.commit.alone import begin_alone, create_alone
from framework.hudi.commit.intent import SCHEDULED_KEY, WRITE_ID_KEY
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.placement import read_bytes
from framework.hudi.commit.recovery import release_compaction
from framework.hudi.commit.staging import staging_folders
from framework.hudi.commit.transaction import check_clear
from framework.hudi.filegroup.slices import FileGroupId
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import Clock
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import COMPACTIONS, DATA_ACTIONS, Action, Instant, InstantState
from framework.hudi.timeline.requested_plans import compaction_plan_bytes
from framework.hudi.timeline.timeline import Timeline
from framework.hudi.view.facts import (
    CompactionOperation,
    compaction_operations,
    requested_compaction,
)
from framework.plan.services.compaction import (
    CompactionPlan,
    PendingCompaction,
    plan_compaction,
    slices_before,
)
from framework.vocabulary import TableType

__all__ = [
    "Compacted",
    "Scheduled",
    "observe_compaction",
    "observe_pending_compaction",
    "pending_compactions",
    "run_compaction",
    "run_pending_compaction",
    "schedule_compaction",
]

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
    planned = _planned_groups_of(table)
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
        _check_latest(table, plan)
        requested = compaction_plan_bytes(plan.slices, run.facts)
        begin = partial(run.begin, Action.COMPACTION, "COMPACT", requested)
        return rewrite_in_place(run, table, plan.slices, tasks, begin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """A compaction that is planned and not executed: its requested time, and its slices."""

    instant: str
    slices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCompaction:
    """A pending compaction on the timeline.

    Attributes:
        instant: in its furthest state.
        data: the bytes of its requested file.
        facts: the `extraMetadata` of that file.
        operations: what it plans.
        is_foreign: whether another writer has begun to execute it.
    """

    instant: Instant
    data: bytes
    facts: Mapping[str, str]
    operations: tuple[CompactionOperation, ...]
    is_foreign: bool


def observe_pending_compaction(location: str, *, retry: bool = False) -> PendingCompaction | None:
    """Return the oldest pending compaction that can be executed, None if none is pending.

    Reads each plan and lists the partitions of one; changes nothing. A compaction that Lakestrap
    began and did not finish is left to recovery, unless later writers hold on to its plan.

    Args:
        location: the table's.
        retry: whether to execute also one that another writer has begun; it must be dead.

    Raises:
        CommitConflictError: `compaction/inflight`.
        UnsupportedTableError: see `require_table`.
        CorruptFileError: `timeline/corrupt-plan`; or a file that a commit names is missing.
    """
    require_table(open_storage(location))
    table = open_table(location)
    found = list(pending_compactions(table.storage, table.timeline))
    ready = [each for each in found if retry or not each.is_foreign]
    if found and not ready:
        time = found[0].instant.requested_time
        raise CommitConflictError(
            "compaction/inflight",
            f"another writer has begun to execute compaction {time}",
            where=Where(table=table.storage.location, instant=time),
            remedy="Wait for it. If that writer is dead, run `run-pipeline compact --retry`.",
        )
    return _as_plan(table, ready[0], len(found) - 1) if ready else None


def run_pending_compaction(
    plan: PendingCompaction,
    tasks: Tasks,
    clock: Clock | None = None,
    storage: Storage | None = None,
) -> Rewritten:
    """Execute a pending compaction: write a base file of each slice, compare, complete the instant.

    Log files that others have written since it was planned stay, as later changes of the new files.

    Args:
        plan: the compaction; it must not have changed.
        tasks: run the work.
        clock: the time; None means the system's.
        storage: the table's; None opens it.

    Raises:
        LeaseHeldError: another run is at work on the table.
        CommitConflictError: `compaction/stale-plan`; it is no longer as it was observed. Or as of
            `transaction.begin`.
        SourceDriftError, CorruptFileError, UnsupportedTableError: a slice cannot be read, or
            `audit/records-differ`; nothing was published, and the plan is pending as before.
        AfterCommitError: published, but leftovers could not be removed.
    """
    with rewriting(plan.location, storage, clock) as (run, table):
        found = _checked(table, plan)
        if found.is_foreign:
            release_compaction(run.storage, found.instant, run.lease)
        inflight = compaction_plan_bytes(plan.slices, run.facts)
        begin = partial(run.execute, found.instant.requested_time, found.data, inflight)
        return rewrite_in_place(run, table, plan.slices, tasks, begin)


def schedule_compaction(
    plan: CompactionPlan, clock: Clock | None = None, storage: Storage | None = None
) -> Scheduled | None:
    """Place the plan of a compaction on the timeline, and leave its execution to anyone.

    From then on every writer puts the changes of the planned groups into new slices.

    Returns:
        The pending compaction; None if the plan has no slice.

    Raises:
        LeaseHeldError: another run is at work on the table.
        CommitConflictError: `compaction/stale-plan`, or as of `check_clear`.
    """
    if not plan.slices:
        return None
    with rewriting(plan.location, storage, clock) as (run, table):
        _check_latest(table, plan)
        return _schedule(run, plan)


def _schedule(run: ServiceRun, plan: CompactionPlan) -> Scheduled:
    """Make the requested file, which names no run, so that no recovery removes it."""
    write_id = run.lease.owner.write_id
    data = compaction_plan_bytes(plan.slices, {SCHEDULED_KEY: write_id})
    transaction = run.transaction(Action.COMPACTION, "COMPACT", data)
    begin_alone(transaction)
    path = transaction.intent.requested.path
    create_alone(transaction, path, data, lambda: check_clear(transaction))
    transaction.intent.staging.remove(run.storage)
    return Scheduled(instant=transaction.intent.requested_time, slices=len(plan.slices))


def _check_latest(table: Table, plan: CompactionPlan) -> None:
    """Raise unless planned slices are still the latest ones, and under no other compaction.

    Raises:
        CommitConflictError: `compaction/stale-plan`.
    """
    planned = _planned_groups_of(table)
    if any(each.group in planned for each in plan.slices) or not are_latest(table, plan.slices):
        raise _stale(table)


def _checked(table: Table, plan: PendingCompaction) -> FoundCompaction:
    """Return the pending compaction of a plan.

    Raises:
        CommitConflictError: `compaction/stale-plan`; it is no longer as it was observed.
    """
    pending = pending_compactions(table.storage, table.timeline)
    found = next((each for each in pending if each.instant.requested_time == plan.instant), None)
    if found is None or _as_plan(table, found, plan.others) != plan:
        raise _stale(table)
    return found


def _stale(table: Table) -> CommitConflictError:
    return CommitConflictError(
        "compaction/stale-plan",
        "the table has changed since the compaction was planned",
        where=Where(table=table.storage.location),
        remedy="Nothing was changed. Run the command again.",
    )


def _planned_groups_of(table: Table) -> frozenset[FileGroupId]:
    """Return the groups of all pending compactions, which no other plan may contain."""
    pending = pending_compactions(table.storage, table.timeline)
    return frozenset(each.group for found in pending for each in found.operations)


def pending_compactions(storage: Storage, timeline: Timeline) -> Iterator[FoundCompaction]:
    """Yield the pending compactions that recovery leaves, oldest first."""
    running = frozenset(staging_folders(storage))
    for instant in timeline.pending:
        if instant.action is not Action.COMPACTION:
            continue
        time = instant.requested_time
        path = requested_compaction(time).path
        facts = read_commit_head(storage, path).extra
        owner = facts.get(WRITE_ID_KEY)
        inflight = instant.state is InstantState.INFLIGHT
        if owner and (inflight or owner in running) and not _is_in_use(timeline, time):
            continue
        data = read_bytes(storage, path)
        runs = read_commit_head(storage, instant.path).extra.get(WRITE_ID_KEY)
        yield FoundCompaction(
            instant=instant,
            data=data,
            facts=facts,
            operations=compaction_operations(storage, path, data, time),
            is_foreign=inflight and runs is None,
        )


def _is_in_use(timeline: Timeline, time: str) -> bool:
    later = (each for each in timeline.instants if each.action in DATA_ACTIONS)
    return any(each.requested_time > time for each in later)


def _as_plan(table: Table, found: FoundCompaction, others: int) -> PendingCompaction:
    """Return the plan to execute a pending compaction; lists its partitions."""
    time = found.instant.requested_time
    groups = frozenset(each.group for each in found.operations)
    paths = {each.partition_path for each in groups}
    latest = {each.group: each for each in latest_slices(table, LISTED, paths)}
    slices = slices_before(groups, latest, time)
    return PendingCompaction(
        location=table.storage.location,
        instant=time,
        by_lakestrap=bool({SCHEDULED_KEY, WRITE_ID_KEY} & found.facts.keys()),
        is_inflight=found.is_foreign,
        slices=slices,
        skipped=len(groups) - len(slices),
        others=others,
    )
