"""Clean: delete files that no retained commit needs, as one instant in Apache Hudi's own form.

The last look before it deletes is at the names on disk, not at what commits say. For each planned
file it finds the slice that comes next in the same group. The planned slice was the newest one
until then, so no state that stays readable may be in between.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from framework.engine.services.clean_facts import data_commits, see_table
from framework.engine.services.service_run import require_table, service_run
from framework.errors import CommitConflictError, CorruptFileError, Where
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.commit.clean import delete_cleaned
from framework.hudi.commit.recovery import roll_back_own
from framework.hudi.commit.transaction import finish
from framework.hudi.filegroup.slices import BaseFileName, instant_of, slice_of
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, name_of, parent_of
from framework.hudi.timeline.action_metadata import read_savepoint
from framework.hudi.timeline.clean_metadata import PlannedClean, clean_plan_bytes
from framework.hudi.timeline.clock import Clock, SystemClock, instant_at
from framework.hudi.timeline.instant import DATA_ACTIONS, Action
from framework.hudi.timeline.timeline import Timeline, load_timeline
from framework.hudi.view.facts import read_facts
from framework.plan.services.clean import (
    CleanPlan,
    CleanPolicy,
    KnownFile,
    check_needed,
    earliest_retained,
    plan_clean,
)

__all__ = ["Cleaned", "audit_names", "observe_clean", "run_clean"]

_MS_PER_HOUR: Final = 3_600_000
_MOST_AHEAD: Final = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """A completed clean: its instant, files deleted, and their bytes as far as recorded."""

    instant: str
    files: int
    bytes: int


def observe_clean(
    location: str,
    policy: CleanPolicy,
    *,
    clock: Clock | None = None,
    storage: Storage | None = None,
    earliest: str | None = None,
) -> CleanPlan:
    """Return the plan to clean a table; changes nothing.

    Lists no partition, unless the commit that names an old file is archived: see `CleanPlan`.

    Args:
        location: the table's.
        policy: which slices stay.
        clock: the time; None means the system's.
        storage: the table's; None opens it.
        earliest: the earliest retained commit; None for that of the policy.

    Raises:
        UnsupportedTableError: see `require_table`.
        CorruptFileError: a commit, clean or savepoint cannot be read; `audit/file-needed`.
    """
    storage = storage or open_storage(location)
    properties = require_table(storage)
    timeline = load_timeline(storage)
    commits = data_commits(timeline)
    if earliest is None:
        # instants in their writer's zone may be up to 14 hours ahead of UTC
        hours = (policy.keep_hours or 0) + (0 if properties.timezone == "UTC" else _MOST_AHEAD)
        since = instant_at((clock or SystemClock()).now_ms() - hours * _MS_PER_HOUR)
        times = [each.requested_time for each in commits]
        earliest = "" if policy.keep_versions else earliest_retained(times, policy, since)
    if not earliest and not policy.keep_versions:
        return CleanPlan(location=storage.location, policy=policy)
    seen = see_table(storage, timeline, properties.raw, policy, earliest)
    files = plan_clean(seen.facts, policy, earliest)
    check_needed(seen.facts, files, earliest)
    return CleanPlan(
        location=storage.location,
        policy=policy,
        earliest=earliest,
        action=next((e.action.value for e in commits if e.requested_time == earliest), ""),
        last_completed=commits[-1].requested_time if commits else "",
        files=files,
        bytes=sum(seen.sizes.get(each.path, 0) for each in files),
        listed=seen.listed,
        sources=_sources(storage, files),
    )


def run_clean(
    plan: CleanPlan, clock: Clock | None = None, storage: Storage | None = None
) -> Cleaned | None:
    """Delete the files of a plan; return the completed clean, None if the plan has no file.

    The plan is made again under the lease, and has to be the same. Then each partition with a file
    to delete is listed once, and the names there are compared with the states that stay.

    Raises:
        LeaseHeldError: another run is at work on the table.
        CommitConflictError: `clean/stale-plan`; or another writer has a pending instant.
        CorruptFileError: `audit/file-needed`; nothing was deleted.
        AfterCommitError: `clean/unfinished`; the next run finishes it.
    """
    if not plan.files:
        return None
    storage, clock = storage or open_storage(plan.location), clock or SystemClock()
    with service_run(storage, clock) as run:
        now = observe_clean(plan.location, plan.policy, storage=storage, earliest=plan.earliest)
        if now.files != plan.files:
            raise _stale(storage)
        audit_names(storage, load_timeline(storage), plan)
        planned = PlannedClean(
            policy=plan.policy.name,
            earliest=plan.earliest,
            action=plan.action,
            last_completed=plan.last_completed,
            files=plan.by_partition,
        )
        requested = clean_plan_bytes(storage.location, planned, run.facts)
        transaction = run.begin(Action.CLEAN, "CLEAN", requested)
        try:
            delete_cleaned(transaction, planned)
        except CommitConflictError:
            roll_back_own(storage, run.lease)
            raise
        finish(transaction)
    return Cleaned(
        instant=transaction.intent.requested_time, files=len(plan.files), bytes=plan.bytes
    )


def _stale(storage: Storage) -> CommitConflictError:
    return CommitConflictError(
        "clean/stale-plan",
        "the table has changed since the clean was planned",
        where=Where(table=storage.location),
        remedy="Nothing was changed. Run the command again.",
    )


def _sources(storage: Storage, files: tuple[KnownFile, ...]) -> tuple[str, ...]:
    """Return the sources of the skeletons among the files, sorted."""
    skeletons = [
        each
        for each in files
        if each.instant == BOOTSTRAP_INSTANT and BaseFileName.parse(name_of(each.path))
    ]
    if not skeletons:
        return ()
    with BootstrapIndex.open(storage) or nullcontext() as index:
        found = [index.mapping(*each.group) for each in skeletons] if index else []
    return tuple(sorted(each.uri for each in found if each))


def audit_names(storage: Storage, timeline: Timeline, plan: CleanPlan) -> None:
    """Raise if a planned file is needed; lists each partition that has one, and deletes nothing.

    Needed are the states of the earliest retained commit and of all later ones, the state just
    before it, and those under a savepoint.

    Raises:
        CorruptFileError: `audit/file-needed`.
    """
    states, held = _states(timeline, plan), _held_names(storage, timeline)
    replaced = read_facts(storage, timeline).replaced
    for partition, paths in plan.by_partition.items():
        names = (each.name for each in storage.list(partition) if not each.is_folder)
        instants, gone = _instants(names, timeline), replaced.get(partition, {})
        for path in paths:
            file_id, instant = slice_of(name_of(path)) or ("", "")
            end = _end(instants.get(file_id, ()), instant, gone.get(file_id))
            place = bisect_left(states, instant)
            is_needed = place < len(states) and (end is None or states[place] < end)
            is_held = name_of(path) in held.get(partition, ())
            if is_needed or is_held or not _may_go(path, partition, timeline):
                raise _needed(storage, path, partition)


def _states(timeline: Timeline, plan: CleanPlan) -> list[str]:
    """Return the instants whose states stay readable, sorted.

    The instant before the earliest one may be archived, so the greatest text that is smaller than
    the earliest one stands for it.
    """
    first = plan.earliest or plan.last_completed
    done = (each.requested_time for each in timeline.completed if each.action in DATA_ACTIONS)
    points = (each.requested_time for each in timeline.completed if each.action is Action.SAVEPOINT)
    before = {f"{first[:-1]}{chr(ord(first[-1]) - 1)}~"} if plan.earliest else set()
    return sorted({*(each for each in done if each >= first), *before, *points})


def _held_names(storage: Storage, timeline: Timeline) -> Mapping[str, frozenset[str]]:
    """Return the names of files under a savepoint by partition path."""
    found: dict[str, frozenset[str]] = defaultdict(frozenset)
    for each in timeline.completed:
        if each.action is Action.SAVEPOINT:
            for partition, names in read_savepoint(storage, each.path).items():
                found[partition] |= names
    return found


def _instants(names: Iterable[str], timeline: Timeline) -> Mapping[str, Sequence[str]]:
    """Return the completed base instants of each file id, sorted."""
    found: dict[str, set[str]] = defaultdict(set)
    for file_id, instant in filter(None, map(slice_of, names)):
        if timeline.is_completed(instant):
            found[file_id].add(instant)
    return {file_id: sorted(times) for file_id, times in found.items()}


def _end(instants: Sequence[str], instant: str, replaced: str | None) -> str | None:
    """Return the instant from which on a slice is not its group's newest; None if it still is."""
    following = instants[bisect_right(instants, instant) :][:1]
    return min([*following, *([] if replaced is None else [replaced])], default=None)


def _may_go(path: str, partition: str, timeline: Timeline) -> bool:
    """Return whether a path is a data file of its partition, of a completed instant."""
    instant = instant_of(name_of(path))
    return instant is not None and parent_of(path) == partition and timeline.is_completed(instant)


def _needed(storage: Storage, path: str, partition: str) -> CorruptFileError:
    return CorruptFileError(
        "audit/file-needed",
        f"a clean would delete {path}, which a state that stays readable needs",
        where=Where(file=f"{storage.location}/{path}", partition=partition or None),
        remedy="Nothing was deleted. Report it: this is a bug in Lakestrap.",
    )
