"""Files get their names after their markers, exclusively, and existing files are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pyarrow as pa
import pytest

from framework.errors import CommitConflictError, CorruptFileError, LeaseHeldError
from framework.hudi.commit.intent import Transaction
from framework.hudi.commit.links import by_partition, check_listing, link_files, place_files
from framework.hudi.commit.markers import MarkerType, read_markers, write_markers
from framework.hudi.commit.segments import SEGMENT_SCHEMA, SegmentRef, merge_segments
from framework.hudi.commit.transaction import begin
from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT
from tests.support.fault_storage import FaultStorage
from tests.support.storage_suite import put, read, tree
from tests.support.transactions import a_status, a_transaction, stage_files

MARKERS = f".hoodie/.temp/{BOOTSTRAP_INSTANT}"


@pytest.fixture
def storage() -> Iterator[MemoryStorage]:
    """Return an empty storage."""
    found = MemoryStorage(uuid4().hex)
    yield found
    found.forget()


@pytest.fixture
def linked(storage: MemoryStorage) -> tuple[Transaction, tuple[SegmentRef, ...]]:
    """Return a transaction whose files were just linked, with its segments."""
    transaction = a_transaction(storage)
    begin(transaction)
    segments = stage_files(storage, transaction.intent)
    link_files(transaction, segments)
    return transaction, segments


def data_files(storage: MemoryStorage) -> dict[str, bytes]:
    """Return the data files of the table with their bytes."""
    return {path: data for path, data in tree(storage).items() if path.endswith(".parquet")}


def conflict(action: Callable[[], object]) -> str:
    """Return the condition of the conflict that `action` raises."""
    with pytest.raises(CommitConflictError) as caught:
        action()
    return caught.value.condition


def test_link_files_puts_files_and_metadata_into_partitions(
    storage: MemoryStorage, linked: tuple[Transaction, tuple[SegmentRef, ...]]
) -> None:
    """Each file is in its partition with its bytes, and nothing is left in the attempts."""
    transaction, segments = linked
    files = data_files(storage)
    statuses = [row for batch in merge_segments(storage, segments) for row in batch.to_pylist()]
    assert {f"{row['partition_path']}/{row['name']}" for row in statuses} == set(files)
    assert sorted(files.values()) == [f"rows of file {n}".encode() for n in range(4)]
    assert b"partitionDepth=2" in read(storage, "p=2/é/.hoodie_partition_metadata")
    assert tree(storage, transaction.intent.staging.attempts) == {}


def test_link_files_notes_every_file_in_markers(
    storage: MemoryStorage, linked: tuple[Transaction, tuple[SegmentRef, ...]]
) -> None:
    """The folder holds the batched form and nothing else, as Apache Hudi's rollback wants it."""
    del linked
    assert set(read_markers(storage, BOOTSTRAP_INSTANT)) == set(data_files(storage))
    assert read(storage, f"{MARKERS}/MARKERS.type") == b"TIMELINE_SERVER_BASED"
    assert set(tree(storage, MARKERS)) == {f"{MARKERS}/MARKERS.type", f"{MARKERS}/MARKERS0"}
    lines = read(storage, f"{MARKERS}/MARKERS0").decode().split("\n")
    assert all(line.endswith(".parquet.marker.CREATE") for line in lines[:-1])


def test_link_files_never_names_a_file_without_its_marker() -> None:
    """At every step of the batch, every file in a partition has a marker."""
    storage = MemoryStorage(uuid4().hex)
    steps = 0

    def look(step: int) -> None:
        """Compare files and markers."""
        nonlocal steps
        steps = step
        assert set(data_files(storage)) <= set(read_markers(storage, BOOTSTRAP_INSTANT))

    transaction = a_transaction(FaultStorage(storage, hook=look))
    begin(transaction)
    link_files(transaction, stage_files(storage, transaction.intent), threads=1)
    storage.forget()
    assert steps > 10


def test_link_files_again_changes_nothing(
    storage: MemoryStorage, linked: tuple[Transaction, tuple[SegmentRef, ...]]
) -> None:
    """A resumed run links what a killed one had linked, staged again or not."""
    transaction, segments = linked
    before = data_files(storage)
    link_files(transaction, segments)
    link_files(transaction, stage_files(storage, transaction.intent))
    assert data_files(storage) == before
    assert tree(storage, transaction.intent.staging.attempts) == {}


def test_link_files_over_other_bytes_is_a_conflict(storage: MemoryStorage) -> None:
    """A name that exists must hold the same bytes, whatever its size."""
    transaction = a_transaction(storage)
    begin(transaction)
    segments = stage_files(storage, transaction.intent)
    (batch, *_) = merge_segments(storage, segments)
    row = batch.to_pylist()[0]
    put(storage, f"{row['partition_path']}/{row['name']}", b"x" * row["size"])
    assert conflict(lambda: link_files(transaction, segments)) == "commit/name-taken"


def test_link_files_without_the_staged_file_is_a_conflict(storage: MemoryStorage) -> None:
    """A status without its file means that another run took over."""
    transaction = a_transaction(storage)
    begin(transaction)
    segments = stage_files(storage, transaction.intent)
    storage.delete(transaction.intent.staging.attempts)
    assert conflict(lambda: link_files(transaction, segments)) == "commit/staged-file-gone"


def test_link_files_without_the_lease_links_nothing(storage: MemoryStorage) -> None:
    """The lease is looked at before each batch."""
    transaction = a_transaction(storage)
    begin(transaction)
    segments = stage_files(storage, transaction.intent)
    storage.delete(transaction.lease.path)
    with pytest.raises(LeaseHeldError):
        link_files(transaction, segments)
    assert data_files(storage) == {}


def test_check_listing_removes_files_without_a_status(
    storage: MemoryStorage, linked: tuple[Transaction, tuple[SegmentRef, ...]]
) -> None:
    """Also in partitions that only markers know; foreign files and other instants stay."""
    transaction, segments = linked
    staging = transaction.intent.staging
    strays = [f"{p}/z_0-0-0_{BOOTSTRAP_INSTANT}.parquet" for p in ("p=1", "q")]
    write_markers(storage, staging, BOOTSTRAP_INSTANT, [(strays[1], MarkerType.CREATE)])
    others = ["p=1/z_0-0-0_2.parquet", "p=1/foreign.parquet", "p=1/sub/x"]
    for path in strays + others:
        put(storage, path)
    assert check_listing(transaction, segments) == 2
    assert all(storage.stat(path) is None for path in strays)
    assert all(storage.stat(path) is not None for path in others)
    assert check_listing(transaction, segments) == 0


@pytest.mark.parametrize(
    ("replacement", "condition"), [(None, "file-missing"), (b"x", "file-changed")]
)
def test_check_listing_aborts_if_a_written_file_is_missing_or_changed(
    storage: MemoryStorage,
    linked: tuple[Transaction, tuple[SegmentRef, ...]],
    replacement: bytes | None,
    condition: str,
) -> None:
    """A status without its file, or with a file of another size, never becomes a commit."""
    transaction, segments = linked
    path = max(data_files(storage))
    storage.delete(path)
    if replacement is not None:
        put(storage, path, replacement)
    assert conflict(lambda: check_listing(transaction, segments)) == f"commit/{condition}"


def test_place_files_replaces_what_an_earlier_attempt_left(storage: MemoryStorage) -> None:
    """The index may differ between attempts; it is not read before the commit."""
    transaction = a_transaction(storage)
    begin(transaction)
    for data in (b"1", b"2", b"2"):
        put(storage, "staged", data)
        place_files(transaction, {".hoodie/.aux/index": "staged"})
        assert read(storage, ".hoodie/.aux/index") == data
        assert storage.stat("staged") is None
    put(storage, "staged", b"3")
    storage.delete(transaction.intent.staging.begin)
    assert conflict(lambda: place_files(transaction, {"x": "staged"})) == "commit/fenced"
    assert conflict(lambda: place_files(transaction, {"x": "gone"})) == "commit/staged-file-gone"


def test_by_partition_joins_neighbours_over_batches() -> None:
    """A partition's statuses come together, though batches end where they like."""
    rows = [a_status(n, partition=p) for n, p in enumerate(["a", "a", "", "", "", "b"])]
    table = pa.Table.from_pylist(rows, schema=SEGMENT_SCHEMA)
    for size in range(1, 7):
        found = [
            (partition, [n for part in parts for n in part["number"].to_pylist()])
            for partition, parts in by_partition(table.to_batches(max_chunksize=size))
        ]
        assert found == [("a", [0, 1]), ("", [2, 3, 4]), ("b", [5])]


def test_by_partition_with_a_partition_twice_is_refused() -> None:
    """The commit's JSON would lose the first half."""
    rows = [a_status(n, partition=p) for n, p in enumerate("aba")]
    batches = pa.Table.from_pylist(rows, schema=SEGMENT_SCHEMA).to_batches()

    def walk() -> None:
        """Read all."""
        for _, parts in by_partition(batches):
            list(parts)

    with pytest.raises(CorruptFileError) as caught:
        walk()
    assert caught.value.condition == "commit/partition-twice"
