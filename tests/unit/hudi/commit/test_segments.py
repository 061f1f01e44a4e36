"""Segments: statuses that come back as they were, merged by number, or a typed error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.errors import CorruptFileError
from framework.hudi.commit.segments import (
    SEGMENT_SCHEMA,
    SegmentRef,
    merge_segments,
    read_segment,
    write_segment,
)
from framework.hudi.commit.statuses import written_files
from framework.hudi.storage.memory import MemoryStorage
from tests.support.storage_suite import put, read
from tests.support.transactions import a_status


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage(uuid4().hex)
    yield found
    found.forget()


def a_segment(storage: MemoryStorage, numbers: Sequence[int]) -> SegmentRef:
    """Write a segment with these numbers."""
    rows = [a_status(number) for number in numbers]
    table = pa.Table.from_pylist(rows, schema=SEGMENT_SCHEMA)
    return write_segment(storage, f"s/{uuid4().hex}", table)


def test_segment_written_unsorted_reads_back_by_number(storage: MemoryStorage) -> None:
    """The reference knows totals and range."""
    segment = a_segment(storage, [5, 3, 4])
    (batch,) = read_segment(storage, segment)
    assert batch["number"].to_pylist() == [3, 4, 5]
    assert batch.schema.equals(SEGMENT_SCHEMA)
    assert (segment.files, segment.first, segment.last) == (3, 3, 5)
    assert (segment.rows, segment.bytes) == (4 + 5 + 6, sum(batch["size"].to_pylist()))


def test_segments_whose_partitions_alternate_are_merged_a_partition_at_a_time(
    storage: MemoryStorage,
) -> None:
    """Partitions come in the order of their first file, each with its files by number."""
    segments = []
    for numbers in ([4, 0, 2], [5, 1, 3]):
        rows = [a_status(number, partition=f"p={(number // 2) % 2}") for number in numbers]
        table = pa.Table.from_pylist(rows, schema=SEGMENT_SCHEMA)
        segments.append(write_segment(storage, f"s/{uuid4().hex}", table))
    (alone,) = read_segment(storage, segments[0])
    assert alone["number"].to_pylist() == [0, 4, 2]
    assert (segments[0].first, segments[0].last) == (0, 4)
    (merged,) = merge_segments(storage, segments)
    assert merged["number"].to_pylist() == [0, 1, 4, 5, 2, 3]


def test_segment_without_files_reads_back_empty(storage: MemoryStorage) -> None:
    """A task may have had nothing to report."""
    segment = a_segment(storage, [])
    assert list(read_segment(storage, segment)) == []
    assert (segment.files, segment.first) == (0, -1)
    assert list(merge_segments(storage, [segment])) == []


@pytest.mark.property
@settings(deadline=None)
@given(st.lists(st.integers(0, 300), unique=True, max_size=60), st.integers(1, 7))
def test_segments_merged_are_all_numbers_in_order(numbers: list[int], parts: int) -> None:
    """However numbers are spread over segments, they come once each and ascending."""
    storage = MemoryStorage(uuid4().hex)
    segments = [a_segment(storage, numbers[part::parts]) for part in range(parts)]
    batches = merge_segments(storage, segments)
    found = [number for batch in batches for number in batch["number"].to_pylist()]
    storage.forget()
    assert found == sorted(numbers)
    assert written_files(segments).files == len(numbers)


@pytest.mark.parametrize("numbers", [([1, 1],), ([1, 2], [2, 3]), ([1], [1])])
def test_segments_with_a_number_twice_are_refused(
    storage: MemoryStorage, numbers: tuple[list[int], ...]
) -> None:
    """Two statuses for one source file mean that something went badly wrong."""

    def merge() -> None:
        """Write and merge."""
        list(merge_segments(storage, [a_segment(storage, each) for each in numbers]))

    with pytest.raises(CorruptFileError) as caught:
        merge()
    assert caught.value.condition == "commit/duplicate-number"


@pytest.mark.parametrize("change", [b"", b"x", b"short"])
def test_segment_that_changed_is_refused_by_its_checksum(
    storage: MemoryStorage, change: bytes
) -> None:
    """Truncated, prolonged or other bytes are noticed before anything is believed."""
    segment = a_segment(storage, [1, 2])
    data = read(storage, segment.path)
    storage.delete(segment.path)
    put(storage, segment.path, data + change if change != b"short" else data[:-9])
    if change == b"":
        assert len(list(read_segment(storage, segment))) == 1
        return
    with pytest.raises(CorruptFileError) as caught:
        list(read_segment(storage, segment))
    assert caught.value.condition == "commit/corrupt-segment"
