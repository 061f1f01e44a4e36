"""Where a view keeps its groups: a map of maps, partition path to file id to record (RFC-03).

All stores give the same answers; they differ in what they hold in memory, and in what is left when
the process has ended. A store is used under its view's lock, by one thread at a time.
`MemoryStore` is the fastest. With a bound it forgets the partition that was not used for longest,
which is listed again when it is asked for: memory is bought with listings.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

__all__ = ["RECORD_OVERHEAD", "GroupStore", "MemoryStore", "StoreUsage", "cost_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUsage:
    """How large a store is.

    Attributes:
        partitions: how many are loaded.
        groups: in them.
        memory_bytes: held by the process, by the store's own reckoning.
        disk_bytes: in its files; 0 where it has none.
        evicted: partitions that left memory so far, to disk or for good.
    """

    partitions: int
    groups: int
    memory_bytes: int
    disk_bytes: int = 0
    evicted: int = 0


class GroupStore(Protocol):
    """Records of file groups (`encode_group`) by partition path and file id.

    A partition is *loaded* where the store has all its groups, if only none; a store may forget
    one at any time, which is why every look-up may find nothing.
    """

    def records(self, partition_path: str) -> Mapping[str, bytes] | None:
        """Return a partition's records by file id, in no set order; None where it is not loaded.

        The mapping is not to be changed, and is valid until the store is.
        """
        ...

    def record(self, partition_path: str, file_id: str) -> bytes | None:
        """Return one record; None where there is none, loaded or not."""
        ...

    def is_loaded(self, partition_path: str) -> bool:
        """Return whether the store has a partition's groups."""
        ...

    def loaded(self) -> Iterator[str]:
        """Yield the loaded partitions, in no set order; the store is not to be used meanwhile."""
        ...

    def put(self, partition_path: str, records: Mapping[str, bytes]) -> None:
        """Load a partition, in place of what was known of it."""
        ...

    def change(self, partition_path: str, changed: Mapping[str, bytes | None]) -> None:
        """Set records of a loaded partition; None takes one away. One not loaded stays so."""
        ...

    def drop(self, partition_path: str) -> None:
        """Forget a partition."""
        ...

    def clear(self) -> None:
        """Forget all."""
        ...

    def usage(self) -> StoreUsage:
        """Return how large the store is."""
        ...

    def close(self) -> None:
        """Let go of files; nothing may be asked afterwards. Closing again does nothing."""
        ...


RECORD_OVERHEAD: Final = 250
"""Bytes that CPython takes for a key, a value and their place in a map, beside the record."""
_PARTITION_OVERHEAD: Final = 500


def cost_of(records: Mapping[str, bytes]) -> int:
    """Return about how many bytes a partition's records take in memory."""
    return _PARTITION_OVERHEAD + sum(map(len, records.values())) + RECORD_OVERHEAD * len(records)


class MemoryStore:
    """Records in maps.

    Args:
        memory_bytes: bound of what is kept, None for none. The partition that was asked for last is
            kept even where it alone is larger.
    """

    def __init__(self, memory_bytes: int | None = None) -> None:
        self._bound = memory_bytes
        self._parts: OrderedDict[str, dict[str, bytes]] = OrderedDict()
        self._costs: dict[str, int] = {}
        self._bytes = 0
        self._groups = 0
        self._evicted = 0

    def records(self, partition_path: str) -> Mapping[str, bytes] | None:
        """Return a partition's records, None where it is not loaded."""
        found = self._parts.get(partition_path)
        if found is not None and self._bound is not None:
            self._parts.move_to_end(partition_path)
        return found

    def record(self, partition_path: str, file_id: str) -> bytes | None:
        """Return one record."""
        if self._bound is not None:
            self.records(partition_path)  # it was asked for last
        found = self._parts.get(partition_path)
        return None if found is None else found.get(file_id)

    def is_loaded(self, partition_path: str) -> bool:
        """Return whether a partition is there."""
        return partition_path in self._parts

    def loaded(self) -> Iterator[str]:
        """Yield the loaded partitions."""
        yield from self._parts

    def put(self, partition_path: str, records: Mapping[str, bytes]) -> None:
        """Load a partition; others may be forgotten for it."""
        self.drop(partition_path)
        self._parts[partition_path] = dict(records)
        self._count(partition_path, cost_of(records), len(records))
        self._evict()

    def change(self, partition_path: str, changed: Mapping[str, bytes | None]) -> None:
        """Set records of a loaded partition."""
        before = self._parts.get(partition_path)
        if before is None:
            return
        after = {**before, **changed}
        self.put(partition_path, {id_: each for id_, each in after.items() if each is not None})

    def drop(self, partition_path: str) -> None:
        """Forget a partition."""
        found = self._parts.pop(partition_path, None)
        if found is not None:
            self._bytes -= self._costs.pop(partition_path)
            self._groups -= len(found)

    def clear(self) -> None:
        """Forget all."""
        for path in tuple(self._parts):
            self.drop(path)

    def usage(self) -> StoreUsage:
        """Return how large the store is."""
        return StoreUsage(
            partitions=len(self._parts),
            groups=self._groups,
            memory_bytes=self._bytes,
            evicted=self._evicted,
        )

    def close(self) -> None:
        """Nothing is open."""

    def _count(self, partition_path: str, cost: int, groups: int) -> None:
        """Reckon a partition in."""
        self._costs[partition_path] = cost
        self._bytes += cost
        self._groups += groups

    def _evict(self) -> None:
        """Forget what was not asked for longest, until the rest is within the bound."""
        while self._bound is not None and self._bytes > self._bound and len(self._parts) > 1:
            self.drop(next(iter(self._parts)))
            self._evicted += 1
