"""Plans and runs rollbacks and restores of completed instants.

Neither needs Spark: they delete the files that an instant wrote, and earlier slices still exist.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from framework.engine.services.compaction import pending_compactions
from framework.engine.services.service_run import require_table, service_run
from framework.errors import CommitConflictError, PlanError, UnsupportedTableError, Where
from framework.hudi.commit.placement import is_own_log
from framework.hudi.commit.rollback import Undo, undo_instants
from framework.hudi.commit.transaction import finish
from framework.hudi.filegroup.slices import BaseFileName, LogFileName
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join, name_of, parent_of
from framework.hudi.timeline.action_metadata import PlannedRollback
from framework.hudi.timeline.archive import archive_files
from framework.hudi.timeline.clock import Clock, SystemClock, instant_of
from framework.hudi.timeline.commit_body import read_commit_body
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import LATEST, Action, Instant
from framework.hudi.timeline.timeline import Timeline, load_timeline
from framework.plan.services.undo import SeenInstant, UndoPlan, plan_undo, undoable

__all__ = ["observe_undo", "plan_restore", "plan_rollback", "run_undo"]


def plan_rollback(location: str, instant: str | None = None) -> UndoPlan:
    """Return the plan to roll back the newest completed instant of data.

    Args:
        location: the table's.
        instant: the instant that is meant; None means the newest, whichever it is.

    Raises:
        PlanError: `rollback/not-newest`, `rollback/no-such-instant`.
        CommitConflictError, UnsupportedTableError: as of `plan_undo` and `require_table`.
    """
    storage, timeline = _opened(location)
    found = undoable(timeline.instants)
    newest = found[0].requested_time if found else None
    if instant is not None and instant != newest:
        raise _not_newest(storage, instant, newest, found)
    to = found[1].requested_time if len(found) > 1 else None
    return observe_undo(storage, timeline, found[:1], to=to)


def _not_newest(
    storage: Storage, instant: str, newest: str | None, found: Sequence[Instant]
) -> PlanError:
    """Return the error for an instant that is not the newest, or not there."""
    where = Where(table=storage.location, instant=instant)
    if any(each.requested_time == instant for each in found):
        return PlanError(
            "rollback/not-newest",
            f"instant {instant} is not the newest, which is {newest}",
            where=where,
            remedy="Roll back newest first, or `restore --to` the instant that is to remain.",
        )
    return PlanError(
        "rollback/no-such-instant",
        f"there is no completed instant {instant} of data",
        where=where,
        remedy="Look at the instants with `run-pipeline history`.",
    )


def plan_restore(location: str, to: str) -> UndoPlan:
    """Return the plan to go back to a moment: every later instant of data is rolled back.

    Args:
        location: the table's.
        to: an instant, or a time as `read(as_of=…)` takes it; what is not later stays.

    Raises:
        UnsupportedTableError: `restore/before-table`, `restore/archived`; and as of `plan_undo`.
        CommitConflictError: `rollback/nothing-to-undo`.
        PlanError: `read/moment-not-readable`.
    """
    storage, timeline = _opened(location)
    moment = instant_of(to, timeline, require_table(storage).timezone)
    found = undoable(timeline.instants)
    kept = [each.requested_time for each in found if each.requested_time <= moment]
    later = [each for each in found if each.requested_time > moment]
    if not kept:
        raise UnsupportedTableError(
            "restore/before-table",
            f"no instant on the timeline is as old as {to}",
            where=Where(table=storage.location),
            remedy="Choose a later moment; `run-pipeline history` lists the instants.",
        )
    return observe_undo(storage, timeline, later, to=kept[0])


def observe_undo(
    storage: Storage, timeline: Timeline, later: Sequence[Instant], *, to: str | None
) -> UndoPlan:
    """Return the plan to roll back these instants, newest first.

    Reads the commit of each, and lists each partition that they touched once.

    Raises:
        CommitConflictError: `rollback/compaction-pending`, or as of `plan_undo`.
    """
    savepoints = frozenset(
        each.requested_time for each in timeline.completed if each.action is Action.SAVEPOINT
    )
    if to is None:
        _check_not_archived(storage)
    going = frozenset(each.requested_time for each in later)
    _check_not_planned(storage, timeline, going)
    slices = _Slices(storage, going)
    seen = [_seen(storage, slices, each) for each in reversed(later)]
    return plan_undo(storage.location, seen[::-1], savepoints, to=to)


def _check_not_planned(storage: Storage, timeline: Timeline, going: frozenset[str]) -> None:
    """Raise if a pending compaction plans the files of an instant that is to be rolled back.

    Raises:
        CommitConflictError: `rollback/compaction-pending`.
    """
    for each in pending_compactions(storage, timeline):
        time = each.instant.requested_time
        if time > min(going, default=LATEST):
            raise CommitConflictError(
                "rollback/compaction-pending",
                f"compaction {time} is pending and plans the files before it",
                where=Where(table=storage.location, instant=time),
                remedy="Execute it with `run-pipeline compact`, then run again.",
            )


def _check_not_archived(storage: Storage) -> None:
    """Raise where older instants are in the archive, and no active one would remain.

    Files of archived instants count as long as a later instant of data is on the timeline.

    Raises:
        UnsupportedTableError: `rollback/archived`.
    """
    properties = require_table(storage)
    if archive_files(storage, properties.raw):
        raise UnsupportedTableError(
            "rollback/archived",
            "the instants before are in the archive, and no active instant would remain",
            where=Where(table=storage.location),
            remedy="Write to the table first; then this instant is no longer the oldest.",
        )


def run_undo(
    plan: UndoPlan, action: Action, clock: Clock | None = None, storage: Storage | None = None
) -> str:
    """Roll back what the plan says as one rollback or restore; return the action's instant.

    The plan is made again under the lease, and has to be the same. `storage` is the table's, None
    opens it.

    Raises:
        LeaseHeldError: another run is at work on the table.
        CommitConflictError: `rollback/stale-plan`; the table has changed since it was planned.
        AfterCommitError: `rollback/unfinished`; the next run finishes it.
    """
    storage = storage or open_storage(plan.location)
    with service_run(storage, clock or SystemClock()) as run:
        _check_fresh(storage, plan)
        undo = Undo(
            instants=tuple(_planned(each) for each in plan.instants),
            savepoint=plan.savepoint,
            drops=plan.drops,
        )
        requested = undo.plan_bytes(storage.location, run.facts, action)
        transaction = run.begin(action, action.value.upper(), requested)
        undo_instants(transaction, undo)
        finish(transaction)
    return transaction.intent.requested_time


def _check_fresh(storage: Storage, plan: UndoPlan) -> None:
    """Raise unless what is to be rolled back is still what the plan shows."""
    timeline = load_timeline(storage)
    found = undoable(timeline.instants)[: len(plan.instants)]
    now = observe_undo(storage, timeline, found, to="" if not plan.drops else None)
    if replace(now, savepoint=plan.savepoint) != plan:
        raise CommitConflictError(
            "rollback/stale-plan",
            "the table has changed since the rollback was planned",
            where=Where(table=storage.location),
            remedy="Nothing was changed. Run the command again and look at its plan.",
        )


def _planned(seen: SeenInstant) -> PlannedRollback:
    return PlannedRollback(
        instant=seen.instant.requested_time,
        action=seen.instant.action.value,
        files=seen.files,
        commands=seen.commands,
    )


def _opened(location: str) -> tuple[Storage, Timeline]:
    storage = open_storage(location)
    require_table(storage)
    return storage, load_timeline(storage)


_ROLLBACK_WRITER: Final = "1-0-1"
"""That of log files of Apache Hudi's rollbacks."""


class _Slices:
    """Slices that remain of the groups that some instants changed, asked for oldest first.

    A slice that one of these instants wrote goes, so it does not matter whether it was cleaned: the
    first of them that changed the group must find the slice before it.

    Attributes:
        going: the instants.
    """

    def __init__(self, storage: Storage, going: frozenset[str]) -> None:
        self.going = going
        self._storage = storage
        self._groups: dict[str, dict[str, set[str]]] = {}
        self._written: set[tuple[str, str]] = set()
        self._versions: dict[tuple[str, str, str], int] = defaultdict(int)

    def write(self, partition: str, file_id: str, previous: str | None) -> bool:
        """Return whether a base file's slice before it is there or goes too, if there was one."""
        self._written.add((partition, file_id))
        return previous is None or previous in self.going | self._instants(partition, file_id)

    def remain(self, partition: str, file_id: str) -> bool:
        """Return whether a replaced group is there without these instants, or began with them."""
        is_written = (partition, file_id) in self._written
        return is_written or bool(self._instants(partition, file_id) - self.going)

    def _instants(self, partition: str, file_id: str) -> set[str]:
        """Return the base instants that a file group has files of; lists each partition once."""
        if partition not in self._groups:
            found: dict[str, set[str]] = defaultdict(set)
            for entry in self._storage.list(partition):
                if base := BaseFileName.parse(entry.name):
                    found[base.file_id].add(base.instant)
                elif log := LogFileName.parse(entry.name):
                    found[log.file_id].add(log.base_instant)
                    key = (partition, log.file_id, log.base_instant)
                    self._versions[key] = max(self._versions[key], log.version)
            self._groups[partition] = found
        return self._groups[partition].get(file_id, set())

    def next_log(self, path: str) -> str:
        """Return the path of a next log file of the slice of a log file; each call another one."""
        partition, log = parent_of(path), LogFileName.parse(name_of(path))
        if log is None:
            raise ValueError(f"no log file: {path}")
        self._instants(partition, log.file_id)
        key = (partition, log.file_id, log.base_instant)
        self._versions[key] += 1
        name = replace(log, version=self._versions[key], write_token=_ROLLBACK_WRITER, is_cdc=False)
        return join(partition, str(name))


def _seen(storage: Storage, slices: _Slices, instant: Instant) -> SeenInstant:
    """Return an instant with what rolling it back takes."""
    body = read_commit_body(storage, instant.path)
    files: dict[str, list[str]] = defaultdict(list)
    missing: list[str] = []
    commands: dict[str, str] = {}
    counts = [0, 0, 0]
    for stat in body.files():
        counts = [counts[0] + stat.inserts, counts[1] + stat.updates, counts[2] + stat.deletes]
        if stat.log is not None:
            kept, whole = _log(storage, stat.path, instant.requested_time)
            if kept:
                commands[stat.path] = slices.next_log(stat.path)
            if not whole:
                continue
        elif not slices.write(stat.partition_path, stat.file_id, stat.previous):
            missing.append(f"{stat.partition_path}/{stat.file_id}".lstrip("/"))
        files[stat.partition_path].append(stat.path)
    for partition, ids in body.replaced.items():
        missing += [
            f"{partition}/{each}".lstrip("/")
            for each in sorted(ids)
            if not slices.remain(partition, each)
        ]
    return SeenInstant(
        instant=instant,
        operation=read_commit_head(storage, instant.path).operation,
        files={partition: tuple(sorted(paths)) for partition, paths in sorted(files.items())},
        missing=tuple(missing),
        commands=commands,
        inserted=counts[0],
        updated=counts[1],
        deleted=counts[2],
    )


def _log(storage: Storage, path: str, instant: str) -> tuple[bool, bool]:
    """Return whether a log file has blocks of others as well, and whether it is the instant's own.

    Both are False where it is missing.
    """
    try:
        return False, is_own_log(storage, path, instant)
    except UnsupportedTableError as error:
        if error.condition != "commit/mixed-log":
            raise
        return True, False
