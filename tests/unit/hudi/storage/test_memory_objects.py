"""The object store in memory keeps the port's promises, as far as they need no moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from framework.errors import StorageError
from framework.hudi.storage.memory_objects import (
    MemoryObjects,
    MemoryObjectStorage,
    NoAnswerError,
    Request,
    T,
)
from framework.hudi.storage.port import Move, Storage, uploads_of
from tests.support.storage_suite import ObjectSuite, condition_of, put, read, tree


class TestMemoryObjectStorage(ObjectSuite):
    """The suite over objects in memory."""

    @pytest.fixture
    def storage(self) -> Iterator[Storage]:
        """Return an empty storage of its own name."""
        found = MemoryObjectStorage(uuid4().hex)
        yield found
        found.forget()


@pytest.fixture
def store() -> Iterator[MemoryObjectStorage]:
    """Return an empty store."""
    found = MemoryObjectStorage(uuid4().hex)
    yield found
    found.forget()


def test_upload_has_no_name_until_it_is_completed(store: MemoryObjectStorage) -> None:
    """The name is given once, exclusively."""
    upload = store.begin("a/b", b"1")
    assert tree(store) == {}
    store.complete("a/b", upload)
    assert tree(store) == {"a/b": b"1"}
    assert condition_of(lambda: store.complete("a/b", upload)) == "storage/not-found"
    other = store.begin("a/b", b"2")
    assert condition_of(lambda: store.complete("a/b", other)) == "storage/exists"
    assert read(store, "a/b") == b"1"


def test_upload_that_was_aborted_cannot_be_completed(store: MemoryObjectStorage) -> None:
    """An abort may be repeated, and says nothing of uploads that are gone."""
    upload = store.begin("a", b"1")
    store.abort("a", upload)
    store.abort("a", upload)
    assert condition_of(lambda: store.complete("a", upload)) == "storage/not-found"
    assert tree(store) == {}


def test_store_moves_nothing(store: MemoryObjectStorage) -> None:
    """A move is refused, not made of a copy and a deletion."""
    put(store, "a", b"1")
    assert uploads_of(store) is store
    for move in (
        lambda: store.move([Move(source="a", target="b")]),
        lambda: store.replace(Move(source="a", target="a")),
    ):
        assert condition_of(move) == "storage/failed"
    assert tree(store) == {"a": b"1"}


class _Deaf(MemoryObjectStorage):
    """Does every request, and loses the answers of as many as it is told to."""

    lost = 0

    def send(self, kind: Request, key: str, work: Callable[[], T]) -> T:
        """Do the request."""
        found = super().send(kind, key, work)
        if self.lost:
            self.lost -= 1
            raise NoAnswerError
        return found


def test_create_whose_answer_is_lost_finds_its_own_object() -> None:
    """The repetition is refused, and the tag says who made the object."""
    store = _Deaf(uuid4().hex, MemoryObjects())
    store.lost = 1
    put(store, "a", b"1")
    with pytest.raises(StorageError):
        put(store, "a", b"1")
    assert read(store, "a") == b"1"
    store.forget()
