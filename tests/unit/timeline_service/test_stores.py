"""Stores by their word."""

from __future__ import annotations

import pytest

from framework.errors import NotYetBuiltError
from framework.hudi.view.stores.memory import MemoryStore
from framework.timeline_service.stores import store_of
from framework.vocabulary import ViewStore


def test_memory_store_is_made_anew_each_time() -> None:
    """A store is one view's alone."""
    first, second = (store_of(ViewStore.MEMORY, 1000, None) for _ in range(2))
    assert isinstance(first, MemoryStore)
    assert first is not second


@pytest.mark.parametrize("kind", [ViewStore.SPILLABLE, ViewStore.EMBEDDED_KV])
def test_store_that_is_not_built_is_refused_by_name(kind: ViewStore) -> None:
    """Never replaced by another in silence."""
    with pytest.raises(NotYetBuiltError, match=kind.value) as caught:
        store_of(kind, None, None)
    assert caught.value.condition == "timeline-service/store-not-built"
