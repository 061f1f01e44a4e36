"""The view that is kept: partitions are listed once, then follow the timeline (RFC-03).

A sync lists `.hoodie`, reads the instants that completed since, and changes the groups that these
name; no partition is listed for it. What an instant's metadata does not say exactly makes the view
forget the partition, which is listed again when it is asked for; what no step leads to makes it
forget all. Both are counted.

All of it happens under one lock: a question is answered as of before a sync or after it.
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
    """What a view did so far.

    Attributes:
        listings: folders of the table that were listed; `.hoodie` is not among them.
        looks: listings of `.hoodie`.
        syncs: looks that found something new.
        instants: instants whose metadata was read for a sync.
        rebuilt: partitions that were forgotten since an instant did not say enough of them.
        resets: how often all was forgotten.
    """

    listings: int = 0
    looks: int = 0
    syncs: int = 0
    instants: int = 0
    rebuilt: int = 0
    resets: int = 0


class IncrementalView:
    """A view over a store. Safe to share between threads.

    Attribute `unmarked` is that of `ListingView`.

    Args:
        storage: of the table.
        store: holds the groups; this view's alone.
        known: the timeline that `store` is as of, where it is not empty; None begins anew.
        partitions: the table's partitions as of then; None: not known.
        incremental: whether instants are followed; if not, every sync that finds something new
            forgets all, as Apache Hudi's default does.
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
        """Held by whoever wants several answers as of one timeline."""
        return self._lock

    @property
    def facts(self) -> TableFacts:
        """The timeline of the last sync, and what it says; the first use is a sync."""
        with self._lock:
            if self._facts is None:
                self.sync()
            return self._facts or TableFacts(timeline=self._look().timeline)

    @property
    def version(self) -> int:
        """Counts syncs that found something new: equal versions give equal answers."""
        return self._version

    @property
    def known(self) -> Known | None:
        """The timeline's files as of the last sync."""
        return self._known

    @property
    def known_partitions(self) -> frozenset[str] | None:
        """The partitions as of the last sync, None where nobody asked for them yet."""
        return None if self._partitions is None else frozenset(self._partitions)

    @property
    def location(self) -> str:
        """Where the table lies."""
        return self._storage.location

    @property
    def counts(self) -> ViewCounts:
        """What the view did so far."""
        return self._counts

    @property
    def store(self) -> GroupStore:
        """What holds the groups; to be looked at under the lock."""
        return self._store

    def usage(self) -> StoreUsage:
        """Return how large the store is."""
        with self._lock:
            return self._store.usage()

    def sync(self) -> bool:
        """Go on to the table's timeline as it is now; return whether there was anything new.

        Costs one listing of `.hoodie`, and one read for each new instant where partitions are
        loaded, however large the table is.

        Raises:
            CorruptFileError: an instant that facts come from is damaged; the view stays as it was.
            StorageError: the timeline cannot be read; the view stays as it was.
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
                facts = self.facts  # before the walk: what comes later is added by a sync
                listing = ListingView(self._storage, facts.timeline)
                found = list(listing.partitions())
                self._count(listings=listing.listings)
                self.unmarked = listing.unmarked
                if self.unmarked:  # listed again next time: it may be repaired by then
                    return iter(found)
                self._partitions = set(found)
            return iter(sorted(self._partitions, key=partition_order))

    def select(self, query: Query) -> list[FileSlice]:
        """Return the slices that a query asks for; costs one listing for each new partition."""
        with self._lock:
            return answer(query, self)

    def latest_slices(self, partition_path: str) -> Sequence[FileSlice]:
        """Return the newest state of each file group, by file id."""
        with self._lock:
            return list(select(_MERGED, self.groups(partition_path), self.facts))

    def groups(
        self, partition_path: str, file_ids: Sequence[str] | None = None
    ) -> Iterator[FileGroup]:
        """Yield the groups of a partition by file id; as of `records`."""
        for file_id, record in sorted(self.records(partition_path, file_ids).items()):
            id_ = FileGroupId(partition_path=partition_path, file_id=file_id)
            yield decode_group(id_, record)

    def records(
        self, partition_path: str, file_ids: Collection[str] | None = None
    ) -> Mapping[str, bytes]:
        """Return the records of a partition's groups; lists it where it is not loaded.

        Groups that are named are looked up one by one, and left out where they are not there.
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
        """Return one record, None where there is no such group; lists the partition if need be."""
        with self._lock:
            found = self._store.record(partition_path, file_id)
            if found is None and not self._store.is_loaded(partition_path):
                return self._load(partition_path).get(file_id)
            return found

    def is_special(self, partition_path: str, file_id: str) -> bool:
        """Return whether the timeline has more to say of a group than which of its files count.

        So it is where the group was replaced, and where compactions are planned.
        """
        facts = self._facts or self.facts
        return bool(facts.compactions) or facts.replaced_at(partition_path, file_id) is not None

    def forget(self) -> None:
        """Forget all that was loaded; it is listed again when it is asked for."""
        with self._lock:
            self._reset()

    def close(self) -> None:
        """Let go of files."""
        with self._lock:
            self._close_index()
            self._store.close()

    def _load(self, partition_path: str) -> Mapping[str, bytes]:
        """List a partition and keep its groups, as far as their instants count."""
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
        """Close the bootstrap index; another table may lie there next."""
        if self._index is not None:
            self._index.close()
        self._index, self._index_is_open = None, False

    def _look(self) -> Known:
        """List the timeline, and count it."""
        self._count(looks=1)
        return look(self._storage)

    def _sync(self) -> bool:
        """Take one step; nothing is changed before all was read."""
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
        """Read what new instants did, None where that does not say all."""
        if self._partitions is None and not any(True for _ in self._store.loaded()):
            self._close_index()  # nobody reads now whether it became another
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
        """Read one instant, and count it."""
        self._count(instants=1)
        return read_changes(self._storage, instant)

    def _take(self, changes: Iterable[InstantChanges] | None) -> None:
        """Change the store; one that fails on the way holds nothing afterwards."""
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
        """Change one partition."""
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
        """Return whether a partition that was removed is there: it may have been made again."""
        return self._storage.stat(join(path, PARTITION_METADATA)) is not None

    def _changed(self, path: str, part: PartitionChanges) -> Iterator[tuple[str, bytes | None]]:
        """Yield the records of the groups that an instant touched; None for one without files."""
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
        """Forget all."""
        had = self._partitions is not None or any(True for _ in self._store.loaded())
        self._store.clear()
        self._partitions = None
        self._close_index()
        if had:
            self._count(resets=1)

    def _count(self, **more: int) -> None:
        """Add to the counts."""
        sums = {name: getattr(self._counts, name) + n for name, n in more.items()}
        self._counts = replace(self._counts, **sums)
