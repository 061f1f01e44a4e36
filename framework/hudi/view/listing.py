"""The view by listing: right by definition, and what every other view is compared with."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from framework.hudi.filegroup.names import BaseFileName, LogFileName
from framework.hudi.filegroup.slices import BaseFile, FileGroupId, FileSlice, LogFile, SourceFile
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, HOODIE, PARTITION_METADATA
from framework.hudi.timeline.commit_metadata import read_replaced
from framework.hudi.timeline.instant import Action

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from framework.hudi.storage.port import Entry, Storage
    from framework.hudi.timeline.timeline import Timeline

__all__ = ["ListingView", "SourceMappings"]


class _Mapping(Protocol):
    """The source file of one skeleton, as the bootstrap index has it."""

    @property
    def uri(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def mtime_ms(self) -> int: ...


class SourceMappings(Protocol):
    """What the view asks of a bootstrap index."""

    def mappings(self, partition_path: str) -> Mapping[str, _Mapping]:
        """Return the source files of a partition by file id; empty where it has none."""
        ...


class ListingView:
    """A view that lists a partition each time it is asked for it."""

    def __init__(
        self, storage: Storage, timeline: Timeline, index: SourceMappings | None = None
    ) -> None:
        self._storage = storage
        self._timeline = timeline
        self._index = index
        self.listings = 0

    def partitions(self) -> Iterator[str]:
        """Yield folders that hold partition metadata, by name at each level.

        As Apache Hudi does, a folder without it is searched further, a partition is not. Costs one
        listing per folder above and including the partitions.
        """
        yield from self._partitions_below("")

    def latest_slices(self, partition_path: str) -> Sequence[FileSlice]:
        """Return the latest completed slice of each file group; costs one listing.

        Log files written after a compaction was planned belong to the plan's instant; while it is
        pending they are added to the slice before it.
        """
        groups = self._groups(partition_path)
        shown = sorted(groups.keys() - self._replaced.get(partition_path, set()))
        ids = (FileGroupId(partition_path=partition_path, file_id=each) for each in shown)
        found = (self._latest(each, *groups[each.file_id]) for each in ids)
        return self._with_sources(partition_path, [each for each in found if each])

    def _partitions_below(self, folder: str) -> Iterator[str]:
        """Yield the partitions in `folder`, itself included."""
        found = self._list(folder)
        if any(entry.name == PARTITION_METADATA for entry in found):
            yield folder
            return
        for entry in found:
            if entry.is_folder and entry.path != HOODIE:
                yield from self._partitions_below(entry.path)

    def _groups(self, partition_path: str) -> dict[str, tuple[list[BaseFile], list[LogFile]]]:
        """Return base and log files of one partition by file id, in no set order."""
        groups: dict[str, tuple[list[BaseFile], list[LogFile]]] = defaultdict(lambda: ([], []))
        for entry in self._list(partition_path):
            if entry.is_folder:
                continue
            if base := BaseFileName.parse(entry.name):
                file = BaseFile(
                    name=base, path=entry.path, size=entry.size, mtime_ns=entry.mtime_ns
                )
                groups[base.file_id][0].append(file)
            elif (log := LogFileName.parse(entry.name)) and not log.is_cdc:
                groups[log.file_id][1].append(
                    LogFile(name=log, path=entry.path, size=entry.size, mtime_ns=entry.mtime_ns)
                )
        return groups

    def _latest(
        self, group: FileGroupId, bases: Sequence[BaseFile], logs: Sequence[LogFile]
    ) -> FileSlice | None:
        """Return the latest completed slice of one group, None where nothing is completed."""
        if len(bases) == 1 and not logs:  # as nearly all are, and a table may have very many
            only = bases[0].name.instant
            is_there = self._timeline.is_completed(only)
            return FileSlice(group=group, base_instant=only, base=bases[0]) if is_there else None
        visible = [b for b in bases if self._timeline.is_completed(b.name.instant)]
        base = max(visible, key=lambda b: (b.name.instant, b.name.write_token), default=None)
        counted = sorted((log for log in logs if self._counts(log)), key=_log_order)
        starts = (base.name.instant,) if base else tuple(log.name.base_instant for log in counted)
        first = next((t for t in starts if self._timeline.is_completed(t)), None)
        if first is None:
            return None
        later = tuple(log for log in counted if log.name.base_instant >= first)
        return FileSlice(group=group, base_instant=first, base=base, logs=later)

    def _counts(self, log: LogFile) -> bool:
        """Whether a log file belongs to a completed slice, or to a compaction under way."""
        time = log.name.base_instant
        return self._timeline.is_completed(time) or time in self._compacting

    def _with_sources(self, partition_path: str, slices: list[FileSlice]) -> list[FileSlice]:
        """Attach source files to skeletons; asks the index only where one is possible."""
        if self._index is None or all(s.base_instant != BOOTSTRAP_INSTANT for s in slices):
            return slices
        mappings = self._index.mappings(partition_path)
        return [_with_source(each, mappings.get(each.group.file_id)) for each in slices]

    def _list(self, folder: str) -> list[Entry]:
        """Return the children of `folder`, and count the listing."""
        self.listings += 1
        return list(self._storage.list(folder))

    @cached_property
    def _compacting(self) -> frozenset[str]:
        """Instants of compactions under way."""
        plans = (each for each in self._timeline.pending if each.action is Action.COMPACTION)
        return frozenset(each.requested_time for each in plans)

    @cached_property
    def _replaced(self) -> dict[str, set[str]]:
        """File ids that completed replacecommits hide, by partition path."""
        hidden: dict[str, set[str]] = defaultdict(set)
        for instant in self._timeline.completed:
            if instant.action is Action.REPLACECOMMIT:
                for partition, file_ids in read_replaced(self._storage, instant.path).items():
                    hidden[partition] |= file_ids
        return dict(hidden)


def _log_order(log: LogFile) -> tuple[str, int, str]:
    """Oldest first."""
    return (log.name.base_instant, log.name.version, log.name.write_token or "")


def _with_source(found: FileSlice, mapping: _Mapping | None) -> FileSlice:
    """Return the slice with its source file, if its base file is a skeleton."""
    if mapping is None or found.base is None or found.base_instant != BOOTSTRAP_INSTANT:
        return found
    source = SourceFile(uri=mapping.uri, size=mapping.size, mtime_ms=mapping.mtime_ms)
    return FileSlice(
        group=found.group,
        base_instant=found.base_instant,
        base=found.base,
        logs=found.logs,
        bootstrap=source,
    )
