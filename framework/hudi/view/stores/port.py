"""Store of a view's groups: a map of maps, partition path to file id to record (RFC-03).

All stores return the same records; they differ in what they hold in memory, and in what remains
after the process ends. A store is used under its view's lock, by one thread at a time.
`MemoryStore` is the fastest. With a bound it evicts the least recently used partition, which is
listed again on its next use: it trades listings for memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

__all__ = ["RECORD_OVERHEAD", "GroupStore", "MemoryStore", "StoreUsage", "cost_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUsage:
    """The size of a store.

    Attributes:
        partitions: number of loaded partitions.
        groups: number of their groups.
        memory_bytes: memory held by the process, by the store's own estimate.
        disk_bytes: size of its files; 0 if it has none.
        evicted: partitions evicted from memory so far, to disk or entirely.
    """

    partitions: int
    groups: int
    memory_bytes: int
    disk_bytes: int = 0
    evicted: int = 0


class GroupStore(Protocol):
    """Records of file groups (`encode_group`) by partition path and file id.

    A partition is *loaded* if the store has all its groups, which may be none. A store may evict
    one at any time, so every lookup may return None.
    """

    def records(self, partition_path: str) -> Mapping[str, bytes] | None:
        """Return a partition's records by file id, in any order; None if it is not loaded.

        The mapping is read-only and valid until the store changes.
        """
        ...

    def record(self, partition_path: str, file_id: str) -> bytes | None:
        """Return one record; None if there is none or the partition is not loaded."""
        ...

    def is_loaded(self, partition_path: str) -> bool:
        """Return whether the store has a partition's groups."""
        ...

    def loaded(self) -> Iterator[str]:
        """Yield the loaded partitions, in any order; do not use the store meanwhile."""
        ...

    def put(self, partition_path: str, records: Mapping[str, bytes]) -> None:
        """Load a partition, replacing its records."""
        ...

    def change(self, partition_path: str, changed: Mapping[str, bytes | None]) -> None:
        """Update records of a partition; None deletes one. Ignored if it is not loaded."""
        ...

    def drop(self, partition_path: str) -> None:
        """Drop a partition."""
        ...

    def clear(self) -> None:
        """Drop all partitions."""
        ...

    def usage(self) -> StoreUsage:
        """Return the size of the store."""
        ...

    def close(self) -> None:
        """Release files; the store is unusable afterwards. Closing twice is allowed."""
        ...


RECORD_OVERHEAD: Final = 250
"""Bytes that CPython uses for a key, a value and their map entry, besides the record."""
_PARTITION_OVERHEAD: Final = 500


def cost_of(records: Mapping[str, bytes]) -> int:
    """Return the approximate bytes of a partition's records in memory."""
    return _PARTITION_OVERHEAD + sum(map(len, records.values())) + RECORD_OVERHEAD * len(records)


class MemoryStore:
    """A store in dictionaries.

    Args:
        memory_bytes: bound of the records, None for unlimited. The last used partition is kept even
            if it alone is larger.
    """

    def __init__(self, memory_bytes: int | None = None) -> None:
        self._bound = memory_bytes
        self._parts: OrderedDict[str, dict[str, bytes]] = OrderedDict()
        self._costs: dict[str, int] = {}
        self._bytes = 0
        self._groups = 0
        self._evicted = 0

    def records(self, partition_path: str) -> Mapping[str, bytes] | None:
        """Return a partition's records, None if it is not loaded."""
        found = self._parts.get(partition_path)
        if found is not None and self._bound is not None:
            self._parts.move_to_end(partition_path)
        return found

    def record(self, partition_path: str, file_id: str) -> bytes | None:
        """Return one record."""
        if self._bound is not None:
            self.records(partition_path)  # marks it as last used
        found = self._parts.get(partition_path)
        return None if found is None else found.get(file_id)

    def is_loaded(self, partition_path: str) -> bool:
        """Return whether a partition is loaded."""
        return partition_path in self._parts

    def loaded(self) -> Iterator[str]:
        """Yield the loaded partitions."""
        yield from self._parts

    def put(self, partition_path: str, records: Mapping[str, bytes]) -> None:
        """Load a partition; this may evict others."""
        self.drop(partition_path)
        self._parts[partition_path] = dict(records)
        self._count(partition_path, cost_of(records), len(records))
        self._evict()

    def change(self, partition_path: str, changed: Mapping[str, bytes | None]) -> None:
        """Update records of a loaded partition."""
        before = self._parts.get(partition_path)
        if before is None:
            return
        after = {**before, **changed}
        self.put(partition_path, {id_: each for id_, each in after.items() if each is not None})

    def drop(self, partition_path: str) -> None:
        """Drop a partition."""
        found = self._parts.pop(partition_path, None)
        if found is not None:
            self._bytes -= self._costs.pop(partition_path)
            self._groups -= len(found)

    def clear(self) -> None:
        """Drop all partitions."""
        for path in tuple(self._parts):
            self.drop(path)

    def usage(self) -> StoreUsage:
        """Return the size of the store."""
        return StoreUsage(
            partitions=len(self._parts),
            groups=self._groups,
            memory_bytes=self._bytes,
            evicted=self._evicted,
        )

    def close(self) -> None:
        """Do nothing: no files are open."""

    def _count(self, partition_path: str, cost: int, groups: int) -> None:
        """Add a partition to the totals."""
        self._costs[partition_path] = cost
        self._bytes += cost
        self._groups += groups

    def _evict(self) -> None:
        """Evict the least recently used partitions until the rest is within the bound."""
        while self._bound is not None and self._bytes > self._bound and len(self._parts) > 1:
            self.drop(next(iter(self._parts)))
            self._evicted += 1
