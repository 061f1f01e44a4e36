"""What a clean must know of a table, from its commits and earlier cleans, without listing folders.

A partition is listed only where an old slice is known by its instant alone, since the commit that
names its files is archived; and all are where commits are archived and no clean is on the timeline.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from framework.hudi.filegroup.slices import BaseFileName, FileGroupId, LogFileName, slice_of
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, join, name_of
from framework.hudi.timeline.action_metadata import read_savepoint
from framework.hudi.timeline.archive import archive_files
from framework.hudi.timeline.commit_body import CommitBody, read_commit_body
from framework.hudi.timeline.commit_metadata import WriteStat
from framework.hudi.timeline.instant import DATA_ACTIONS, Action, Instant
from framework.hudi.timeline.timeline import Timeline
from framework.hudi.view.changes import InstantChanges, read_changes
from framework.hudi.view.listing_view import ListingView
from framework.plan.services.clean import CleanFacts, CleanPolicy, KnownFile, needs_slice

__all__ = ["SeenTable", "data_commits", "see_table"]

_UNDOING: Final = frozenset({Action.ROLLBACK, Action.RESTORE})
_NONE: Final = ("", "")
_Event: TypeAlias = CommitBody | InstantChanges


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTable:
    """The facts of a clean; `sizes` are bytes by path as far as known, `listed` is as in a plan."""

    facts: CleanFacts
    sizes: Mapping[str, int]
    listed: tuple[str, ...]


@dataclass(slots=True)
class _Partition:
    """What commits and cleans recorded of a partition.

    Attributes:
        files: by path.
        mentioned: slices that commits refer to without naming their files, by group.
        deleted: names of files that cleans deleted.
    """

    files: dict[str, KnownFile] = field(default_factory=dict)
    mentioned: set[tuple[FileGroupId, str]] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)


def data_commits(timeline: Timeline) -> tuple[Instant, ...]:
    """Return the completed instants of data before the first pending one, oldest first."""
    pending = min(
        (e.requested_time for e in timeline.pending if e.action in DATA_ACTIONS), default="~"
    )
    done = (each for each in timeline.completed if each.action in DATA_ACTIONS)
    return tuple(each for each in done if each.requested_time < pending)


def see_table(
    storage: Storage,
    timeline: Timeline,
    properties: Mapping[str, str],
    policy: CleanPolicy,
    earliest: str,
) -> SeenTable:
    """Return the facts; reads each active commit, clean, rollback and savepoint once."""
    commits = data_commits(timeline)
    bodies = [read_commit_body(storage, each.path) for each in commits]
    cleans = [each for each in timeline.completed if each.action is Action.CLEAN]
    undone = sorted(each for each in timeline.completed if each.action in _UNDOING)
    events: list[_Event] = [*(read_changes(storage, each) for each in undone), *bodies]
    replaced = _replaced(commits, bodies)
    sizes: dict[str, int] = {}
    parts = {path: _recorded(path, events, sizes) for path in _touched(bodies)}
    for clean in cleans:
        for path, change in read_changes(storage, clean).partitions.items():
            if path in parts:
                parts[path].deleted |= change.gone
    find = _Unknown(timeline=timeline, policy=policy, earliest=earliest, replaced=replaced)
    unknown = {path for path, part in parts.items() if find.has_unknown(path, part)}
    view = ListingView(storage, timeline)
    if not cleans and archive_files(storage, properties):
        unknown = set(view.partitions())
    for path in sorted(unknown):
        parts[path] = _listed(view, path, timeline, sizes)
    points = [each for each in timeline.completed if each.action is Action.SAVEPOINT]
    facts = CleanFacts(
        commits=tuple(each.requested_time for each in commits),
        files=tuple(e for e in _remaining(parts.values()) if timeline.is_completed(e.instant)),
        replaced=replaced,
        held=_held(storage, points),
        savepoints=tuple(each.requested_time for each in points),
    )
    return SeenTable(facts=facts, sizes=sizes, listed=tuple(sorted(unknown)))


def _touched(bodies: Iterable[CommitBody]) -> list[str]:
    """Return the partitions that may have an old slice: written twice, or with replaced groups."""
    seen: set[str] = set()
    found: dict[str, None] = {}
    for body in bodies:
        for path in body.partitions:
            if path in seen or _refers_back(body, path):
                found[path] = None
            seen.add(path)
        found.update(dict.fromkeys(body.replaced))
    return list(found)


def _refers_back(body: CommitBody, path: str) -> bool:
    """Return whether a commit changes slices that an earlier one wrote."""
    if BOOTSTRAP_INSTANT in name_of(body.file):
        return False
    return any(stat.prev_commit not in {None, "null"} for stat in body.stats(path))


def _recorded(path: str, events: Iterable[_Event], sizes: dict[str, int]) -> _Partition:
    """Return the files that rollbacks, restores and then commits recorded in a partition.

    Apache Hudi's rollback of a log write keeps the log file, and writes another one, which makes
    readers skip blocks; no commit names either. A file that a commit names was not rolled back.
    """
    found = _Partition()
    for event in events:
        if isinstance(event, CommitBody):
            for stat in event.written(path):
                _record(found, stat)
                sizes[stat.path] = max(sizes.get(stat.path, 0), stat.size)
        elif change := event.partitions.get(path):
            for name, file in change.added.items():
                file_id, instant = slice_of(name) or _NONE
                group = FileGroupId(partition_path=path, file_id=file_id)
                found.files[file.path] = KnownFile(group, instant, file.path)
                found.mentioned.add((group, instant))
                sizes[file.path] = file.size
            for name in change.gone:
                found.files.pop(join(path, name), None)
    return found


def _record(found: _Partition, stat: WriteStat) -> None:
    group = FileGroupId(partition_path=stat.partition_path, file_id=stat.file_id)
    name = name_of(stat.path)
    if log := LogFileName.parse(name):
        found.files[stat.path] = KnownFile(group, log.base_instant, stat.path)
        found.mentioned.add((group, log.base_instant))
    elif base := BaseFileName.parse(name):
        found.files[stat.path] = KnownFile(group, base.instant, stat.path)
        if stat.previous:
            found.mentioned.add((group, stat.previous))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unknown:
    """Finds slices that are to go and whose files only archived commits name.

    Attributes:
        timeline: of the table.
        policy: of the clean.
        earliest: its earliest retained commit, "" without one.
        replaced: the instant that replaced a group.
    """

    timeline: Timeline
    policy: CleanPolicy
    earliest: str
    replaced: Mapping[FileGroupId, str]

    def has_unknown(self, path: str, part: _Partition) -> bool:
        """Return whether a partition has such a slice."""
        deleted = {slice_of(name) or _NONE for name in part.deleted}
        bases = {
            (e.group, e.instant) for e in part.files.values() if not name_of(e.path).startswith(".")
        }
        slices: dict[FileGroupId, set[str]] = defaultdict(set)
        for group, instant in part.mentioned | bases:
            slices[group].add(instant)
        for group, instant in part.mentioned - bases:
            is_gone = (group.file_id, instant) in deleted or not self._is_archived(instant)
            if not is_gone and instant not in self._kept(group, slices[group]):
                return True
        seen = {file_id for file_id, _ in deleted} | {group.file_id for group in slices}
        due = (each for each in self.replaced if self._is_due(each))
        return any(e.partition_path == path and e.file_id not in seen for e in due)

    def _is_archived(self, instant: str) -> bool:
        """Return whether an instant completed, and is not on the active timeline any more."""
        return self.timeline.is_completed(instant) and not self.timeline.find(instant)

    def _kept(self, group: FileGroupId, instants: set[str]) -> frozenset[str]:
        if self._is_due(group):
            return frozenset()
        return needs_slice(instants, self.policy, self.earliest)

    def _is_due(self, group: FileGroupId) -> bool:
        """Return whether a replaced group goes."""
        at = self.replaced.get(group)
        return at is not None and (self.policy.keep_versions is not None or at < self.earliest)


def _listed(view: ListingView, path: str, timeline: Timeline, sizes: dict[str, int]) -> _Partition:
    """Return the files that are there."""
    found = _Partition()
    for entry in view.entries(path):
        file_id, instant = slice_of(entry.name) or _NONE
        log = LogFileName.parse(entry.name)
        if file_id and (log is not None or timeline.is_completed(instant)):
            group = FileGroupId(partition_path=path, file_id=file_id)
            found.files[entry.path] = KnownFile(group, instant, entry.path)
            sizes[entry.path] = entry.size
    return found


def _remaining(parts: Iterable[_Partition]) -> Iterator[KnownFile]:
    """Yield the files that no clean has deleted, oldest slices first."""
    for part in parts:
        for each in part.files.values():
            if name_of(each.path) not in part.deleted:
                yield each


def _replaced(
    commits: Iterable[Instant], bodies: Iterable[CommitBody]
) -> Mapping[FileGroupId, str]:
    """Return the instant that replaced each group."""
    return {
        FileGroupId(partition_path=path, file_id=file_id): instant.requested_time
        for instant, body in zip(commits, bodies, strict=True)
        for path, ids in body.replaced.items()
        for file_id in ids
    }


def _held(storage: Storage, points: Iterable[Instant]) -> frozenset[str]:
    """Return the paths under a savepoint."""
    parts = (read_savepoint(storage, each.path) for each in points)
    return frozenset(join(path, name) for part in parts for path, ns in part.items() for name in ns)
