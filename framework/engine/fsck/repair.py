"""Repairs of what a check found, under the table's lease; each may be killed and run again.

Only what no reader sees and no instant names is deleted. Rows that readers count are never changed.

A stale metadata table is deleted as Apache Hudi deletes it when it is disabled: all of it is
derived from the table, and Apache Hudi makes it again. One that knows every completed instant is
left to Apache Hudi, since a writer may rely on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from framework.engine.fsck.description import state_segments
from framework.engine.fsck.findings import Repair, TableFinding
from framework.engine.fsck.leftovers import hoodie_sidecars, is_plan, orphan_states
from framework.engine.fsck.listing import Listed, check_listing
from framework.engine.fsck.table_check import opened, table_properties
from framework.engine.fsck.uploads import abort_unfinished
from framework.engine.reading.table_memory import read_memory
from framework.engine.services.service_run import ServiceRun, require_moves, service_run
from framework.errors import CommitConflictError, UnsupportedTableError, Where
from framework.hudi.commit.fence import awaited_instants, sweep_dead
from framework.hudi.commit.fenced import WrappedStorage
from framework.hudi.commit.lease import require
from framework.hudi.commit.markers import parse_marker, read_markers
from framework.hudi.commit.placement import log_instants
from framework.hudi.commit.properties_update import replace_properties
from framework.hudi.commit.staging import DEAD, Staging
from framework.hudi.commit.state_files import STATE, find_state
from framework.hudi.filegroup.slices import LogFileName
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table import layout
from framework.hudi.table.layout import (
    HOODIE,
    METADATA_TABLE,
    PROPERTIES,
    PROPERTIES_BACKUP,
    crc_sidecar,
    join,
)
from framework.hudi.table.properties import read_properties_file
from framework.hudi.timeline.clock import Clock, SystemClock
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.timeline.timeline import Timeline, load_timeline, timeline_of

__all__ = ["Outcome", "repair_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a repair did with one file.

    Attributes:
        repair: the repair.
        file: path relative to the table.
        done: `deleted`, `rewritten` or `kept`.
        reason: why it was kept; "" otherwise.
    """

    repair: Repair
    file: str
    done: str
    reason: str = ""


def repair_table(
    location: str,
    repairs: Collection[Repair],
    clock: Clock | None = None,
    storage: Storage | None = None,
) -> tuple[Outcome, ...]:
    """Do some repairs on a table and return what each did, file by file.

    Dead runs are always finished or rolled back first, since that is what taking the lease means.

    Args:
        location: the table's.
        repairs: which.
        clock: the time; None means the system's.
        storage: the table's; None opens it.

    Raises:
        PlanError: `table/missing`.
        LeaseHeldError: a run is at work on the table; nothing was changed.
        CommitConflictError: `table/foreign-pending`; another writer is at work, or has died.
        UnsupportedTableError: `fsck/metadata-table-in-use`.
        CorruptFileError: a commit or the archive is damaged, so that claims are unknown.
    """
    noted = NotedStorage(storage or open_storage(location))
    clock = clock or SystemClock()
    table_properties(noted)
    before = _runs(noted)
    outcomes: list[Outcome] = []
    with service_run(noted, clock) as run:
        _check_alone(noted)
        recovered = list(_deleted(Repair.STAGING, noted, 0))
        if Repair.ORPHANS in repairs:
            outcomes += _orphans(run, noted, clock)
        if Repair.MARKERS in repairs:
            outcomes += _markers(run, noted)
        if Repair.UPLOADS in repairs:
            aborted = abort_unfinished(noted, run.lease)
            outcomes += [_outcome(Repair.UPLOADS, path) for path in aborted]
        if Repair.METADATA_TABLE in repairs:
            outcomes += _metadata_table(run, noted)
    return (*recovered, *_ended(noted, before), *outcomes)


def _outcome(repair: Repair, file: str, reason: str = "", *, done: str = "") -> Outcome:
    return Outcome(
        repair=repair, file=file, done=done or ("kept" if reason else "deleted"), reason=reason
    )


def _deleted(repair: Repair, noted: NotedStorage, start: int) -> Iterator[Outcome]:
    """Yield what was deleted since `start`, without the folders of runs."""
    for file in noted.deleted[start:]:
        if layout.LAKESTRAP not in file or file.startswith(f"{STATE}/"):
            yield _outcome(repair, file)


def _runs(storage: Storage) -> tuple[str, ...]:
    """Return the folders of runs, and the lease files."""
    folders = (
        e.path for e in storage.list(layout.LAKESTRAP) if e.path not in (layout.LEASE, STATE, DEAD)
    )
    return (*folders, *(each.path for each in storage.list(layout.LEASE)))


def _ended(storage: Storage, before: tuple[str, ...]) -> Iterator[Outcome]:
    """Yield the folders and leases of dead runs that are gone now."""
    for path in before:
        if storage.stat(path) is None:
            is_lease = path.startswith(f"{layout.LEASE}/")
            yield _outcome(Repair.LEASES if is_lease else Repair.STAGING, path)


def _check_alone(storage: Storage) -> None:
    """Raise if another writer has begun an instant; ours are recovered already.

    Raises:
        CommitConflictError: `table/foreign-pending`.
    """
    pending = [each for each in load_timeline(storage).pending if not is_plan(each)]
    if pending:
        raise CommitConflictError(
            "table/foreign-pending",
            f"{pending[0].action} {pending[0].requested_time} of another writer is pending, so "
            "leftovers cannot be told from its files",
            where=Where(table=storage.location, instant=pending[0].requested_time),
            remedy="Wait for that writer, or let Apache Hudi roll back its failed write.",
        )


def _orphans(run: ServiceRun, noted: NotedStorage, clock: Clock) -> Iterator[Outcome]:
    """Delete what no instant names; the timeline is listed again after the files."""
    table = opened(noted, clock, table_properties(noted))
    found = [*check_listing(table, None, Listed()), *hoodie_sidecars(noted), *orphan_states(table)]
    later, archived, used = load_timeline(noted), table.archive.times, _used_states(noted)
    for each in found:
        if each.repair is not Repair.ORPHANS:
            continue
        reason = _claimed(later, archived, each) or _in_use(noted, later, archived, used, each)
        if reason:
            yield _outcome(Repair.ORPHANS, each.file, reason)
            continue
        require(noted, run.lease)
        start = len(noted.deleted)
        noted.delete(each.file, layout.crc_sidecar(each.file))
        yield from _deleted(Repair.ORPHANS, noted, start)


def _claimed(later: Timeline, archived: frozenset[str], found: TableFinding) -> str:
    """Return which claim the instant of a file has now, "" if none."""
    instant = found.instant
    if instant and (_exists(later, archived, instant) or later.is_completed(instant)):
        return f"instant {instant} exists now"
    return ""


def _exists(later: Timeline, archived: frozenset[str], instant: str) -> bool:
    return bool(later.find(instant)) or instant in archived


def _in_use(
    storage: Storage,
    later: Timeline,
    archived: frozenset[str],
    used: frozenset[str],
    found: TableFinding,
) -> str:
    """Return why a file of an unknown instant is needed all the same, "" if it is not."""
    name = layout.name_of(found.file)
    if found.file in used:
        return "the table's state refers to it"
    if found.condition == "fsck/orphan-sidecar":
        file = layout.join(layout.parent_of(found.file), name.removeprefix(".")[: -len(".crc")])
        return "its file is there now" if storage.stat(file) else ""
    if LogFileName.parse(name) is None or storage.stat(found.file) is None:
        return ""
    for instant in log_instants(storage, found.file):
        if instant is None or _exists(later, archived, instant) or later.is_completed(instant):
            return f"it has a block of {instant or 'an unknown instant'}"
    return ""


def _used_states(storage: Storage) -> frozenset[str]:
    """Return the state file that counts, with its segments."""
    timeline, properties = load_timeline(storage), table_properties(storage)
    ref = find_state(storage, timeline, properties.raw)
    memory = read_memory(storage, timeline)
    segments = () if memory is None else state_segments(memory)
    return frozenset(each.path for each in (*((ref,) if ref else ()), *segments))


def _markers(run: ServiceRun, noted: NotedStorage) -> Iterator[Outcome]:
    """Delete markers that lead to no file of an unknown instant any more."""
    start = len(noted.deleted)
    sweep_dead(noted, run.lease)
    yield from _deleted(Repair.MARKERS, noted, start)
    timeline, awaited = load_timeline(noted), awaited_instants(noted)
    for folder in list(noted.list(layout.TEMP)):
        found = timeline.find(folder.name)
        if any(not each.is_completed for each in found):
            continue
        needed = "" if found else _leads_to(noted, folder)
        if folder.name in awaited:
            needed = "requests of its run may still arrive, and then they lead to what these made"
        if needed:
            yield _outcome(Repair.MARKERS, folder.path, needed)
            continue
        require(noted, run.lease)
        start = len(noted.deleted)
        noted.delete(folder.path)
        yield from _deleted(Repair.MARKERS, noted, start)
    noted.delete(layout.TEMP, only_empty=True)


def _leads_to(storage: Storage, folder: Entry) -> str:
    """Return why markers are needed: a file of their instant is still there; "" if none is."""
    direct = (
        parse_marker(path.removeprefix(f"{folder.path}/"))
        for path in _files_below(storage, folder.path)
    )
    paths = {*read_markers(storage, folder.name), *(each[0] for each in direct if each)}
    for path in sorted(paths):
        if storage.stat(path) is None:
            continue
        is_log = LogFileName.parse(layout.name_of(path)) is not None
        if not is_log or folder.name in log_instants(storage, path):
            return f"they lead to {path}, which --repair orphans may delete"
    return ""


def _metadata_table(run: ServiceRun, noted: NotedStorage) -> Iterator[Outcome]:
    """Delete a metadata table that does not know every completed instant."""
    start = len(noted.deleted)
    for file in _delete_metadata_table(run):
        yield _outcome(Repair.METADATA_TABLE, file, done="rewritten")
    for each in _deleted(Repair.METADATA_TABLE, noted, start):
        if each.file.startswith(f"{layout.METADATA_TABLE}/"):
            yield each


def _delete_metadata_table(run: ServiceRun) -> tuple[str, ...]:
    """Remove the metadata table from the properties, then delete its folder.

    Returns:
        The files that were rewritten.

    Raises:
        UnsupportedTableError: `fsck/metadata-table-in-use`; nothing was changed.
        LeaseHeldError: the lease was lost.
    """
    storage = run.storage
    properties = table_properties(storage)
    named = properties.metadata_partitions
    if not named:
        _delete_stale_backup(storage)
    if storage.stat(METADATA_TABLE) is None and not named:
        return ()
    if named and not _unknown_instants(storage):
        raise UnsupportedTableError(
            "fsck/metadata-table-in-use",
            "the metadata table knows every completed instant, so a writer may rely on it",
            where=Where(table=storage.location),
            remedy="Disable it in Apache Hudi: write once with hoodie.metadata.enable=false, or "
            "`CALL delete_metadata_table(table => 'name')` in Spark SQL.",
        )
    if named:
        require_moves(storage, "removal of a metadata table that the properties name")
    require(storage, run.lease)
    if named:
        staging = Staging(write_id=run.lease.owner.write_id)
        replace_properties(storage, staging, properties.without_metadata_table())
    require(storage, run.lease)
    storage.delete(METADATA_TABLE)
    return (PROPERTIES,) if named else ()


def _delete_stale_backup(storage: Storage) -> None:
    """Delete the backup that an interrupted removal left, with the entries that it removed."""
    backup = read_properties_file(storage, PROPERTIES_BACKUP)
    if backup and backup.metadata_partitions and storage.stat(PROPERTIES) is not None:
        storage.delete(PROPERTIES_BACKUP, crc_sidecar(PROPERTIES_BACKUP))


def _unknown_instants(storage: Storage) -> tuple[str, ...]:
    """Return the completed instants of data that the metadata table does not know.

    Their files are invisible to readers that use it.
    """
    folder = join(METADATA_TABLE, HOODIE)
    known = timeline_of(each.name for each in storage.list(folder) if not each.is_folder)
    done = (e for e in load_timeline(storage).completed if e.action in DATA_ACTIONS)
    times = (each.requested_time for each in done)
    return tuple(each for each in times if not known.is_completed(each))


class NotedStorage(WrappedStorage):
    """Passes every call on; `deleted` has the paths of the files that were deleted, in order."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.deleted: list[str] = []

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """Delete, and note the files that were there."""
        there = [] if only_empty else [f for path in paths for f in _files_below(self._inner, path)]
        self._inner.delete(*paths, only_empty=only_empty)
        self.deleted += there


def _files_below(storage: Storage, path: str) -> Iterator[str]:
    """Yield the file at a path, or all files below the folder there."""
    entry = storage.stat(path)
    if entry is None:
        return
    if not entry.is_folder:
        yield path
        return
    for each in storage.list(path):
        yield from _files_below(storage, each.path)
