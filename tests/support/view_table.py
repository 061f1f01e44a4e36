"""A table with several writers, and the true state of its files: which count, and their sizes.

Writes are recorded on the timeline in Apache Hudi's format, and also here, so that a view's answer
can be compared with a listing of only the files of completed instants. Files are empty; only names
and sizes matter to views.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random

from framework.hudi.bootstrap.index import FileMapping, IndexGroup
from framework.hudi.filegroup.slices import BaseFileName, LogFileName
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.table.layout import (
    BOOTSTRAP_FILEIDS_INDEX,
    BOOTSTRAP_INSTANT,
    BOOTSTRAP_PARTITIONS_INDEX,
    PARTITION_METADATA,
    join,
)
from framework.hudi.timeline.commit_metadata import CommitHead, LogAppend, WriteStat, write_commit
from framework.hudi.timeline.instant import Action, Instant, InstantState
from tests.support.bootstrap_index import BASE_URI, CREATED_MS, write_index
from tests.support.storage_suite import put
from tests.support.timeline_metadata import Operation

__all__ = ["Deed", "Files", "Slice", "ViewedTable", "Write", "parsed"]

Files = dict[str, dict[str, int]]
"""Sizes by partition path and file name."""

_FIRST = 20260101000000000
_TOKENS = ("0-1-1", "1-0-1")
_REQUESTED, _INFLIGHT, _COMPLETED = InstantState


@lru_cache(maxsize=4096)
def parsed(name: str) -> BaseFileName | LogFileName | None:
    """Return the parts of a file's name."""
    return BaseFileName.parse(name) or LogFileName.parse(name)


@dataclass(kw_only=True)
class Write:
    """An instant that writes files, completed or pending.

    Attributes:
        time: requested time.
        action: its action while it is pending.
        files: its files, with the sizes that it will record.
        grown: those of `files` that existed before.
        replaced: file ids that it replaces, by partition path.
        plan: the plan of a compaction or clustering.
    """

    time: str
    action: Action
    files: Files = field(default_factory=dict)
    grown: set[tuple[str, str]] = field(default_factory=set)
    replaced: dict[str, list[str]] = field(default_factory=dict)
    plan: tuple[Operation, ...] = ()

    @property
    def completes_as(self) -> Action:
        """The action of its completed file."""
        changed = {Action.COMPACTION: Action.COMMIT, Action.LOGCOMPACTION: Action.DELTACOMMIT}
        return changed.get(self.action, self.action)

    def groups(self) -> set[tuple[str, str]]:
        """Return the groups that it works on."""
        found = {(each.partition_path, each.file_id) for each in self.plan}
        for path, names in self.files.items():
            found |= {(path, known.file_id) for known in map(parsed, names) if known}
        return found


@dataclass(frozen=True, kw_only=True)
class Deed:
    """What a completed instant did to files, and the partitions that it removed."""

    added: Files = field(default_factory=dict)
    gone: Mapping[str, Iterable[str]] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()


@dataclass(kw_only=True)
class Slice:
    """The newest slice of a group, as a writer sees it."""

    instant: str
    base: str | None = None
    logs: list[str] = field(default_factory=list)


class ViewedTable:
    """The table.

    Attributes:
        storage: of the table.
        rng: makes random choices.
        paths: partitions that it may have.
        truth: existing files of completed instants.
        done: completed instants that wrote, on the active timeline.
        pending: pending instants that write.
        services: times of completed cleans, rollbacks and restores on the active timeline.
        savepoints: times that are held.
        archived: the newest completed write that is no longer on the active timeline.
        replaced: groups that completed instants replaced.
        times: all that were ever used.
        deeds: effects of completed instants so far, in order.
        seen: times of pending and of held instants that the view saw.
        look: called where a view may read while a step is half done.
        look_closely: called where it must list everything then.
    """

    def __init__(self, storage: MemoryStorage, rng: Random) -> None:
        self.storage = storage
        self.rng = rng
        self.paths: tuple[str, ...] = rng.choice([("",), ("a", "b"), ("y=1/m=1", "y=1/m=2", "y=2")])
        self.truth: Files = {}
        self.done: dict[str, Write] = {}
        self.pending: list[Write] = []
        self.services: dict[Action, list[str]] = {
            each: [] for each in (Action.CLEAN, Action.ROLLBACK, Action.RESTORE)
        }
        self.savepoints: set[str] = set()
        self.archived = ""
        self.replaced: dict[tuple[str, str], str] = {}
        self.times: list[str] = []
        self.deeds: list[Deed] = []
        self.seen: set[str] = set()
        self.look: Callable[[], None] = lambda: None
        self.look_closely: Callable[[], None] = lambda: None
        self._clock = 0
        self._made = 0

    def next_time(self) -> str:
        """Return a time after all others."""
        self._clock += 1
        self.times.append(str(_FIRST + self._clock))
        return self.times[-1]

    def put(self, time: str, action: Action, state: InstantState, data: bytes = b"") -> None:
        """Write a file of the timeline."""
        instant = Instant(requested_time=time, action=action, state=state)
        put(self.storage, instant.path, data)

    def remove(self, time: str, *actions: Action, only_inflight: bool = False) -> None:
        """Delete an instant's files from the timeline."""
        states = (_INFLIGHT,) if only_inflight else InstantState
        for action in actions:
            for state in states:
                if (action, state) not in _NO_FILE:
                    instant = Instant(requested_time=time, action=action, state=state)
                    self.storage.delete(instant.path)

    def begin(self, write: Write, plan: bytes = b"") -> Write:
        """Put an instant on the timeline, requested and inflight."""
        self.put(write.time, write.action, _REQUESTED, plan)
        if write.action not in (Action.COMPACTION, Action.LOGCOMPACTION):
            self.put(write.time, write.action, _INFLIGHT)
        self.pending.append(write)
        return write

    def complete(self, write: Write, data: bytes | None = None) -> None:
        """Publish an instant; `data` is what its file holds where that is not as it should be."""
        stats = self.commit_bytes(write) if data is None else data
        self.put(write.time, write.completes_as, _COMPLETED, stats)
        if write in self.pending:
            self.pending.remove(write)
        self.done[write.time] = write
        for path, ids in write.replaced.items():
            self.replaced |= dict.fromkeys(((path, each) for each in ids), write.time)
        self.happened(Deed(added=write.files))

    def serve(self, action: Action, time: str, data: bytes, deed: Deed) -> None:
        """Publish a clean, rollback or restore."""
        self.put(time, action, _REQUESTED)
        self.put(time, action, _INFLIGHT)
        self.put(time, action, _COMPLETED, data)
        self.services[action].append(time)
        self.happened(deed)

    def happened(self, deed: Deed) -> None:
        """Keep what is true from now on; a log file never shrinks."""
        for path, names in deed.gone.items():
            for name in names:
                self.truth.get(path, {}).pop(name, None)
        for path in deed.dropped:
            del self.truth[path]
        for path, files in deed.added.items():
            known = self.truth.setdefault(path, {})
            for name, size in files.items():
                if parsed(name) is not None:
                    known[name] = max(size, known.get(name, 0))
        self.deeds.append(deed)

    def commit_bytes(self, write: Write, **sizes: int) -> bytes:
        """Return a write's metadata; `sizes` are sizes by name that differ from the true ones."""
        stats = [
            (
                path,
                [self._stat(path, name, sizes.get(name, size)) for name, size in files.items()],
            )
            for path, files in write.files.items()
        ]
        replaces = write.completes_as is Action.REPLACECOMMIT
        head = CommitHead(extra={"schema": "{}"}, operation="UPSERT")
        out = io.BytesIO()
        write_commit(out, head, stats, replaced=write.replaced if replaces else None)
        return out.getvalue()

    def write_file(self, write: Write, path: str, name: str, *, more: int = 0) -> None:
        """Write a file, or `more` bytes to one that is there."""
        there = self.size_on_disk(path, name)
        size = there + (more or self.rng.randint(1, 60))
        self.put_file(path, name, size)
        write.files.setdefault(path, {})[name] = size
        if there:
            write.grown.add((path, name))

    def put_file(self, path: str, name: str, size: int) -> None:
        """Put a file of that size into a partition, in place of what is there."""
        if self.storage.stat(join(path, PARTITION_METADATA)) is None:
            put(self.storage, join(path, PARTITION_METADATA))
        self.storage.delete(join(path, name))
        put(self.storage, join(path, name), b"x" * size)

    def size_on_disk(self, path: str, name: str) -> int:
        """Return a file's size, 0 where it is not there."""
        entry = self.storage.stat(join(path, name))
        return 0 if entry is None else entry.size

    def new_base(self, time: str, file_id: str | None = None) -> str:
        """Return the name of a base file, by default of a new group."""
        self._made += file_id is None
        token = f"0-{self.rng.randint(1, 9)}-{self.rng.randint(1, 9)}"
        name = BaseFileName(file_id=file_id or f"g{self._made}", write_token=token, instant=time)
        return str(name)

    def new_log(self, path: str, file_id: str, instant: str, token: str | None = None) -> str:
        """Return the name of a slice's next log file; one that was deleted may come again."""
        versions = [
            known.version
            for known in map(parsed, self.truth.get(path, ()))
            if isinstance(known, LogFileName)
            and (known.file_id, known.base_instant) == (file_id, instant)
        ]
        version = max(versions, default=0)
        token = token or self.rng.choice(_TOKENS)
        while True:
            version += 1
            name = f".{file_id}_{instant}.log.{version}_{token}"
            if not self.size_on_disk(path, name):
                return name

    def new_group(self) -> str:
        """Return a new file id."""
        self._made += 1
        return f"g{self._made}"

    def slices(self, path: str) -> dict[str, Slice]:
        """Return the newest slice of each group of a partition, replaced or not."""
        found: dict[str, Slice] = {}
        for name in sorted(self.truth.get(path, ()), key=_instant_of):
            known = parsed(name)
            assert known is not None
            instant = _instant_of(name)
            newest = found.setdefault(known.file_id, Slice(instant=instant))
            if newest.instant != instant:
                newest = found[known.file_id] = Slice(instant=instant)
            if isinstance(known, BaseFileName):
                newest.base = name
            else:
                newest.logs.append(name)
        return found

    def free_groups(
        self, *, planned: bool = True, shared: bool = False
    ) -> list[tuple[str, str, Slice]]:
        """Return the groups that no other instant works on.

        Args:
            planned: those of planned compactions too, which take log files still.
            shared: those that other deltacommits append to as well.
        """
        free = {Action.COMPACTION} if planned else set()
        if shared:
            free.add(Action.DELTACOMMIT)
        busy = {
            group
            for each in self.pending
            if each.action not in free or (each.plan and each.files)
            for group in each.groups()
        }
        return [
            (path, id_, found)
            for path in self.truth
            for id_, found in self.slices(path).items()
            if (path, id_) not in busy and (path, id_) not in self.replaced
        ]

    def compaction_of(self, path: str, file_id: str) -> str | None:
        """Return the time of a group's pending compaction."""
        for each in self.pending:
            if each.action is Action.COMPACTION and (path, file_id) in each.groups():
                return each.time
        return None

    def adopt(self) -> Write:
        """Begin a table over source files: skeletons, their index, and the pending instant."""
        write = Write(time=BOOTSTRAP_INSTANT, action=Action.COMMIT)
        groups = []
        for path in self.paths:
            ids = [self.new_group() for _ in range(self.rng.randint(1, 2))]
            for each in ids:
                self.write_file(write, path, self.new_base(write.time, each))
            files = tuple(self._source(path, each) for each in ids)
            groups.append(IndexGroup(partition_path=path, source_partition=path, files=files))
        partitions, fileids = io.BytesIO(), io.BytesIO()
        write_index(partitions, fileids, groups)
        put(self.storage, BOOTSTRAP_PARTITIONS_INDEX, partitions.getvalue())
        put(self.storage, BOOTSTRAP_FILEIDS_INDEX, fileids.getvalue())
        return self.begin(write)

    def vanish(self) -> None:
        """Delete the table and all that was known of it; its clock may begin anew."""
        self._clock = self.rng.choice((0, self._clock))
        self.archived = ""
        self.storage.delete("")
        self.happened(Deed(dropped=frozenset(self.truth)))
        self.done.clear()
        self.pending.clear()
        self.savepoints.clear()
        self.replaced.clear()
        for times in self.services.values():
            times.clear()

    def _source(self, path: str, file_id: str) -> FileMapping:
        """Return a source file, another each time."""
        uri = f"{BASE_URI}/{path}/{file_id}.parquet"
        return FileMapping(
            file_id=file_id, uri=uri, size=self.rng.randint(1, 10**6), mtime_ms=CREATED_MS
        )

    def _stat(self, path: str, name: str, size: int) -> WriteStat:
        """Return what a commit says of a file."""
        known = parsed(name)
        return WriteStat(
            file_id=known.file_id if known else name,
            path=join(path, name),
            partition_path=path,
            rows=1,
            size=size,
            log=LogAppend(version=known.version) if isinstance(known, LogFileName) else None,
            previous=self._previous(path, known),
        )

    def _previous(self, path: str, known: BaseFileName | LogFileName | None) -> str | None:
        """Return the slice that a log file belongs to, or that a base file follows."""
        if isinstance(known, LogFileName):
            return known.base_instant
        earlier = (
            _instant_of(name)
            for name in self.truth.get(path, ())
            if known is not None and (parts := parsed(name)) and parts.file_id == known.file_id
        )
        times = (each for each in earlier if known is not None and each < known.instant)
        return max(times, default=None)


_NO_FILE = {
    (Action.COMPACTION, _COMPLETED),
    (Action.LOGCOMPACTION, _COMPLETED),
    (Action.SAVEPOINT, _REQUESTED),
}


def _instant_of(name: str) -> str:
    """Return the instant that a file's name says."""
    known = parsed(name)
    assert known is not None
    return known.instant if isinstance(known, BaseFileName) else known.base_instant
