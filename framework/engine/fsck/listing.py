"""The files of a table, from one listing of each folder, against timeline and commits.

What timeline, archive and commits say is read once, as the opened table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, unique
from functools import cached_property
from typing import Final

from framework.engine.fsck.findings import Check, Repair, Severity, TableFinding, of_damage
from framework.hudi.filegroup.group import FileGroup
from framework.hudi.filegroup.slices import BaseFileName, Extent, FileSlice, LogFileName, instant_of
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.folders import Folder, folders
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, crc_sidecar, name_of
from framework.hudi.table.properties import TableProperties
from framework.hudi.timeline.archive import archive_files, archived_instants
from framework.hudi.timeline.instant import DATA_ACTIONS, Action, InstantState
from framework.hudi.timeline.timeline import Timeline
from framework.hudi.view.listing_view import ListingView, SourceMappings
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.recorded import Damage, RecordedFiles, lost_partition
from framework.hudi.view.selection import select

__all__ = [
    "Archive",
    "Claim",
    "Listed",
    "ListedFile",
    "OpenedTable",
    "check_listing",
    "is_skeleton",
    "sidecars",
]


@unique
class Claim(StrEnum):
    """Whether an instant exists that a file's name has."""

    NAMED = "named"
    """It is on the timeline, pending or completed, or archived."""

    ORPHAN = "orphan"
    """It is not, and readers skip the file, until the timeline has moved past the instant."""

    GHOST = "ghost"
    """It is not, but the timeline has moved past it, so readers count the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """The archived timeline.

    Attributes:
        times: instants of data that were archived as completed.
        last_clean: the newest archived clean; "" if there is none.
    """

    times: frozenset[str]
    last_clean: str


def _read_archive(storage: Storage, properties: TableProperties) -> Archive:
    """Return the archived timeline; reads all of it.

    Raises:
        CorruptFileError, UnsupportedTableError: as of `archived_instants`.
    """
    times, cleans = set(), [""]
    for each in archived_instants(storage, archive_files(storage, properties.raw)):
        if each.state is InstantState.COMPLETED and each.action in DATA_ACTIONS:
            times.add(each.requested_time)
        elif each.action is Action.CLEAN:
            cleans.append(each.requested_time)
        elif each.action is Action.COMPACTION:
            times.add(each.requested_time)
    return Archive(times=frozenset(times), last_clean=max(cleans))


@dataclass(frozen=True, kw_only=True)
class OpenedTable:
    """A table under check.

    Attributes:
        storage: the table.
        properties: of a table at version 6.
        timeline: from one listing.
        recorded: what its completed commits recorded.
        apart: folders inside the table that are not its own, such as a source.
        is_live: whether a Lakestrap run is at work on it.
    """

    storage: Storage
    properties: TableProperties
    timeline: Timeline
    recorded: RecordedFiles
    apart: frozenset[str] = frozenset()
    is_live: bool = False

    @cached_property
    def archive(self) -> Archive:
        """The archived timeline, read once; raises as `_read_archive`."""
        return _read_archive(self.storage, self.properties)

    def claim(self, instant: str) -> Claim:
        """Return whether an instant of data exists; reads the archive for old unknown ones."""
        if instant not in self._claims:
            self._claims[instant] = self._claim(instant)
        return self._claims[instant]

    def counts(self, instant: str) -> bool:
        """Return whether files of an instant are part of the table, and it exists."""
        return self.timeline.is_completed(instant) and self.claim(instant) is Claim.NAMED

    def _claim(self, instant: str) -> Claim:
        if self.timeline.find(instant):
            return Claim.NAMED
        if not self.timeline.is_completed(instant):
            return Claim.ORPHAN
        return Claim.NAMED if instant in self.archive.times else Claim.GHOST

    @cached_property
    def _claims(self) -> dict[str, Claim]:
        return {}

    @cached_property
    def newest(self) -> str:
        """The newest completed instant of data; "" if there is none."""
        done = (e.requested_time for e in self.timeline.completed if e.action in DATA_ACTIONS)
        return max(done, default="")


_LATEST: Final = Query(selection=Selection.MERGED)
_CRC: Final = ".crc"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """A base or log file that an instant names.

    Attributes:
        path: relative to the table.
        partition_path: its partition.
        size: bytes.
        rows: rows of a base file as its commit recorded them; None if no active commit did.
        extents: of a log file, what completed commits recorded.
        source: full location of the file behind a skeleton; "" if it is none.
    """

    path: str
    partition_path: str
    size: int
    rows: int | None = None
    extents: tuple[Extent, ...] = ()
    source: str = ""


@dataclass(slots=True, kw_only=True)
class Listed:
    """What listings showed, for the checks that come after.

    Attributes:
        partitions: paths of the partitions.
        files: base and log files that an instant names, older slices included.
        bytes: sizes of all files outside `.hoodie`.
        slices: the latest slices.
        skeletons: file ids of skeletons by partition path.
    """

    partitions: list[str] = field(default_factory=list)
    files: list[ListedFile] = field(default_factory=list)
    bytes: int = 0
    slices: list[FileSlice] = field(default_factory=list)
    skeletons: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def check_listing(
    table: OpenedTable, index: SourceMappings | None, listed: Listed
) -> Iterator[TableFinding]:
    """Yield the findings on the files of a table; fills `listed`.

    Costs one listing of each folder. Holds all file names in memory.

    Raises:
        CorruptFileError, UnsupportedTableError: the archive, a plan or the index is damaged.
    """
    view = ListingView(table.storage, table.timeline, index)
    latest: list[Damage] = []
    old: list[Damage] = []
    for folder in folders(table.storage, table.apart):
        listed.bytes += sum(each.size for each in folder.entries)
        yield from sidecars(folder.entries, folder.path)
        yield from _unclaimed(table, folder)
        if folder.is_partition:
            listed.partitions.append(folder.path)
            slices = _list_partition(table, view, folder, listed)
            latest += table.recorded.damages(folder.path, slices)
            old += _differences(table, folder)
        else:
            latest += _unmarked(table, folder)
    named = {each.path for each in latest}
    lost = table.recorded.lost_partitions(listed.partitions)
    latest += (each for each in lost if each.path not in named)
    yield from map(of_damage, table.recorded.without_removed(latest))
    named |= {each.path for each in latest}
    lost_folders = {e.partition_path for e in latest if e.condition == "table/partition-lost"}
    old = [e for e in old if e.path not in named and e.partition_path not in lost_folders]
    for each in table.recorded.without_removed(old, of_old_slices=True):
        if each.condition != "table/file-lost" or each.instant > table.archive.last_clean:
            yield of_damage(each, Severity.WARNING)


def _list_partition(
    table: OpenedTable, view: ListingView, folder: Folder, listed: Listed
) -> list[FileSlice]:
    """Add the files of a partition; return its latest slices."""
    groups = list(view.groups_of(folder.path, folder.entries))
    slices = list(select(_LATEST, groups, view.facts))
    listed.slices += slices
    listed.files += _files(table, folder, groups)
    for group in groups:
        if any(is_skeleton(each.name) for each in group.bases):
            listed.skeletons[folder.path].add(group.group.file_id)
    return slices


def _files(table: OpenedTable, folder: Folder, groups: Sequence[FileGroup]) -> Iterator[ListedFile]:
    """Yield the base and log files that count, with what commits recorded of them."""
    rows: dict[str, int] = {}
    extents: defaultdict[str, list[Extent]] = defaultdict(list)
    for instant, stat in table.recorded.stats(folder.path):
        rows[name_of(stat.path)] = stat.num_writes
        if stat.size:
            start = max(stat.log_offset, 0)
            extents[name_of(stat.path)].append(Extent(instant, start, stat.size))
    for group in groups:
        for base in filter(lambda each: table.counts(each.name.instant), group.bases):
            source = group.source if is_skeleton(base.name) else None
            yield ListedFile(
                path=base.path,
                partition_path=folder.path,
                size=base.size,
                rows=rows.get(name_of(base.path)),
                source=source.uri if source else "",
            )
        for log in filter(lambda each: table.counts(each.name.base_instant), group.logs):
            yield ListedFile(
                path=log.path,
                partition_path=folder.path,
                size=log.size,
                extents=tuple(extents[name_of(log.path)]),
            )


def is_skeleton(name: BaseFileName) -> bool:
    """Return whether a base file is a skeleton: their ids are bare UUIDs (section 3.1)."""
    is_bare = name.file_id.count("-") == 4  # noqa: PLR2004 # a UUID has four
    return name.instant == BOOTSTRAP_INSTANT and is_bare


def _differences(table: OpenedTable, folder: Folder) -> Iterator[Damage]:
    """Yield every recorded file of a partition that is missing or of another size."""
    there = {each.name: each.size for each in folder.entries}
    for instant, stat in table.recorded.stats(folder.path):
        size, name = there.get(name_of(stat.path)), name_of(stat.path)
        is_log = LogFileName.parse(name) is not None
        if size is None:
            condition, message = "table/file-lost", "a recorded file of an older slice is missing"
        elif stat.size and (size < stat.size if is_log else size != stat.size):
            condition = "table/file-size"
            message = f"the file has {size:,} bytes, but its commit recorded {stat.size:,}"
        else:
            continue
        yield Damage(
            condition=condition,
            message=message,
            path=stat.path,
            partition_path=folder.path,
            instant=instant,
        )


def _unmarked(table: OpenedTable, folder: Folder) -> list[Damage]:
    """Return the damage of a folder with files of completed instants but without metadata."""
    instants = (instant_of(each.name) for each in folder.entries if not each.is_folder)
    done = (each for each in instants if each and table.timeline.is_completed(each))
    return [lost_partition(folder.path, each) for each in list(done)[:1]]


def _unclaimed(table: OpenedTable, folder: Folder) -> Iterator[TableFinding]:
    """Yield the data files whose instant does not exist."""
    for entry in folder.entries:
        instant = None if entry.is_folder else instant_of(entry.name)
        claim = Claim.NAMED if instant is None else table.claim(instant)
        if instant is None or claim is Claim.NAMED:
            continue
        if claim is Claim.GHOST:
            yield TableFinding(
                check=Check.ORPHANS,
                severity=Severity.ERROR,
                condition="fsck/ghost-file",
                message="readers count the file, but its instant is neither on the timeline nor "
                "in the archive: an unfinished write left it",
                remedy="Look at its rows; move the file out of the table unless you need them.",
                file=entry.path,
                partition=folder.path,
                instant=instant,
            )
            continue
        yield TableFinding(
            check=Check.ORPHANS,
            severity=Severity.WARNING,
            condition="fsck/orphan-file",
            message="the instant of the file is not on the timeline; its rows appear once Apache "
            "Hudi archives later instants",
            remedy="Delete it with --repair orphans.",
            file=entry.path,
            partition=folder.path,
            instant=instant,
            repair=Repair.ORPHANS if instant < table.newest else None,
        )


def sidecars(entries: Sequence[Entry], folder: str) -> Iterator[TableFinding]:
    """Yield Java's checksums of files that are not there."""
    names = {each.name for each in entries}
    for entry in _checksums(entries):
        if entry.name.removeprefix(".").removesuffix(_CRC) not in names:
            yield TableFinding(
                check=Check.ORPHANS,
                severity=Severity.WARNING,
                condition="fsck/orphan-sidecar",
                message="a checksum without its file; Java refuses a new file of that name",
                remedy="Delete it with --repair orphans.",
                file=entry.path,
                partition=folder or None,
                repair=Repair.ORPHANS,
            )


def _checksums(entries: Iterable[Entry]) -> Iterator[Entry]:
    for entry in entries:
        name = entry.name
        of = name.removeprefix(".").removesuffix(_CRC)
        if not entry.is_folder and name == crc_sidecar(of):
            yield entry
