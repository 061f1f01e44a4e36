"""The state of a table and its risks; read-only, and without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from framework.engine.inspect.observe import observe_table
from framework.engine.quarantine.datasets import waiting
from framework.engine.quarantine.quarantined_batch import QuarantinedBatch
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.commit.lease import current_lease
from framework.hudi.commit.pending import Pending, PendingKind, find_pending
from framework.hudi.filegroup.group import FileGroup
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import HOODIE, TABLE_VERSION
from framework.hudi.table.properties import TableProperties
from framework.hudi.timeline.clock import SystemClock
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.recorded import Damage, RecordedFiles
from framework.hudi.view.selection import select
from framework.plan.observation import SourceDrift, TableState

__all__ = [
    "Danger",
    "DiskUse",
    "Slices",
    "TableFiles",
    "TableStatus",
    "dangers",
    "pending_text",
    "table_files",
    "table_status",
]


_LATEST = Query(selection=Selection.MERGED)

_SAMPLES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """Counts of the latest file slices.

    Attributes:
        partitions: folders with partition metadata.
        skeletons: slices whose data is in the source.
        full: slices with a base file of their own.
        log_only: slices without a base file.
        with_logs: slices with log files, of any kind.
        bytes: base and log files of the table, without the source.
    """

    partitions: int
    skeletons: int
    full: int
    log_only: int
    with_logs: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUse:
    """Disk use of the table, without its source.

    Attributes:
        bytes: all files below the base path.
        base_files: of every version, committed or not.
        old_base_files: those that no latest slice uses.
        log_files: of every version.
        old_bytes: base and log files that no latest slice uses.
        hoodie_bytes: files below `.hoodie`: the timeline, the index, leftovers of runs.
    """

    bytes: int
    base_files: int
    old_base_files: int
    log_files: int
    old_bytes: int
    hoodie_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles:
    """Slices, disk use and damages of a table; `damages` are in no defined order."""

    slices: Slices
    disk: DiskUse
    damages: tuple[Damage, ...]


def table_files(storage: Storage) -> TableFiles:
    """Return the counted files of a table, and those that differ from its commits.

    Costs one listing of each folder of the table and reads each completed commit.

    Raises:
        CorruptFileError: a commit, a plan or the bootstrap index is damaged.
        StorageError: a folder or a commit cannot be read.
    """
    timeline = load_timeline(storage)
    recorded = RecordedFiles(storage, timeline)
    counting = _Counting()
    with BootstrapIndex.open(storage) or nullcontext() as index:
        view = ListingView(storage, timeline, index)
        paths = list(view.partitions())
        damages = [*recorded.lost_partitions(paths)]
        named = {each.path for each in damages}
        damages += (each for each in view.unmarked if each.path not in named)
        for path in paths:
            entries = view.entries(path)
            groups = list(view.groups_of(path, entries))
            slices = list(select(_LATEST, groups, view.facts))
            counting.take(groups, slices)
            counting.bytes += sum(each.size for each in entries)
            damages += recorded.damages(path, slices)
    return TableFiles(
        slices=counting.slices(len(paths)),
        disk=counting.disk(sum(_sizes(storage, HOODIE))),
        damages=tuple(recorded.without_removed(damages)),
    )


class _Counting:
    """Counts files over the partitions of a table."""

    def __init__(self) -> None:
        self.bytes = 0
        self._kinds: Counter[str] = Counter()
        self._used: Counter[str] = Counter()
        self._all: Counter[str] = Counter()

    def take(self, groups: list[FileGroup], slices: list[FileSlice]) -> None:
        """Count the groups of a partition and its latest slices."""
        for each in slices:
            self._kinds["skeletons" if each.bootstrap else "full" if each.base else "log_only"] += 1
            self._kinds["with_logs"] += bool(each.logs)
            self._used["base_files"] += each.base is not None
            self._used["bytes"] += each.total_size_bytes
        for group in groups:
            self._all["base_files"] += len(group.bases)
            self._all["log_files"] += len(group.logs)
            self._all["bytes"] += sum(each.size for each in group.bases)
            self._all["bytes"] += sum(each.size for each in group.logs)

    def slices(self, partitions: int) -> Slices:
        """Return the counts of latest slices."""
        kinds = ("skeletons", "full", "log_only", "with_logs")
        counts = {kind: self._kinds[kind] for kind in kinds}
        return Slices(partitions=partitions, bytes=self._used["bytes"], **counts)

    def disk(self, hoodie_bytes: int) -> DiskUse:
        """Return the counts of all files."""
        return DiskUse(
            bytes=self.bytes + hoodie_bytes,
            base_files=self._all["base_files"],
            old_base_files=self._all["base_files"] - self._used["base_files"],
            log_files=self._all["log_files"],
            old_bytes=self._all["bytes"] - self._used["bytes"],
            hoodie_bytes=hoodie_bytes,
        )


def _sizes(storage: Storage, folder: str) -> Iterator[int]:
    """Yield the sizes of all files below a folder."""
    for entry in storage.list(folder):
        if entry.is_folder:
            yield from _sizes(storage, entry.path)
        else:
            yield entry.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Danger:
    """A risk of lost or hidden rows, and its remedy."""

    condition: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatus:
    """The result of `status`.

    Attributes:
        location: the table.
        exists: whether a reader finds a table there.
        properties: its properties; None without any.
        completed: completed instants, ascending.
        pending: an unfinished earlier run, or else pending compactions, as text; "" if there is
            none.
        lease: the holder of the lease; "" if there is none.
        source: location of the source of an adopted table, "" otherwise.
        drift: how that source has changed; None if that was not checked.
        slices: counts of the file slices; None without a table.
        disk: disk use; None without a table.
        dangers: risks of lost or hidden rows; empty if there are none.
        quarantined: data sets of quarantined rows that await a decision, oldest first.
    """

    location: str
    exists: bool
    properties: TableProperties | None
    completed: tuple[str, ...]
    pending: str
    lease: str
    source: str
    drift: SourceDrift | None
    slices: Slices | None
    dangers: tuple[Danger, ...]
    disk: DiskUse | None = None
    quarantined: tuple[QuarantinedBatch, ...] = ()


def table_status(location: str, quarantine: str | None = None) -> TableStatus:
    """Return the state of the table at `location`.

    Costs one listing of each folder of the table, and of its source if that is compared, and the
    head of each commit. Quarantined rows are searched where commits name them, and at `quarantine`.

    Raises:
        CorruptFileError, StorageError: part of the table cannot be read.
    """
    storage = open_storage(location)
    table = observe_table(location)
    files = table_files(storage) if table.properties else None
    slices = files.slices if files else None
    pending, lease = find_pending(storage), _lease_text(storage)
    return TableStatus(
        location=storage.location,
        exists=table.properties is not None,
        properties=table.properties,
        completed=table.completed,
        pending=pending_text(pending, is_live=bool(lease)) or _planned_text(storage),
        lease=lease,
        source=table.facts.source if table.facts else "",
        drift=table.drift,
        slices=slices,
        dangers=(*_damaged(files), *dangers(table, slices, pending)),
        disk=files.disk if files else None,
        quarantined=waiting(location, quarantine),
    )


def _damaged(files: TableFiles | None) -> Iterator[Danger]:
    """Yield one danger per kind of damage to files and partitions."""
    damages = sorted(files.damages if files else (), key=lambda each: each.condition)
    for condition, found in groupby(damages, key=lambda each: each.condition):
        same = list(found)
        samples = ", ".join(each.path for each in same[:_SAMPLES])
        yield Danger(
            condition=condition,
            message=f"{same[0].message}: {samples}"
            + (f" and {len(same) - _SAMPLES:,} more" if len(same) > _SAMPLES else ""),
            remedy=same[0].remedy,
        )


def pending_text(pending: Pending | None, *, is_live: bool = False) -> str:
    """Return the unfinished run as text; a live Lakestrap run is no leftover."""
    if pending is None:
        return ""
    at = f" at instant {pending.instant.requested_time}" if pending.instant else ""
    if is_live and pending.kind is not PendingKind.FOREIGN:
        return f"a Lakestrap run is active{at}"
    words = {
        PendingKind.FOREIGN: f"another writer started{at} and has not finished",
        PendingKind.DEAD_RUN: f"a Lakestrap run was interrupted{at}; run resumes or rolls it back",
        PendingKind.UNFINISHED: f"a published run{at} has unfinished steps; run completes them",
        PendingKind.ORPHANS: f"leftovers of a run{at} that never started; run removes them",
        PendingKind.DROPPED: "the table is dropped, but not all files are deleted; drop finishes",
    }
    return words[pending.kind]


def _planned_text(storage: Storage) -> str:
    """Return the pending compactions as text: work that is planned, and no leftover."""
    pending = load_timeline(storage).pending
    times = [each.requested_time for each in pending if each.action is Action.COMPACTION]
    if not times:
        return ""
    return f"compaction {', '.join(times)} is planned; `run-pipeline compact` executes it"


def _lease_text(storage: Storage) -> str:
    lease = current_lease(storage)
    if lease is None or lease.is_over(SystemClock()):
        return ""
    return f"process {lease.owner.pid} on {lease.owner.host}"


def dangers(table: TableState, slices: Slices | None, pending: Pending | None) -> Iterator[Danger]:
    """Yield every danger that makes `status` exit with 1."""
    properties = table.properties
    if properties and properties.version != TABLE_VERSION:
        yield Danger(
            condition="table/other-version",
            message=f"the table is at version {properties.version}, not {TABLE_VERSION}",
            remedy="Another writer upgraded it; this release does not write to it.",
        )
    if table.metadata_table:
        yield Danger(
            condition="table/metadata-table",
            message="the table has a metadata table; Lakestrap commits would be invisible",
            remedy="Delete it with Apache Hudi, and write with hoodie.metadata.enable=false.",
        )
        yield from _statistics(properties, slices)
    if pending and pending.kind is PendingKind.FOREIGN:
        yield Danger(
            condition="table/foreign-pending",
            message=pending_text(pending),
            remedy="Wait for that writer, or let Apache Hudi roll back its failed write.",
        )
    if table.drift:
        yield from _drifted(table.drift)


def _statistics(properties: TableProperties | None, slices: Slices | None) -> Iterator[Danger]:
    """Yield a danger if column statistics lose rows of skeletons (format sheet, section 4.10)."""
    named = properties.metadata_partitions if properties else ()
    if slices and slices.skeletons and any(n.endswith("_stats") for n in named):
        yield Danger(
            condition="table/statistics-over-skeletons",
            message=f"{slices.skeletons:,} skeletons remain under column statistics: "
            "Apache Hudi loses their rows when a query filters",
            remedy="Read with hoodie.enable.data.skipping=false, and drop the statistics.",
        )


def _drifted(drift: SourceDrift) -> Iterator[Danger]:
    gone = drift.missing_files + drift.changed_files
    if gone:
        samples = ", ".join((*drift.samples_missing, *drift.samples_changed)[:3])
        yield Danger(
            condition="source/drifted",
            message=f"{drift.missing_files:,} source files are missing and "
            f"{drift.changed_files:,} have changed: {samples}",
            remedy="Restore them from a copy: the table's rows in them cannot be read.",
        )
    if drift.new_files:
        samples = ", ".join(drift.samples_new[:3])
        yield Danger(
            condition="source/grown",
            message=f"{drift.new_files:,} files under the source are not part of the table: "
            f"{samples}",
            remedy="They are not read. Load them by a later write.",
        )
