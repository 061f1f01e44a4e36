"""The listing view: correct by definition, and the reference for every other view."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol

from framework.hudi.filegroup import slices
from framework.hudi.filegroup.group import FileGroup, base_order, log_order
from framework.hudi.filegroup.slices import BaseFileName, LogFileName, instant_of
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, HOODIE, PARTITION_METADATA
from framework.hudi.timeline.timeline import Timeline
from framework.hudi.view.facts import TableFacts, read_facts
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.recorded import Damage, lost_partition
from framework.hudi.view.selection import answer, select

__all__ = ["ListingView", "SourceMappings", "partition_order"]

_MERGED = Query(selection=Selection.MERGED)


class SourceMappings(Protocol):
    """The part of a bootstrap index that the view uses."""

    def mappings(self, partition_path: str) -> Mapping[str, slices.SourceFacts]:
        """Return the source files of a partition by file id; empty if it has none."""
        ...


def partition_order(path: str) -> tuple[str, ...]:
    """Return the sort key of a partition: the names of its folders, level by level."""
    return tuple(path.split("/"))


class ListingView:
    """A view that lists a partition on each query.

    Attributes:
        listings: number of folders listed so far.
        unmarked: folders found by `partitions` with files of completed instants but without
            partition metadata. Like Apache Hudi, this view does not count them as partitions.
    """

    def __init__(
        self, storage: Storage, timeline: Timeline, index: SourceMappings | None = None
    ) -> None:
        self._storage = storage
        self._timeline = timeline
        self._index = index
        self.listings = 0
        self._ahead: tuple[str, list[Entry]] | None = None
        self.unmarked: list[Damage] = []

    @cached_property
    def facts(self) -> TableFacts:
        """The timeline's facts of file groups; costs one read for each plan or replacecommit."""
        return read_facts(self._storage, self._timeline)

    def partitions(self) -> Iterator[str]:
        """Yield folders with partition metadata, by name at each level.

        As in Apache Hudi, a folder without it is searched further, a partition is not. Costs one
        listing per folder, down to and including the partitions; a caller that requests the groups
        of a partition before it takes the next one has that listing used again.
        """
        yield from self._partitions_below("")

    def select(self, query: Query) -> list[slices.FileSlice]:
        """Return the slices that a query selects; costs one listing per partition."""
        return answer(query, self)

    def latest_slices(self, partition_path: str) -> Sequence[slices.FileSlice]:
        """Return the newest state of each file group, by file id; costs one listing."""
        return list(select(_MERGED, self.groups(partition_path), self.facts))

    def groups(
        self, partition_path: str, file_ids: Sequence[str] | None = None
    ) -> Iterator[FileGroup]:
        """Yield the groups of a partition by file id, with all existing files."""
        return self.groups_of(partition_path, self._listed(partition_path), file_ids)

    def groups_of(
        self,
        partition_path: str,
        entries: Iterable[Entry],
        file_ids: Sequence[str] | None = None,
        sources: Callable[[str], Mapping[str, slices.SourceFacts]] | None = None,
    ) -> Iterator[FileGroup]:
        """Yield the groups of the given files of a partition, by file id, without listing.

        Args:
            partition_path: path of the partition.
            entries: the files.
            file_ids: only these groups; None means all.
            sources: called if there may be skeletons; None means `sources` of this view.
        """
        bases: dict[str, list[slices.BaseFile]] = defaultdict(list)
        logs: dict[str, list[slices.LogFile]] = defaultdict(list)
        for file in _files(entries):
            if isinstance(file, slices.BaseFile):
                bases[file.name.file_id].append(file)
            else:
                logs[file.name.file_id].append(file)
        chosen = bases.keys() | logs.keys()
        if file_ids is not None:
            chosen &= set(file_ids)
        has_skeleton = any(_has_skeleton(each) for each in bases.values())
        known = (sources or self.sources)(partition_path) if has_skeleton else {}
        for each in sorted(chosen):
            yield FileGroup(
                group=slices.FileGroupId(partition_path=partition_path, file_id=each),
                bases=_sorted_bases(bases.get(each, ())),
                logs=tuple(sorted(logs.get(each, ()), key=log_order)),
                source=_source(known.get(each)),
            )

    def entries(self, folder: str) -> list[Entry]:
        """Return the children of a folder by name; costs one listing."""
        self.listings += 1
        return list(self._storage.list(folder))

    def _listed(self, partition_path: str) -> list[Entry]:
        """Return the children of a partition, as `partitions` has just listed them, or anew."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == partition_path:
            return ahead[1]
        return self.entries(partition_path)

    def sources(self, partition_path: str) -> Mapping[str, slices.SourceFacts]:
        """Return the sources of a partition's skeletons by file id; empty without an index."""
        return {} if self._index is None else self._index.mappings(partition_path)

    def _partitions_below(self, folder: str) -> Iterator[str]:
        """Yield the partitions in `folder`, including itself."""
        found = self.entries(folder)
        if any(entry.name == PARTITION_METADATA for entry in found):
            self._ahead = (folder, found)
            yield folder
            self._ahead = None
            return
        self._note_unmarked(folder, found)
        for entry in found:
            if entry.is_folder and entry.path != HOODIE:
                yield from self._partitions_below(entry.path)

    def _note_unmarked(self, folder: str, entries: Iterable[Entry]) -> None:
        """Record a folder that is not a partition but has files of completed instants."""
        names = (each.name for each in entries if not each.is_folder)
        instants = (each for each in map(instant_of, names) if each)
        instant = next(filter(self._timeline.is_completed, instants), None)
        if instant is not None:
            self.unmarked.append(lost_partition(folder, instant))


def _files(entries: Iterable[Entry]) -> Iterator[slices.BaseFile | slices.LogFile]:
    """Yield the base and log files of a folder; change-data files hold no table records."""
    for entry in entries:
        if entry.is_folder:
            continue
        if base := BaseFileName.parse(entry.name):
            yield slices.BaseFile(name=base, path=entry.path, size=entry.size)
        elif (log := LogFileName.parse(entry.name)) and not log.is_cdc:
            yield slices.LogFile(name=log, path=entry.path, size=entry.size)


def _sorted_bases(bases: Sequence[slices.BaseFile]) -> tuple[slices.BaseFile, ...]:
    """Return the base files, newest first."""
    return tuple(sorted(bases, key=base_order, reverse=True)) if len(bases) > 1 else tuple(bases)


def _has_skeleton(bases: Sequence[slices.BaseFile]) -> bool:
    """Whether one of the base files may be a skeleton."""
    return any(each.name.instant == BOOTSTRAP_INSTANT for each in bases)


def _source(mapping: slices.SourceFacts | None) -> slices.SourceFile | None:
    """Return the source file of an index entry."""
    if mapping is None:
        return None
    return slices.SourceFile(uri=mapping.uri, size=mapping.size, mtime_ms=mapping.mtime_ms)
