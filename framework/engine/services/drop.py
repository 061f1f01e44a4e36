"""Drops: a table is removed for good, its source and what is not the table's never."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from framework.engine.inspect.adoption import sources_of
from framework.engine.places import canonical
from framework.engine.quarantine.datasets import remove
from framework.engine.quarantine.quarantined_batch import QuarantinedBatch
from framework.engine.services.savepoint import savepoints
from framework.engine.services.service_run import ServiceRun, service_run
from framework.errors import (
    AfterCommitError,
    CommitConflictError,
    PlanError,
    UnsupportedTableError,
    Where,
)
from framework.hudi.commit.drop import (
    DROPPED,
    begin_drop,
    drop_intent,
    finish_drop,
    is_half_dropped,
    is_in_both_places,
    own_folders,
)
from framework.hudi.commit.intent import Transaction
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage, uploads_of
from framework.hudi.table.layout import HOODIE, LAKESTRAP, TABLE_VERSION, TEMP
from framework.hudi.table.properties import TableProperties, read_properties
from framework.hudi.timeline.clock import Clock, SystemClock
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.drop import DropPlan, check_drop, check_source

__all__ = ["Dropping", "observe_drop", "run_drop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropping:
    """What is dropped with a table.

    Attributes:
        savepoints: whether savepoints may go.
        quarantined: data sets of quarantined rows that go.
    """

    savepoints: bool = False
    quarantined: Sequence[QuarantinedBatch] = ()


def observe_drop(location: str, storage: Storage | None = None) -> DropPlan:
    """Return the plan to drop a table; lists each of its folders once and changes nothing.

    Symbolic links below the table's folder are not followed; they stay.

    Raises:
        PlanError: `table/missing`, `drop/source-inside`.
        UnsupportedTableError: `service/table-version`.
        CommitConflictError: `table/foreign-pending`, `drop/made-again`.
        CorruptFileError: the properties are not readable.
    """
    storage = storage or open_storage(canonical(location))
    is_half = is_half_dropped(storage) or _is_cleared(storage)
    properties = None if is_half else _properties(storage)
    timeline = load_timeline(storage)
    sources = tuple(sorted(sources_of(storage, properties, timeline)))
    if not is_half:
        check_source(canonical(storage.location), sources)
        _check_alone(storage)
    own = list(own_folders(storage.location, timeline))
    entries = [entry for each in own for entry in (*each.data, *each.metadata)]
    return DropPlan(
        location=storage.location,
        name=_name(properties) if properties else "",
        newest=timeline.last_requested_time or "",
        instants=len(timeline.completed),
        partitions=sum(bool(each.data or each.metadata) for each in own),
        files=len(entries),
        bytes=sum(each.size for each in entries),
        unknown=tuple(path for each in own for path in each.unknown),
        sources=sources,
        savepoints=savepoints(timeline),
        is_half=is_half,
    )


def _is_cleared(storage: Storage) -> bool:
    """Return whether all that is left in `.hoodie` is the folder of Lakestrap's runs, if that.

    So it is where a drop died at its very end, or a run before it made its table.
    """
    if storage.stat(HOODIE) is None:
        return False
    left = {LAKESTRAP} if uploads_of(storage) is None else {LAKESTRAP, TEMP}
    return all(each.path in left for each in storage.list(HOODIE))


def run_drop(
    plan: DropPlan,
    dropping: Dropping,
    clock: Clock | None = None,
    storage: Storage | None = None,
) -> tuple[str, ...]:
    """Drop a table; return the paths in its folder that are not its own, which stay.

    The plan is made again under the lease, and must show the same table. May be killed at any
    step: then the table is whole, or gone for every reader, and this or any other run finishes.

    Args:
        plan: as it was shown.
        dropping: what goes with the table.
        clock: the time; None means the system's.
        storage: the table's; None opens it.

    Raises:
        LeaseHeldError: another run is at work on the table; nothing was changed.
        CommitConflictError: `drop/stale-plan`; and as of `observe_drop`.
        UnsupportedTableError: `drop/savepointed`.
        AfterCommitError: `drop/unfinished`; the table is gone, but some of its files are not.
    """
    storage = storage or open_storage(plan.location)
    check_drop(plan, savepoints=dropping.savepoints)
    with service_run(storage, clock or SystemClock()) as run:
        unknown = plan.unknown if plan.is_half else _drop(run, plan, dropping)
    storage.delete("", only_empty=True)
    return unknown


def _drop(run: ServiceRun, plan: DropPlan, dropping: Dropping) -> tuple[str, ...]:
    """Drop a whole table under its lease."""
    storage = run.storage
    timeline = load_timeline(storage)
    now = observe_drop(plan.location, storage)
    if replace(now, unknown=plan.unknown) != plan:
        raise CommitConflictError(
            "drop/stale-plan",
            "the table has changed since the drop was planned",
            where=Where(table=plan.location),
            remedy="Nothing was changed. Run the command again and look at its plan.",
        )
    for each in dropping.quarantined:
        remove(each, plan.location)
    intent = drop_intent(run.lease.owner.write_id)
    transaction = Transaction(storage=storage, intent=intent, lease=run.lease, clock=run.clock)
    begin_drop(transaction, timeline)
    try:
        return finish_drop(storage, run.lease)
    except Exception as error:
        raise AfterCommitError(
            "drop/unfinished",
            "the table is gone for readers, but not all of its files are deleted",
            where=Where(table=plan.location),
            remedy="Run `run-pipeline drop` again; it deletes the rest.",
        ) from error


def _properties(storage: Storage) -> TableProperties:
    """Return the properties of a table that may be dropped.

    Raises:
        PlanError: `table/missing`.
        UnsupportedTableError: `service/table-version`.
        CommitConflictError: `drop/made-again`.
    """
    found = read_properties(storage)
    where = Where(table=storage.location)
    if found is None:
        raise PlanError(
            "table/missing", "there is no table", where=where, remedy="Check the location."
        )
    if storage.stat(DROPPED) is not None and not is_in_both_places(storage):
        raise CommitConflictError(
            "drop/made-again",
            "another writer has made a table while the one before was being dropped",
            where=where,
            remedy="Files of the old table may show rows in the new one: run `run-pipeline fsck`, "
            f"then delete {DROPPED}.",
        )
    if found.version != TABLE_VERSION:
        raise UnsupportedTableError(
            "service/table-version",
            f"the table is at version {found.version}; this release drops {TABLE_VERSION}",
            where=where,
            remedy="Drop it with Apache Hudi, which upgraded it.",
        )
    return found


def _check_alone(storage: Storage) -> None:
    """Raise if another writer has a pending instant.

    Raises:
        CommitConflictError: `table/foreign-pending`.
    """
    pending = find_pending(storage)
    if pending is not None and pending.kind is PendingKind.FOREIGN and pending.instant:
        raise CommitConflictError(
            "table/foreign-pending",
            f"instant {pending.instant.requested_time} of another writer is pending",
            where=Where(table=storage.location, instant=pending.instant.requested_time),
            remedy="Wait for that writer, or let Apache Hudi roll back its failed write.",
        )


def _name(properties: TableProperties) -> str:
    return ".".join(filter(None, (properties.database, properties.name)))
