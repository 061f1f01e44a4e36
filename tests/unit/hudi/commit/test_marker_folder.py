"""The folder of an instant's markers: whole batches, one type file, nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.errors import StorageError
from framework.hudi.commit.markers import batch_files, place_batch, read_batch, type_file
from framework.hudi.storage.memory import MemoryStorage
from tests.support.fault_storage import FaultStorage
from tests.support.storage_suite import put, read

INSTANT = "20261101000000001"
FOLDER = f".hoodie/.temp/{INSTANT}"
LINES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1, max_size=20
)


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage(uuid4().hex)
    yield found
    found.forget()


def temporary() -> str:
    """Return a unique path."""
    return f".hoodie/.lakestrap/test/{uuid4().hex}"


@pytest.mark.property
@settings(deadline=None)
@given(st.lists(st.lists(LINES, max_size=4), max_size=4))
def test_batches_that_are_placed_are_read_back_in_order(batches: list[list[str]]) -> None:
    """Each under a number of its own, counted from 0."""
    storage = MemoryStorage(uuid4().hex)
    for lines in batches:
        place_batch(storage, INSTANT, lines, new_temporary=temporary)
    found = batch_files(storage, INSTANT)
    texts = [read_batch(storage, each.path) for each in found.values()]
    there = type_file(storage, INSTANT)
    storage.forget()
    assert (list(found), texts) == (list(range(len(batches))), batches)
    assert (there is not None) == bool(batches)


def test_type_file_gives_the_format_and_other_files_are_not_batches(storage: MemoryStorage) -> None:
    """Numbers continue after the highest, with gaps."""
    for name in ("MARKERS7", ".MARKERS8.crc", "MARKERS", "MARKERSx", "x.parquet.marker.CREATE"):
        put(storage, f"{FOLDER}/{name}", b"a\n")
    place_batch(storage, INSTANT, ["b"], new_temporary=temporary)
    assert list(batch_files(storage, INSTANT)) == [7, 8]
    assert read(storage, f"{FOLDER}/MARKERS.type") == b"TIMELINE_SERVER_BASED"
    assert read(storage, f"{FOLDER}/MARKERS8") == b"b\n"


def test_batch_whose_check_fails_is_not_placed(storage: MemoryStorage) -> None:
    """Its bytes stay where they were made."""

    def refuse() -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        place_batch(storage, INSTANT, ["a"], new_temporary=temporary, check=refuse)
    assert list(storage.list(FOLDER)) == []


def test_type_file_that_another_process_makes_meanwhile_is_taken(storage: MemoryStorage) -> None:
    """The batch is placed all the same."""
    made = FaultStorage(storage)

    def meanwhile(step: int) -> None:
        if step == 3:  # the temporary file is whole, and about to be moved
            put(storage, f"{FOLDER}/MARKERS.type", b"TIMELINE_SERVER_BASED")

    made.hook = meanwhile
    place_batch(made, INSTANT, ["a"], new_temporary=temporary)
    assert read(storage, f"{FOLDER}/MARKERS0") == b"a\n"
    assert made.steps > 3


def test_folder_that_cannot_be_written_is_reported(storage: MemoryStorage) -> None:
    """It is not mistaken for a folder that another process created first."""
    with pytest.raises(StorageError) as caught:
        place_batch(FaultStorage(storage, fail_at=3), INSTANT, ["a"], new_temporary=temporary)
    assert caught.value.condition == "storage/full"
