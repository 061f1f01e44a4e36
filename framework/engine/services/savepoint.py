"""Savepoints: instants whose files are not cleaned, so that the table can be restored to them."""

from __future__ import annotations

import getpass
import json
from collections import defaultdict
from dataclasses import dataclass

from framework.engine.reading.table import open_table
from framework.engine.reading.views import LISTED
from framework.engine.services.service_run import ServiceRun, require_table, service_run
from framework.errors import CommitConflictError, PlanError, Where
from framework.hudi.commit.alone import begin_alone, create_alone, require_same
from framework.hudi.commit.fence import bury, require_quiet
from framework.hudi.commit.intent import Transaction, least_intent
from framework.hudi.commit.lease import require
from framework.hudi.commit.placement import place_bytes
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage, uploads_of
from framework.hudi.table.layout import crc_sidecar, name_of
from framework.hudi.timeline.action_metadata import savepoint_bytes
from framework.hudi.timeline.clock import Clock, SystemClock
from framework.hudi.timeline.commit_body import read_commit_body
from framework.hudi.timeline.instant import DATA_ACTIONS, Action, Instant, InstantState
from framework.hudi.timeline.timeline import Timeline, load_timeline

__all__ = ["Savepoint", "create_savepoint", "delete_savepoint", "savepoints"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Savepoint:
    """A savepoint: the instant that it holds, and how many files."""

    instant: str
    files: int


def savepoints(timeline: Timeline) -> tuple[str, ...]:
    """Return the instants under a savepoint, oldest first."""
    held = (each for each in timeline.completed if each.action is Action.SAVEPOINT)
    return tuple(each.requested_time for each in held)


def create_savepoint(
    location: str, instant: str | None = None, *, comment: str = "", clock: Clock | None = None
) -> Savepoint:
    """Protect the state of the table at an instant.

    Costs a listing of each partition, and a read of each later deltacommit.

    Args:
        location: the table's.
        instant: a completed instant of data; None means the newest.
        comment: kept in the savepoint.
        clock: the time; None means the system's.

    Raises:
        PlanError: `savepoint/no-such-instant`.
        CommitConflictError: `savepoint/exists`.
        UnsupportedTableError: `read/cleaned`, `read/archived`: the state is not whole any more.
        LeaseHeldError: another run is at work on the table.
    """
    storage, clock = open_storage(location), clock or SystemClock()
    require_table(storage)
    with service_run(storage, clock) as run:
        timeline = load_timeline(storage)
        time = _meant(timeline, instant, storage.location)
        later = _written_after(storage, timeline, time)
        names: dict[str, list[str]] = defaultdict(list)
        table = open_table(storage.location, time)
        with LISTED.opened(table) as view:
            for partition in view.partitions():
                for each in view.latest_slices(partition):
                    paths = [each.base.path] if each.base else []
                    paths += [log.path for log in each.logs]
                    names[partition] += [name_of(path) for path in paths if path not in later]
        data = savepoint_bytes(names, by=getpass.getuser(), at_ms=clock.now_ms(), comments=comment)
        _place(run, time, data, timeline)
    return Savepoint(instant=time, files=sum(map(len, names.values())))


def delete_savepoint(location: str, instant: str, *, clock: Clock | None = None) -> None:
    """Release an instant; its files may be cleaned from now on.

    Raises:
        PlanError: `savepoint/none`.
        LeaseHeldError: another run is at work on the table.
    """
    storage = open_storage(location)
    require_table(storage)
    with service_run(storage, clock or SystemClock()) as run:
        if instant not in savepoints(load_timeline(storage)):
            raise PlanError(
                "savepoint/none",
                f"there is no savepoint of {instant}",
                where=Where(table=storage.location, instant=instant),
                remedy="`run-pipeline savepoint ls` lists them.",
            )
        _delete(run, instant)


def _written_after(storage: Storage, timeline: Timeline, time: str) -> frozenset[str]:
    """Return the log files of later commits; their names have the instant of their slice."""
    bodies = (
        read_commit_body(storage, each.path)
        for each in timeline.completed
        if each.action is Action.DELTACOMMIT and each.requested_time > time
    )
    return frozenset(stat.path for body in bodies for stat in body.files() if stat.log)


def _meant(timeline: Timeline, instant: str | None, location: str) -> str:
    """Return the instant that is to be held."""
    found = [each.requested_time for each in timeline.completed if each.action in DATA_ACTIONS]
    if not found or (instant is not None and instant not in found):
        raise PlanError(
            "savepoint/no-such-instant",
            f"there is no completed instant {instant or 'of data'} on the timeline",
            where=Where(table=location, instant=instant),
            remedy="Look at the instants with `run-pipeline history`.",
        )
    time = instant or found[-1]
    if time in savepoints(timeline):
        raise CommitConflictError(
            "savepoint/exists",
            f"there is a savepoint of {time} already",
            where=Where(table=location, instant=time),
            remedy="Nothing is left to do.",
        )
    return time


def _place(run: ServiceRun, time: str, data: bytes, timeline: Timeline) -> None:
    """Make the savepoint: inflight with the run's id, then completed.

    Raises:
        CommitConflictError: `commit/not-quiet-yet`: a savepoint of this instant was deleted a
            moment ago; `commit/timeline-changed`: files were listed at another state.
    """
    transaction = _transaction(run, time)
    require_quiet(transaction)
    staging = transaction.intent.staging
    begin_alone(transaction)
    inflight = json.dumps({"extraMetadata": dict(run.facts)}).encode()
    path = _savepoint(time, InstantState.INFLIGHT).path
    place_bytes(run.storage, staging, path, inflight, has_begun=False)
    path = _savepoint(time, InstantState.COMPLETED).path
    create_alone(transaction, path, data, lambda: require_same(run.storage, timeline))
    staging.remove(run.storage)


def _transaction(run: ServiceRun, time: str) -> Transaction:
    """Return the transaction of a savepoint, whose instant is that of the data that it holds."""
    savepoint = _savepoint(time, InstantState.INFLIGHT)
    intent = least_intent(savepoint, run.lease.owner.write_id)
    return Transaction(storage=run.storage, intent=intent, lease=run.lease, clock=run.clock)


def _delete(run: ServiceRun, time: str) -> None:
    """Delete a savepoint; on a store without moves a next one waits for late deletions."""
    storage = run.storage
    intent = _transaction(run, time).intent
    paths = [
        _savepoint(time, state).path for state in (InstantState.COMPLETED, InstantState.INFLIGHT)
    ]
    if uploads_of(storage) is None:
        for path in paths:
            storage.delete(path, crc_sidecar(path))
        return
    for path in paths:
        bury(storage, intent)
        require(storage, run.lease)
        storage.delete(path)
    bury(storage, intent)


def _savepoint(time: str, state: InstantState) -> Instant:
    return Instant(requested_time=time, action=Action.SAVEPOINT, state=state)
