"""Storages and a store that let a test see what a view does with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from framework.hudi.commit.fenced import WrappedStorage
from framework.hudi.filegroup.group import FileGroup
from framework.hudi.storage.port import Entry, Storage
from framework.hudi.table.layout import HOODIE, PARTITION_METADATA, join
from framework.hudi.view.facts import TableFacts
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.stores.port import GroupStore, StoreUsage

__all__ = ["CompletedStorage", "Listed", "WatchedStorage", "WatchedStore"]


class WatchedStorage(WrappedStorage):
    """Counts listings of folders other than `.hoodie`.

    Attributes:
        listings: how many there were.
        meanwhile: happens once, after the next listing of the timeline.
    """

    def __init__(self, storage: Storage, looked: Callable[[], None]) -> None:
        super().__init__(storage)
        self.listings = 0
        self.meanwhile: Callable[[], None] | None = None
        self._looked = looked

    def list(self, folder: str) -> Iterator[Entry]:
        """List, and report it."""
        found = list(self._inner.list(folder))
        if folder != HOODIE:
            self.listings += 1
            return iter(found)
        self._looked()
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            happens()
        return iter(found)


class CompletedStorage(WrappedStorage):
    """A table's storage in which partitions hold these files, and no others."""

    def __init__(self, storage: Storage, files: Mapping[str, Mapping[str, int]]) -> None:
        super().__init__(storage)
        self._entries: dict[str, list[Entry]] = {}
        for path, names in files.items():
            if names:
                self._add_folders(path)
                found = self._entries.setdefault(path, [])
                found.append(_file(join(path, PARTITION_METADATA), 0))
                found += [_file(join(path, name), size) for name, size in names.items()]

    def list(self, folder: str) -> Iterator[Entry]:
        """List what counts; the timeline is the table's own."""
        if folder == HOODIE:
            return self._inner.list(folder)
        return iter(sorted(self._entries.get(folder, ()), key=lambda each: each.path))

    def _add_folders(self, path: str) -> None:
        """Add a partition to the folder above, and that to the one above it."""
        while path:
            above = path.rpartition("/")[0]
            found = self._entries.setdefault(above, [])
            entry = Entry(path=path, is_folder=True, size=0, mtime_ns=0)
            if entry not in found:
                found.append(entry)
            path = above


class WatchedStore:
    """A store that reports when a partition was loaded."""

    def __init__(self, store: GroupStore, loaded: Callable[[str], None]) -> None:
        self._inner = store
        self._was_loaded = loaded

    def records(self, partition_path: str) -> Mapping[str, bytes] | None:
        """As of the store."""
        return self._inner.records(partition_path)

    def record(self, partition_path: str, file_id: str) -> bytes | None:
        """As of the store."""
        return self._inner.record(partition_path, file_id)

    def is_loaded(self, partition_path: str) -> bool:
        """As of the store."""
        return self._inner.is_loaded(partition_path)

    def loaded(self) -> Iterator[str]:
        """As of the store."""
        return self._inner.loaded()

    def put(self, partition_path: str, records: Mapping[str, bytes]) -> None:
        """Load a partition, and report it."""
        self._inner.put(partition_path, records)
        self._was_loaded(partition_path)

    def change(self, partition_path: str, changed: Mapping[str, bytes | None]) -> None:
        """As of the store."""
        self._inner.change(partition_path, changed)

    def drop(self, partition_path: str) -> None:
        """As of the store."""
        self._inner.drop(partition_path)

    def clear(self) -> None:
        """As of the store."""
        self._inner.clear()

    def usage(self) -> StoreUsage:
        """As of the store."""
        return self._inner.usage()

    def close(self) -> None:
        """As of the store."""
        self._inner.close()


class Listed:
    """A view by listing of a table that does not change: it lists each partition once."""

    def __init__(self, view: ListingView) -> None:
        self._view = view
        self._groups: dict[str, list[FileGroup]] = {}

    @property
    def facts(self) -> TableFacts:
        """As of the view."""
        return self._view.facts

    def partitions(self) -> Iterator[str]:
        """As of the view."""
        return self._view.partitions()

    def groups(
        self, partition_path: str, file_ids: Sequence[str] | None = None
    ) -> Iterator[FileGroup]:
        """As of the view."""
        if partition_path not in self._groups:
            self._groups[partition_path] = list(self._view.groups(partition_path))
        for each in self._groups[partition_path]:
            if file_ids is None or each.group.file_id in file_ids:
                yield each


def _file(path: str, size: int) -> Entry:
    """Return the entry of a file."""
    return Entry(path=path, is_folder=False, size=size, mtime_ns=0)
