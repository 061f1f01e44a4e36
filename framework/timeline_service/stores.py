"""Which store a service's views have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.errors import NotYetBuiltError
from framework.hudi.view.stores.memory import MemoryStore
from framework.vocabulary import ViewStore

if TYPE_CHECKING:
    from framework.hudi.view.stores.port import GroupStore

__all__ = ["store_of"]


def store_of(kind: ViewStore, memory_bytes: int, folder: str) -> GroupStore:
    """Return a new, empty store.

    Args:
        kind: which.
        memory_bytes: bound of what it holds in memory.
        folder: an empty folder for its files; it is left to the caller to remove.
    """
    if kind is ViewStore.MEMORY:
        return MemoryStore(memory_bytes)
    raise NotYetBuiltError("timeline-service/store", f"{kind} in {folder} is not built yet")
