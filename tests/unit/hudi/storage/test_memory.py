"""The memory storage keeps the port's promises."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.storage.port import Storage
from tests.support.storage_suite import StorageSuite, put, tree


class TestMemoryStorage(StorageSuite):
    """The suite over memory."""

    @pytest.fixture
    def storage(self) -> Iterator[Storage]:
        """Return an empty storage of its own name."""
        found = MemoryStorage(uuid4().hex)
        yield found
        found.forget()


def test_memory_storage_with_another_name_shares_nothing() -> None:
    """Two names are two trees; forgetting one leaves it empty."""
    one, two = MemoryStorage(uuid4().hex), MemoryStorage(uuid4().hex)
    put(one, "f", b"1")
    assert tree(two) == {}
    one.forget()
    assert tree(one) == {}
