"""Small files get their names whole, once, and only while their run is not fenced."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from framework.errors import CommitConflictError
from framework.hudi.commit.placement import place_bytes
from framework.hudi.commit.staging import Staging, new_write_id
from framework.hudi.storage.memory import MemoryStorage
from tests.support.storage_suite import put, tree

NAME = ".hoodie/hoodie.properties"


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty table."""
    made = MemoryStorage(uuid4().hex)
    yield made
    made.forget()


@pytest.fixture
def staging(storage: MemoryStorage) -> Staging:
    """Return the folder of a run that has begun."""
    found = Staging(write_id=new_write_id())
    put(storage, found.begin)
    return found


def test_place_bytes_twice_is_once(storage: MemoryStorage, staging: Staging) -> None:
    """An existing file is compared, and no temporary file is left."""
    for _ in range(2):
        place_bytes(storage, staging, NAME, b"x")
    assert tree(storage) == {NAME: b"x", staging.begin: b""}


def test_place_bytes_over_other_bytes_is_refused(storage: MemoryStorage, staging: Staging) -> None:
    """The name is another run's."""
    put(storage, NAME, b"y")
    with pytest.raises(CommitConflictError) as caught:
        place_bytes(storage, staging, NAME, b"x")
    assert caught.value.condition == "commit/name-taken"
    assert tree(storage) == {NAME: b"y", staging.begin: b""}


def test_place_bytes_of_a_fenced_run_leaves_nothing(
    storage: MemoryStorage, staging: Staging
) -> None:
    """Also no folder, which would be taken for a run that died."""
    staging.remove(storage)
    before = {entry.path for entry in storage.list(".hoodie")}
    with pytest.raises(CommitConflictError) as caught:
        place_bytes(storage, staging, NAME, b"x")
    assert caught.value.condition == "commit/fenced"
    assert {entry.path for entry in storage.list(".hoodie")} <= before
    assert tree(storage) == {}
    assert storage.stat(staging.root) is None
