"""Stores by their word."""

from __future__ import annotations

import pytest

from framework.hudi.view.stores.embedded_kv import EmbeddedKvStore
from framework.hudi.view.stores.port import MemoryStore
from framework.hudi.view.stores.spillable import SpillableStore
from framework.timeline_service.host import store_of
from framework.vocabulary import ViewStore

KINDS = {
    ViewStore.MEMORY: MemoryStore,
    ViewStore.SPILLABLE: SpillableStore,
    ViewStore.EMBEDDED_KV: EmbeddedKvStore,
}


@pytest.mark.parametrize("kind", list(ViewStore))
def test_store_is_of_its_kind_and_one_views_alone(kind: ViewStore) -> None:
    """Stores do not share data."""
    first, second = (store_of(kind, 16 << 20) for _ in range(2))
    try:
        assert isinstance(first, KINDS[kind])
        first.put("p", {"a": b"r"})
        assert first.record("p", "a") == b"r"
        assert not second.is_loaded("p")
    finally:
        first.close()
        second.close()
