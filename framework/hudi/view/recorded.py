"""Files as recorded by completed commits, and differences from the files that exist.

A listing shows the files that exist, not those that should exist. Without this comparison, a
deleted base file shows an older version of its records, a deleted skeleton loses rows, and a folder
without its partition metadata is not a partition. Only commits of the active timeline are compared;
the files of archived ones are unknown here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from framework.errors import CorruptFileError, RetryableError, Where
from framework.hudi.filegroup.slices import Extent, FileSlice, LogFileName, group_and_instant_of
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import PARTITION_METADATA, join, name_of
from framework.hudi.timeline.commit_body import CommitBody, FileStat, read_commit_body
from framework.hudi.timeline.instant import DATA_ACTIONS, Action
from framework.hudi.timeline.timeline import Timeline, load_timeline
from framework.hudi.view.changes import read_changes
from framework.hudi.view.port import FileSystemView, Query

__all__ = ["CheckableView", "CheckedView", "Damage", "RecordedFiles", "lost_partition"]

_RESTORE: Final = "Restore it from a copy, or restore the table to an instant before its commit."
_REMEDIES: Final = {
    "table/file-lost": _RESTORE,
    "table/file-size": _RESTORE,
    "table/file-not-recorded": "Find out which writer made it: its rows may be duplicates. Move it "
    "out of the table once you know that they are not needed.",
    "table/partition-lost": "Restore the file from a copy, or copy it from a partition of the same "
    "depth.",
}

_REMOVERS: Final = frozenset({Action.CLEAN, Action.ROLLBACK, Action.RESTORE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file or partition that differs from the record of a completed commit.

    Attributes:
        condition: `table/file-lost`, `table/file-size`, `table/file-not-recorded`,
            `table/partition-lost`.
        message: the problem, without the location.
        path: path of the file, relative to the table.
        partition_path: path of its partition.
        instant: the commit that recorded it; `""` if unknown.
    """

    condition: str
    message: str
    path: str
    partition_path: str
    instant: str

    def error(self, location: str, others: int = 0) -> CorruptFileError:
        """Return the error for a table at `location` in which `others` more files are damaged."""
        more = f"; {others:,} more files are damaged" if others else ""
        return CorruptFileError(
            self.condition,
            self.message + more,
            where=Where(
                file=f"{location}/{self.path}",
                partition=self.partition_path or None,
                instant=self.instant or None,
            ),
            remedy=self.remedy,
        )

    @property
    def remedy(self) -> str:
        """The remedy."""
        return _REMEDIES[self.condition]


def lost_partition(partition_path: str, instant: str) -> Damage:
    """Return the damage of a partition written by `instant` without partition metadata."""
    return Damage(
        condition="table/partition-lost",
        message="the partition has recorded files, but no partition metadata",
        path=join(partition_path, PARTITION_METADATA),
        partition_path=partition_path,
        instant=instant,
    )


class _Base(NamedTuple):
    """A recorded base file; `size` is 0 if no commit records it."""

    name: str
    instant: str
    size: int


class _Group(NamedTuple):
    """The recorded files of one file group: its newest base file, and all log files by name."""

    base: _Base | None
    logs: dict[str, tuple[Extent, ...]]


class RecordedFiles:
    """The files that the completed commits of a timeline recorded.

    Construction reads each completed commit of the active timeline. Holds their text, and the files
    of one partition at a time.

    Raises:
        CorruptFileError: `timeline/empty-commit`, `timeline/corrupt-commit`.
        StorageError: a commit cannot be read.
    """

    def __init__(self, storage: Storage, timeline: Timeline) -> None:
        self._storage = storage
        self._timeline = timeline
        self._bodies: dict[str, CommitBody] = {}
        self._writers: dict[str, list[str]] = defaultdict(list)
        self._replaced: dict[str, set[str]] = defaultdict(set)
        for instant in timeline.completed:
            if instant.action in DATA_ACTIONS:
                self._add(instant.requested_time, read_commit_body(storage, instant.path))

    def _add(self, instant: str, body: CommitBody) -> None:
        """Add a commit; call it oldest first."""
        self._bodies[instant] = body
        for path in body.partitions:
            self._writers[path].append(instant)
        for path, file_ids in body.replaced.items():
            self._replaced[path] |= file_ids

    def committed(self, partition_path: str, slices: Sequence[FileSlice]) -> list[FileSlice]:
        """Return the slices of a partition with the recorded extents of their log files.

        `slices` are the latest of every file group of the partition, as of the timeline.

        Raises:
            CorruptFileError: the first of `damages`.
            RetryableError: `read/files-removed`; another writer removed files meanwhile.
        """
        groups = self._groups(partition_path)
        self._raise(self._differences(partition_path, slices, groups))
        return [_with_extents(each, groups.get(each.group.file_id)) for each in slices]

    def check_partitions(self, found: Collection[str], unmarked: Iterable[Damage]) -> None:
        """Raise if a listing did not find a partition with recorded files.

        Raises:
            CorruptFileError: `table/partition-lost`.
            RetryableError: `read/files-removed`.
        """
        lost = {each.path: each for each in (*unmarked, *self.lost_partitions(found))}
        self._raise(lost.values())

    def damages(self, partition_path: str, slices: Sequence[FileSlice]) -> list[Damage]:
        """Return the differences of a partition's latest slices from the recorded files."""
        groups = self._groups(partition_path)
        return list(self._differences(partition_path, slices, groups))

    def stats(self, partition_path: str) -> Iterator[tuple[str, FileStat]]:
        """Yield every file that completed commits recorded in a partition, oldest commit first.

        With the commit; files of older slices and of replaced groups included.
        """
        for instant in self._writers.get(partition_path, ()):
            for stat in self._bodies[instant].stats(partition_path):
                yield instant, stat

    def lost_partitions(self, found: Collection[str]) -> list[Damage]:
        """Return the recorded partitions with records that a listing did not find."""
        return [
            lost_partition(path, self._writers[path][0])
            for path in sorted(self._writers.keys() - set(found))
            if self._groups(path)
        ]

    def _groups(self, partition_path: str) -> dict[str, _Group]:
        """Return the groups of a partition that no completed commit replaced, by file id."""
        hidden = self._replaced.get(partition_path, set())
        found: dict[str, _Group] = {}
        for instant in self._writers.get(partition_path, ()):
            for stat in self._bodies[instant].stats(partition_path):
                if stat.file_id not in hidden:
                    known = found.get(stat.file_id) or _Group(None, {})
                    found[stat.file_id] = _with_stat(known, stat, instant)
        return found

    def _differences(
        self, path: str, slices: Sequence[FileSlice], groups: dict[str, _Group]
    ) -> Iterator[Damage]:
        """Yield the differences of slices and recorded groups."""
        there = {each.group.file_id: each for each in slices}
        for file_id, group in groups.items():
            for condition, name, instant, message in _compared(there.get(file_id), group):
                yield Damage(
                    condition=condition,
                    message=message,
                    path=join(path, name),
                    partition_path=path,
                    instant=instant,
                )
        for each in slices:
            yield from self._unrecorded(each, groups.get(each.group.file_id))

    def _unrecorded(self, found: FileSlice, group: _Group | None) -> Iterator[Damage]:
        """Yield a base file whose instant is of a commit that does not name it."""
        base = found.base
        if base is None or base.name.instant not in self._bodies:
            return
        known = group.base if group else None
        is_older = known is not None and known.instant > base.name.instant  # that file is lost
        if not is_older and (known is None or known.name != name_of(base.path)):
            yield Damage(
                condition="table/file-not-recorded",
                message="the file has the instant of a completed commit that does not name it",
                path=base.path,
                partition_path=found.group.partition_path,
                instant=base.name.instant,
            )

    def without_removed(
        self, suspected: Iterable[Damage], *, of_old_slices: bool = False
    ) -> list[Damage]:
        """Return the damages except those of files that a completed clean removed.

        A file of a commit that a savepoint kept on the timeline may have been replaced by an
        archived commit. Costs nothing without damages, else a listing of the timeline and a read of
        each clean, rollback and restore.

        Args:
            suspected: the damages.
            of_old_slices: whether none of the files is of a latest slice; then a clean before a
                restore counts too.
        """
        found = list(suspected)
        if not found:
            return []
        cleaned, _ = self._removed(over_restores=of_old_slices)
        return [each for each in found if not self._names(each) <= cleaned]

    def _raise(self, suspected: Iterable[Damage]) -> None:
        """Raise for the first damage that no clean explains."""
        found = list(suspected)
        if not found:
            return
        cleaned, since = self._removed()
        lost = [each for each in found if not self._names(each) <= cleaned]
        if lost and all(self._names(each) <= since for each in lost):
            raise RetryableError(
                "read/files-removed",
                "another writer removed files of the table while it was being read",
                where=Where(file=f"{self._storage.location}/{lost[0].path}"),
                remedy="Read again.",
            )
        if lost:
            raise lost[0].error(self._storage.location, len(lost) - 1)

    def _names(self, damage: Damage) -> frozenset[str]:
        """Return the names of the damaged files; for a lost partition, all its files."""
        if damage.condition != "table/partition-lost":
            return frozenset({name_of(damage.path)})
        groups = self._groups(damage.partition_path).values()
        bases = {each.base.name for each in groups if each.base}
        return frozenset(bases.union(*(each.logs for each in groups)))

    def _removed(self, *, over_restores: bool = False) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names of files that cleans removed, and of files removed since this timeline.

        A clean before a restore counts only `over_restores`, since the restore may have undone the
        commit that replaced the file.
        """
        known = set(self._timeline.completed)
        cleaned: set[str] = set()
        since: set[str] = set()
        for instant in load_timeline(self._storage).completed:
            if instant.action not in _REMOVERS:
                continue
            parts = read_changes(self._storage, instant).partitions.values()
            gone = set().union(*(part.gone for part in parts))
            if instant not in known:
                since |= gone
            elif instant.action is Action.CLEAN:
                cleaned |= gone
            elif instant.action is Action.RESTORE and not over_restores:
                cleaned.clear()
        return frozenset(cleaned), frozenset(since)


class CheckableView(FileSystemView, Protocol):
    """A view that records the folders it excluded because they lack partition metadata."""

    @property
    def unmarked(self) -> Sequence[Damage]:
        """As in `ListingView`, for the last call of `partitions`."""
        ...


class CheckedView:
    """A view whose results are compared with the records of completed commits."""

    def __init__(self, view: CheckableView, recorded: RecordedFiles) -> None:
        self._view = view
        self._recorded = recorded

    def partitions(self) -> Iterator[str]:
        """Yield the partition paths of the wrapped view.

        Raises:
            CorruptFileError: `table/partition-lost`, after the last path.
        """
        found = []
        for path in self._view.partitions():
            found.append(path)
            yield path
        self._recorded.check_partitions(found, self._view.unmarked)

    def select(self, query: Query) -> Sequence[FileSlice]:
        """Return the wrapped view's result; only `latest_slices` is compared."""
        return self._view.select(query)

    def latest_slices(self, partition_path: str) -> Sequence[FileSlice]:
        """Return the newest state of each file group, by file id.

        Raises:
            CorruptFileError: `table/file-lost`, `table/file-size`, `table/file-not-recorded`.
            RetryableError: `read/files-removed`.
        """
        slices = self._view.latest_slices(partition_path)
        return self._recorded.committed(partition_path, slices)


def _with_stat(group: _Group, stat: FileStat, instant: str) -> _Group:
    """Return a group with one more recorded file."""
    name = name_of(stat.path)
    if not name.startswith("."):
        return group._replace(base=_newer(group.base, _Base(name, instant, stat.size)))
    below = stat.base_file and group_and_instant_of(stat.base_file)
    if stat.base_file and below:
        group = group._replace(base=_newer(group.base, _Base(stat.base_file, below[1], 0)))
    extents = group.logs.get(name, ())
    if stat.size:
        start = max(stat.log_offset, 0)
        extents = (*extents, Extent(instant, start, stat.size))
    return group._replace(logs={**group.logs, name: extents})


def _newer(known: _Base | None, other: _Base) -> _Base:
    """Return the base file of the later instant; if equal, the one with a known size."""
    if known is None or (known.instant, known.size > 0) <= (other.instant, other.size > 0):
        return other
    return known


def _compared(found: FileSlice | None, group: _Group) -> Iterator[tuple[str, str, str, str]]:
    """Yield condition, file name, instant and message of each difference."""
    base = found.base if found else None
    at = base.name.instant if base else ""
    wanted = group.base
    if wanted is not None and at < wanted.instant:
        yield "table/file-lost", wanted.name, wanted.instant, "a recorded base file is missing"
        return
    if base and wanted and at == wanted.instant and 0 < wanted.size != base.size:
        yield _sized(wanted.name, wanted.instant, base.size, wanted.size)
    there = {name_of(each.path): each for each in (found.logs if found else ())}
    for name, extents in group.logs.items():
        if _is_older(name, at):
            continue
        log = there.get(name)
        if log is None:
            instant = extents[0].instant if extents else at
            yield "table/file-lost", name, instant, "a recorded log file is missing"
        elif extents and (last := max(extents, key=lambda each: each.end)).end > log.size:
            yield _sized(name, last.instant, log.size, last.end)


def _sized(name: str, instant: str, size: int, recorded: int) -> tuple[str, str, str, str]:
    """Return the difference for a file of another size than recorded."""
    message = f"the file has {size:,} bytes, but its commit recorded {recorded:,}"
    return "table/file-size", name, instant, message


def _is_older(name: str, base_instant: str) -> bool:
    """Return whether a log file belongs to a slice before that of a base file."""
    log = LogFileName.parse(name)
    return log is None or log.is_cdc or log.base_instant < base_instant


def _with_extents(found: FileSlice, group: _Group | None) -> FileSlice:
    """Return a slice with the recorded extents of its log files."""
    if not found.logs or group is None:
        return found
    logs = (each._replace(committed=group.logs.get(name_of(each.path), ())) for each in found.logs)
    return found._replace(logs=tuple(logs))
