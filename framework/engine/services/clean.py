"""Clean: delete files that no retained commit needs, as one instant in Apache Hudi's own form."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from framework.engine.services.clean_audit import audit_names
from framework.engine.services.clean_facts import data_commits, see_table
from framework.engine.services.service_run import require_table, service_run
from framework.errors import CommitConflictError, Where
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.commit.clean import delete_cleaned
from framework.hudi.commit.recovery import roll_back_own
from framework.hudi.commit.transaction import finish
from framework.hudi.filegroup.names import BaseFileName
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, name_of
from framework.hudi.timeline.clean_metadata import PlannedClean, clean_plan_bytes
from framework.hudi.timeline.clock import Clock, SystemClock, instant_at
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.clean import (
    CleanPlan,
    CleanPolicy,
    KnownFile,
    check_needed,
    earliest_retained,
    plan_clean,
)

__all__ = ["Cleaned", "observe_clean", "run_clean"]

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
