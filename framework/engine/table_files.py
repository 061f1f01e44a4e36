"""The files of a table: what its latest slices use, what it takes on disk, and what is damaged."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.table.layout import HOODIE
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.recorded import RecordedFiles
from framework.hudi.view.selection import select

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.hudi.filegroup.group import FileGroup
    from framework.hudi.filegroup.slices import FileSlice
    from framework.hudi.storage.port import Storage
    from framework.hudi.view.damage import Damage

__all__ = ["DiskUse", "Slices", "TableFiles", "table_files"]

_LATEST = Query(selection=Selection.MERGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """Latest file slices, counted.

    Attributes:
        partitions: folders that hold partition metadata.
        skeletons: slices whose data are in the source.
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
    """What the table takes on disk, without its source.

    Attributes:
        bytes: all files below the base path.
        base_files: of every version, committed or not.
        old_base_files: those that no latest slice uses.
        log_files: of every version.
        old_bytes: base and log files that no latest slice uses.
        hoodie_bytes: files below `.hoodie`: the timeline, the index, what runs left.
    """

    bytes: int
    base_files: int
    old_base_files: int
    log_files: int
    old_bytes: int
    hoodie_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles:
    """Attributes: as the classes say; `damages` are in no order."""

    slices: Slices
    disk: DiskUse
    damages: tuple[Damage, ...]


def table_files(storage: Storage) -> TableFiles:
    """Return the files of a table, counted, and those that are not what its commits recorded.

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
    """Counts over the partitions of a table."""

    def __init__(self) -> None:
        self.bytes = 0
        self._kinds: Counter[str] = Counter()
        self._used: Counter[str] = Counter()
        self._all: Counter[str] = Counter()

    def take(self, groups: list[FileGroup], slices: list[FileSlice]) -> None:
        """Count the groups of a partition, and the slices that are the latest."""
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
