"""Where a view keeps its groups: a map of maps, partition path to file id to record (RFC-03).

Every store answers alike; they differ in what they hold in memory, and in what is still there when
the process has ended. A store is used under its view's lock, by one thread at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

__all__ = ["GroupStore", "StoreUsage"]


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
