"""Which store a service's views have."""

from __future__ import annotations

import tempfile
from typing import assert_never

from framework.hudi.view.stores.embedded_kv import EmbeddedKvStore
from framework.hudi.view.stores.memory import MemoryStore
from framework.hudi.view.stores.port import GroupStore
from framework.hudi.view.stores.spillable import SpillableStore
from framework.vocabulary import ViewStore

__all__ = ["store_of"]


def store_of(kind: ViewStore, memory_bytes: int) -> GroupStore:
    """Return a new, empty store; its files are temporary, and go when it is closed.

    Args:
        kind: which.
        memory_bytes: bound of what it holds in memory.
    """
    match kind:
        case ViewStore.MEMORY:
            return MemoryStore(memory_bytes)
        case ViewStore.SPILLABLE:
            return SpillableStore(memory_bytes, _folder())
        case ViewStore.EMBEDDED_KV:
            return EmbeddedKvStore(memory_bytes, _folder())
        case _:
            assert_never(kind)


def _folder() -> str:
    """Return a new folder for a store's files."""
    return tempfile.mkdtemp(prefix="timeline-service-")
