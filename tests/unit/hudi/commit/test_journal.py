"""The journal: whole records in order, or a typed error."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from framework.errors import CorruptFileError, StorageError
from framework.hudi.commit.segments import Journal
from framework.hudi.commit.staging import Staging
from framework.hudi.storage.memory import MemoryStorage
from tests.support.storage_suite import put
from tests.support.transactions import WRITE_ID

STAGING = Staging(write_id=WRITE_ID)


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage(uuid4().hex)
    yield found
    found.forget()


def test_journal_records_come_back_in_order(storage: MemoryStorage) -> None:
    """Another process continues where the first stopped."""
    assert list(Journal(storage, STAGING).records()) == []
    first = Journal(storage, STAGING)
    for number in range(12):
        first.append({"n": number})
    Journal(storage, STAGING).append({"n": 12})
    assert [each["n"] for each in Journal(storage, STAGING).records()] == list(range(13))


def test_journal_with_two_writers_refuses_the_second(storage: MemoryStorage) -> None:
    """A number is given once; the loser leaves no temporary file."""
    one, two = Journal(storage, STAGING), Journal(storage, STAGING)
    one.append({})
    two.append({})
    with pytest.raises(StorageError) as caught:
        one.append({})
    assert caught.value.condition == "storage/exists"
    assert list(storage.list(STAGING.publish)) == []


@pytest.mark.parametrize(
    ("name", "data"),
    [("000002.json", b"{"), ("000002.json", b"[]"), ("000003.json", b"{}"), ("x", b"{}")],
)
def test_journal_that_is_damaged_is_refused(storage: MemoryStorage, name: str, data: bytes) -> None:
    """A torn, missing or foreign record is never passed over."""
    Journal(storage, STAGING).append({})
    put(storage, f"{STAGING.journal}/{name}", data)
    with pytest.raises(CorruptFileError) as caught:
        list(Journal(storage, STAGING).records())
    assert caught.value.condition == "commit/corrupt-journal"


def test_staging_of_another_text_than_a_write_id_is_refused() -> None:
    """A write id becomes a folder name, so it is checked."""
    for text in ("", "../x", "a" * 31, "A" * 32):
        with pytest.raises(CorruptFileError) as caught:
            Staging(write_id=text)
        assert caught.value.condition == "commit/bad-write-id"
