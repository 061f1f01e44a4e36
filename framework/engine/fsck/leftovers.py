"""What unfinished writes left below `.hoodie`: pending instants, dead runs, leases, markers."""

from __future__ import annotations

from collections.abc import Iterator

from framework.engine.fsck.findings import Check, Repair, Severity, TableFinding
from framework.engine.fsck.listing import OpenedTable, sidecars
from framework.hudi.commit.fence import awaited_instants
from framework.hudi.commit.intent import WRITE_ID_KEY
from framework.hudi.commit.lease import current_lease
from framework.hudi.commit.staging import staging_folders
from framework.hudi.commit.state_files import STATE
from framework.hudi.storage.port import Storage
from framework.hudi.table import layout
from framework.hudi.timeline.clock import Clock
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import Action, Instant, InstantState

__all__ = ["check_leftovers", "hoodie_sidecars", "is_plan", "orphan_states"]

_STATE_PARTS = 3


def check_leftovers(table: OpenedTable, clock: Clock) -> Iterator[TableFinding]:
    """Yield what unfinished writes left; of a run at work, nothing.

    Costs a listing of each folder that may hold something, and the head of each pending instant.
    """
    storage = table.storage
    yield from hoodie_sidecars(storage)
    yield from _pending(table)
    yield from orphan_states(table)
    if table.is_live:
        return
    yield from _dead_lease(table, clock)
    yield from _staging(table)
    yield from _markers(table)


def hoodie_sidecars(storage: Storage) -> Iterator[TableFinding]:
    """Yield Java's checksums without a file in `.hoodie`."""
    yield from sidecars(tuple(storage.list(layout.HOODIE)), "")


def _pending(table: OpenedTable) -> Iterator[TableFinding]:
    """Yield other writers' pending instants, and those of dead runs; planned work is none."""
    for instant in table.timeline.pending:
        extra = read_commit_head(table.storage, instant.path).extra
        name = f"{instant.action} {instant.requested_time}"
        if is_plan(instant) and WRITE_ID_KEY not in extra:
            continue
        if WRITE_ID_KEY not in extra:
            yield TableFinding(
                check=Check.TIMELINE,
                severity=Severity.WARNING,
                condition="table/foreign-pending",
                message=f"{name} of another writer is {instant.state}",
                remedy="Wait for that writer, or let Apache Hudi roll back its failed write.",
                file=instant.path,
                instant=instant.requested_time,
            )
        elif not table.is_live:
            yield TableFinding(
                check=Check.LEFTOVERS,
                severity=Severity.WARNING,
                condition="fsck/dead-run",
                message=f"{name} of an interrupted Lakestrap run is {instant.state}",
                remedy="The next run resumes it or rolls it back; --repair staging rolls it back.",
                file=instant.path,
                instant=instant.requested_time,
                repair=Repair.STAGING,
            )


def is_plan(instant: Instant) -> bool:
    """Return whether a pending instant is a compaction that no writer has begun: it has no files.

    Unless a dead run of Lakestrap requested it, it is work for `compact`, and no leftover.
    """
    return instant.action is Action.COMPACTION and instant.state is InstantState.REQUESTED


def _dead_lease(table: OpenedTable, clock: Clock) -> Iterator[TableFinding]:
    lease = current_lease(table.storage)
    if lease is not None and lease.is_over(clock):
        yield TableFinding(
            check=Check.LEFTOVERS,
            severity=Severity.WARNING,
            condition="fsck/dead-lease",
            message=f"process {lease.owner.pid} on {lease.owner.host} died with the lease",
            remedy="The next run takes it over; --repair leases releases it.",
            file=lease.path,
            repair=Repair.LEASES,
        )


def _staging(table: OpenedTable) -> Iterator[TableFinding]:
    """Yield the folders of dead runs."""
    folders = staging_folders(table.storage).values()
    for path in sorted(path for mine in folders for path in mine):
        yield TableFinding(
            check=Check.LEFTOVERS,
            severity=Severity.WARNING,
            condition="fsck/dead-run",
            message="an interrupted Lakestrap run left its folder",
            remedy="The next run resumes it or rolls it back; --repair staging rolls it back.",
            file=path,
            repair=Repair.STAGING,
        )


def _markers(table: OpenedTable) -> Iterator[TableFinding]:
    """Yield marker folders of instants that are completed, or not on the timeline.

    Those that a later run deletes by itself, once no request can arrive any more, are none.
    """
    awaited = awaited_instants(table.storage)
    for entry in table.storage.list(layout.TEMP):
        found = table.timeline.find(entry.name)
        if entry.name in awaited or any(not each.is_completed for each in found):
            continue
        what = "is completed" if found else "is not on the timeline"
        yield TableFinding(
            check=Check.LEFTOVERS,
            severity=Severity.WARNING,
            condition="fsck/markers-left",
            message=f"markers of an instant that {what}",
            remedy="Delete them with --repair markers.",
            file=entry.path,
            instant=entry.name,
            repair=Repair.MARKERS,
        )


def orphan_states(table: OpenedTable) -> Iterator[TableFinding]:
    """Yield state files of instants that are not on the timeline and not archived."""
    for entry in table.storage.list(STATE):
        parts = entry.name.split("-", _STATE_PARTS - 1)
        instant = parts[0]
        if len(parts) < _STATE_PARTS or table.timeline.find(instant):
            continue
        if not instant.isdecimal() or table.timeline.is_completed(instant):
            continue
        yield TableFinding(
            check=Check.ORPHANS,
            severity=Severity.WARNING,
            condition="fsck/orphan-state",
            message="a state file of a run that is not on the timeline",
            remedy="Delete it with --repair orphans.",
            file=entry.path,
            instant=instant,
            repair=Repair.ORPHANS if instant < table.newest else None,
        )
