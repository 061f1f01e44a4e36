"""The incremental view: partitions are listed once, then follow the timeline (RFC-03).

A sync lists `.hoodie`, reads the instants that completed since the last one, and updates the groups
they name; it lists no partition. If an instant's metadata is not exact, the view drops the
partition, which is listed again on its next use. If the new timeline cannot be reached by steps,
the view drops everything. Both are counted.

All of it happens under one lock: a query is answered as of before a sync or after it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import RLock
from typing import Final

from framework.errors import CorruptFileError, StorageError
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.filegroup.group import FileGroup, decode_group, encode_group
from framework.hudi.filegroup.slices import FileGroupId, FileSlice
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import PARTITION_METADATA, join
from framework.hudi.timeline.instant import Instant
from framework.hudi.view.changes import InstantChanges, PartitionChanges, read_changes
from framework.hudi.view.counted import file_id_of, is_skeleton, load_records
from framework.hudi.view.facts import TableFacts, read_facts
from framework.hudi.view.known import Known, Step, look, step
from framework.hudi.view.listing_view import ListingView, partition_order
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.recorded import Damage
from framework.hudi.view.selection import answer, select
from framework.hudi.view.stores.port import GroupStore, StoreUsage

__all__ = ["IncrementalView", "ViewCounts"]

_MERGED: Final = Query(selection=Selection.MERGED)
_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewCounts:
    """Counters of a view.

    Attributes:
        listings: folders of the table that were listed, excluding `.hoodie`.
        looks: listings of `.hoodie`.
        syncs: looks that found new instants.
        instants: instants whose metadata was read for a sync.
        rebuilt: partitions that were dropped because an instant's metadata was not exact.
        resets: number of times everything was dropped.
    """

    listings: int = 0
    looks: int = 0
    syncs: int = 0
    instants: int = 0
    rebuilt: int = 0
    resets: int = 0


class IncrementalView:
    """A view over a store. Thread-safe.

    Attribute `unmarked` is as in `ListingView`.

    Args:
        storage: the table's storage.
        store: holds the groups; used by this view only.
        known: the timeline of a filled `store`; None starts afresh.
        partitions: the table's partitions as of `known`; None if unknown.
        incremental: whether to follow instants; if not, every sync with news drops everything, as
            in Apache Hudi's default.
    """

    def __init__(
        self,
        storage: Storage,
        store: GroupStore,
        *,
        known: Known | None = None,
        partitions: Iterable[str] | None = None,
        incremental: bool = True,
    ) -> None:
        self._storage = storage
        self._store = store
        self._incremental = incremental
        self._lock = RLock()
        self._known = known
        self._facts: TableFacts | None = None
        self._partitions = None if partitions is None else set(partitions)
        self._index: BootstrapIndex | None = None
        self._index_is_open = False
        self._counts = ViewCounts()
        self._version = 0
        self.unmarked: list[Damage] = []

    @property
    def lock(self) -> RLock:
        """The view's lock; hold it to get several results as of one timeline."""
        return self._lock

    @property
    def facts(self) -> TableFacts:
        """The timeline of the last sync and its facts; the first use syncs."""
        with self._lock:
            if self._facts is None:
                self.sync()
            return self._facts or TableFacts(timeline=self._look().timeline)

    @property
    def version(self) -> int:
        """The number of syncs with news; equal versions give equal results."""
        return self._version

    @property
    def known(self) -> Known | None:
        """The timeline's files as of the last sync."""
        return self._known

    @property
    def known_partitions(self) -> frozenset[str] | None:
        """The partitions as of the last sync, None if not used yet."""
        return None if self._partitions is None else frozenset(self._partitions)

    @property
    def location(self) -> str:
        """The location of the table."""
        return self._storage.location

    @property
    def counts(self) -> ViewCounts:
        """The view's counters."""
        return self._counts

    @property
    def store(self) -> GroupStore:
        """The store of the groups; use it under the lock."""
        return self._store

    def usage(self) -> StoreUsage:
        """Return the size of the store."""
        with self._lock:
            return self._store.usage()

    def sync(self) -> bool:
        """Advance to the table's current timeline; return whether anything was new.

        Costs one listing of `.hoodie`, and one read for each new instant if partitions are loaded,
        regardless of the table's size.

        Raises:
            CorruptFileError: an instant with facts is damaged; the view is unchanged.
            StorageError: the timeline cannot be read; the view is unchanged.
        """
        with self._lock:
            for attempt in range(_ATTEMPTS):
                try:
                    return self._sync()
                except StorageError as error:
                    # An instant may be archived between the listing and the reading.
                    if error.condition != "storage/not-found" or attempt == _ATTEMPTS - 1:
                        raise
        return False

    def partitions(self) -> Iterator[str]:
        """Yield the partitions by name at each level; the first use lists the table's folders."""
        with self._lock:
            if self._partitions is None:
                facts = self.facts  # before the walk: a sync adds later ones
                listing = ListingView(self._storage, facts.timeline)
                found = list(listing.partitions())
                self._count(listings=listing.listings)
                self.unmarked = listing.unmarked
                if self.unmarked:  # list again next time: it may be repaired by then
                    return iter(found)
                self._partitions = set(found)
            return iter(sorted(self._partitions, key=partition_order))

    def select(self, query: Query) -> list[FileSlice]:
        """Return the slices that a query selects; costs one listing for each new partition."""
        with self._lock:
            return answer(query, self)

    def latest_slices(self, partition_path: str) -> Sequence[FileSlice]:
        """Return the newest state of each file group, by file id."""
        with self._lock:
            return list(select(_MERGED, self.groups(partition_path), self.facts))

    def groups(
        self, partition_path: str, file_ids: Sequence[str] | None = None
    ) -> Iterator[FileGroup]:
        """Yield the groups of a partition by file id, as in `records`."""
        for file_id, record in sorted(self.records(partition_path, file_ids).items()):
            id_ = FileGroupId(partition_path=partition_path, file_id=file_id)
            yield decode_group(id_, record)

    def records(
        self, partition_path: str, file_ids: Collection[str] | None = None
    ) -> Mapping[str, bytes]:
        """Return the records of a partition's groups; list it if it is not loaded.

        Groups in `file_ids` are looked up one by one; missing ones are omitted.
        """
        with self._lock:
            if file_ids is None:
                found = self._store.records(partition_path)
                return self._load(partition_path) if found is None else found
            look = self._store.record
            named = {id_: it for id_ in file_ids if (it := look(partition_path, id_)) is not None}
            if named or self._store.is_loaded(partition_path):
                return named
            there = self._load(partition_path)
            return {id_: there[id_] for id_ in file_ids if id_ in there}

    def record(self, partition_path: str, file_id: str) -> bytes | None:
        """Return one record, None if there is no such group; list the partition if needed."""
        with self._lock:
            found = self._store.record(partition_path, file_id)
            if found is None and not self._store.is_loaded(partition_path):
                return self._load(partition_path).get(file_id)
            return found

    def is_special(self, partition_path: str, file_id: str) -> bool:
        """Return whether the timeline affects a group beyond which of its files count.

        That is the case if the group was replaced or any compaction is planned.
        """
        facts = self._facts or self.facts
        return bool(facts.compactions) or facts.replaced_at(partition_path, file_id) is not None

    def forget(self) -> None:
        """Drop everything loaded; it is listed again on its next use."""
        with self._lock:
            self._reset()

    def close(self) -> None:
        """Release files."""
        with self._lock:
            self._close_index()
            self._store.close()

    def _load(self, partition_path: str) -> Mapping[str, bytes]:
        """List a partition and store its groups whose instants count."""
        facts = self.facts
        listing = ListingView(self._storage, facts.timeline, self._open_index())
        records = load_records(listing, facts, partition_path)
        self._count(listings=listing.listings)
        self._store.put(partition_path, records)
        return records

    def _open_index(self) -> BootstrapIndex | None:
        """Open the bootstrap index once."""
        if not self._index_is_open:
            self._index = BootstrapIndex.open(self._storage)
            self._index_is_open = True
        return self._index

    def _close_index(self) -> None:
        """Close the bootstrap index; the table may be replaced by another."""
        if self._index is not None:
            self._index.close()
        self._index, self._index_is_open = None, False

    def _look(self) -> Known:
        """List the timeline and count the listing."""
        self._count(looks=1)
        return look(self._storage)

    def _sync(self) -> bool:
        """Sync once; change nothing before everything is read."""
        after = self._look()
        before = self._known
        if before is not None and before.files == after.files and self._facts is not None:
            return False
        found = Step() if before is None else step(before, after)
        shared = None if found.begins_anew else self._facts
        facts = read_facts(self._storage, after.timeline, shared)
        changes = None if found.begins_anew else self._changes(found)
        self._take(changes)
        self._known, self._facts = after, facts
        self._version += 1
        self._count(syncs=1)
        return True

    def _changes(self, found: Step) -> list[InstantChanges] | None:
        """Read the changes of new instants; return None if they are not complete."""
        if self._partitions is None and not any(True for _ in self._store.loaded()):
            self._close_index()  # it may have been replaced unnoticed
            return []
        if not self._incremental and (found.new or found.lost):
            return None
        changes = []
        with suppress(CorruptFileError):
            changes = [self._read(each) for each in found.new]
            undone = frozenset().union(*(each.undone for each in changes))
            return changes if found.lost <= undone else None
        return None

    def _read(self, instant: Instant) -> InstantChanges:
        """Read one instant and count it."""
        self._count(instants=1)
        return read_changes(self._storage, instant)

    def _take(self, changes: Iterable[InstantChanges] | None) -> None:
        """Apply changes to the store; drop everything if that fails."""
        if changes is None:
            self._reset()
            return
        try:
            for each in changes:
                for path, part in each.partitions.items():
                    self._change(path, part)
        except BaseException:
            self._reset()
            raise

    def _change(self, path: str, part: PartitionChanges) -> None:
        """Apply changes to one partition."""
        if self._partitions is not None:
            is_gone = part.is_dropped and not self._is_partition(path)
            (self._partitions.discard if is_gone else self._partitions.add)(path)
        skeletons = any(is_skeleton(each) for each in part.added.values())
        if skeletons:
            self._close_index()
        if not self._store.is_loaded(path):
            return
        if part.is_unclear or part.is_dropped or skeletons:
            self._store.drop(path)
            self._count(rebuilt=1)
            return
        self._store.change(path, dict(self._changed(path, part)))

    def _is_partition(self, path: str) -> bool:
        """Return whether a removed partition exists: it may have been created again."""
        return self._storage.stat(join(path, PARTITION_METADATA)) is not None

    def _changed(self, path: str, part: PartitionChanges) -> Iterator[tuple[str, bytes | None]]:
        """Yield the records of the groups that an instant touched; None for an empty group."""
        added = defaultdict(list)
        for file in part.added.values():
            added[file.name.file_id].append(file)
        gone = frozenset(part.gone)
        touched = added.keys() | {each for each in map(file_id_of, gone) if each}
        for file_id in touched:
            id_ = FileGroupId(partition_path=path, file_id=file_id)
            group = decode_group(id_, self._store.record(path, file_id) or b"")
            after = group.with_files(added[file_id], gone)
            yield file_id, None if after.is_empty else encode_group(after)

    def _reset(self) -> None:
        """Drop everything."""
        had = self._partitions is not None or any(True for _ in self._store.loaded())
        self._store.clear()
        self._partitions = None
        self._close_index()
        if had:
            self._count(resets=1)

    def _count(self, **more: int) -> None:
        """Add to the counters."""
        sums = {name: getattr(self._counts, name) + n for name, n in more.items()}
        self._counts = replace(self._counts, **sums)
