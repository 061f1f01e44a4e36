"""Spills: what goes in by file comes out by bucket, and leads back to the files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.engine.audit import spill
from framework.engine.audit.spill import SpillReader, SpillWriter, bucket_bits, partition_mix
from framework.errors import CorruptFileError
from framework.hudi.storage.memory import MemoryStorage

HASHES = st.integers(0, 2**64 - 1)


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage("spills")
    yield found
    found.forget()


def write(storage: MemoryStorage, files: Mapping[int, list[int]], bits: int) -> SpillReader:
    """Spill these hashes by file and open the result."""
    with storage.create("s.spill") as out:
        writer = SpillWriter(out, bits)
        for number, hashes in files.items():
            writer.add(number, np.array(hashes, np.uint64))
        writer.finish()
    return SpillReader(storage, "s.spill")


@pytest.mark.property
@settings(deadline=None)
@given(st.dictionaries(st.integers(0, 10**12), st.lists(HASHES), max_size=8), st.integers(0, 5))
def test_spill_buckets_hold_exactly_their_hashes(files: dict[int, list[int]], bits: int) -> None:
    """Each hash is in the bucket of its highest bits, once for each time it was added."""
    storage = MemoryStorage("property")
    reader = write(storage, files, bits)
    expected = sorted(value for hashes in files.values() for value in hashes)
    found = []
    for bucket in range(1 << bits):
        part = [int(value) for each in reader.hashes(bucket) for value in each]
        assert all(value >> (64 - bits) == bucket for value in part)
        assert reader.rows(bucket) == len(part)
        found += part
    assert sorted(found) == expected
    assert reader.total == len(expected)
    storage.forget()


@pytest.mark.property
@settings(deadline=None)
@given(
    st.dictionaries(st.integers(0, 99), st.lists(st.integers(0, 20)), min_size=1),
    st.sets(st.integers(0, 20), min_size=1),
)
def test_spill_leads_back_to_the_files(files: dict[int, list[int]], wanted: set[int]) -> None:
    """For any hashes, exactly the files that hold one of them are found."""
    storage = MemoryStorage("back")
    spread = {n: [value << 59 | value for value in hashes] for n, hashes in files.items()}
    reader = write(storage, spread, 2)
    sought = np.array(sorted(value << 59 & 2**64 - 1 | value for value in wanted), np.uint64)
    found: set[int] = set()
    for bucket in range(4):
        for block in reader.blocks(bucket):
            found |= set(block.files_with(np.sort(sought)).tolist())
    assert found == {n for n, hashes in files.items() if wanted & set(hashes)}
    storage.forget()


def test_spill_flushes_keep_memory_bounded(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many rows are written in several flushes, which readers see as one spill."""
    monkeypatch.setattr(spill, "_MOST_FLUSH", 10)
    reader = write(storage, {n: [n, n + 1, n + 2] for n in range(9)}, 0)
    assert len(list(reader.hashes(0))) == 3
    assert reader.total == 27
    reader.verify()


@pytest.mark.parametrize("place", [8, 20, -30, -50, -12, -4])
def test_spill_changed_byte_is_seen(storage: MemoryStorage, place: int) -> None:
    """No damaged hash can hide a duplicate."""
    write(storage, {1: [5, 6, 7], 2: [8]}, 1)
    with storage.open_input("s.spill") as stream:
        data = bytearray(stream.read())
    data[place] ^= 1
    storage.delete("s.spill")
    with storage.create("s.spill") as out:
        out.write(data)
    with pytest.raises(CorruptFileError) as caught:
        SpillReader(storage, "s.spill").verify()
    assert caught.value.condition == "audit/corrupt-spill"


@pytest.mark.parametrize("size", [0, 5, 40])
def test_spill_cut_file_is_refused(storage: MemoryStorage, size: int) -> None:
    """A file without its end is no spill."""
    write(storage, {1: [5, 6, 7]}, 0)
    with storage.open_input("s.spill") as stream:
        data = stream.read()
    storage.delete("s.spill")
    with storage.create("s.spill") as out:
        out.write(data[:size])
    with pytest.raises(CorruptFileError):
        SpillReader(storage, "s.spill")


@pytest.mark.parametrize(
    ("rows", "bits"),
    [(0, 0), (1, 0), (1 << 20, 0), ((1 << 20) + 1, 1), (30_000_000, 5), (10**12, 12)],
)
def test_bucket_bits_follow_the_rows(rows: int, bits: int) -> None:
    """About a million hashes to a bucket, within limits."""
    assert bucket_bits(rows) == bits


def test_partition_mix_differs_and_stays() -> None:
    """A partition's mix is the same in every process."""
    assert partition_mix("p=1") != partition_mix("p=2")
    assert partition_mix("p=1") == 0xD0BB2E8182D0A4A2


def test_spill_writer_begins_with_its_name() -> None:
    """The file says what it is."""
    out = io.BytesIO()
    SpillWriter(out, 0).finish()
    assert out.getvalue().startswith(b"LSSPILL1")
