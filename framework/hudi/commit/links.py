"""Linking staged files into the table, and comparing the table's listing with their statuses.

Files are linked only from statuses that the driver received. A batch's markers are durable before
its first file has a name. Nothing here is visible to readers while the instant is pending.

On a store without moves the tasks have written the markers, and given the files their names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from framework.errors import CommitConflictError, CorruptFileError, Where
from framework.hudi.commit.fence import require_quiet
from framework.hudi.commit.intent import Transaction
from framework.hudi.commit.lease import require
from framework.hudi.commit.markers import MarkerType, marker_type, read_markers, write_markers
from framework.hudi.commit.placement import Placement, is_own_log, place, place_bytes
from framework.hudi.commit.segments import SEGMENT_SCHEMA, SegmentRef, merge_segments
from framework.hudi.filegroup.slices import LogFileName, instant_of
from framework.hudi.storage.checksum import file_crc32c
from framework.hudi.storage.overlap import threads_for
from framework.hudi.storage.port import Entry, uploads_of
from framework.hudi.table import layout
from framework.hudi.timeline.instant import Action

T = TypeVar("T")

__all__ = ["by_partition", "check_listing", "link_files", "place_files"]

_BATCH_FILES: Final = 1000
_CHUNK_FILES: Final = 128


def link_files(
    transaction: Transaction, segments: Sequence[SegmentRef], *, threads: int | None = None
) -> None:
    """Give every staged file of `segments` its name in its partition, unless it has it already.

    Each batch, by number, writes markers, metadata of new partitions, then files. When repeated
    after a crash, files that already have their name are compared by size and checksum.

    Raises:
        CommitConflictError: `commit/name-taken`, `commit/staged-file-gone`.
        LeaseHeldError: `commit/lease-lost`.
    """
    storage, intent = transaction.storage, transaction.intent
    known: set[str] = set()
    with ThreadPoolExecutor(threads or threads_for(storage)) as pool:
        for batch in _gathered(merge_segments(storage, segments)):
            require(storage, transaction.lease)
            placements = _placements(batch)
            if placements:
                write_markers(storage, intent.staging, intent.requested_time, _markers(batch))
            partitions = set(batch["partition_path"].unique().to_pylist()) - known
            _each(pool, lambda path: _make_partition(transaction, path), sorted(partitions))
            _each(pool, lambda chunk: place(storage, chunk), _chunks(placements))
            known |= partitions


def place_files(transaction: Transaction, files: Mapping[str, str]) -> None:
    """Give staged files other than data files, such as the index, their names.

    If an earlier attempt of this write left other bytes under a name, they are replaced: the
    instant is pending, so they have no readers.

    Args:
        transaction: the write.
        files: staged path by target path.
    """
    storage = transaction.storage
    for target, source in files.items():
        entry = storage.stat(source)
        if entry is None:
            raise _conflict("staged-file-gone", "a file of this run is missing", source)
        if source == target:
            continue
        checksum = file_crc32c(storage, source)
        if storage.stat(target) is not None and file_crc32c(storage, target) != checksum:
            _check_ours(transaction)
            storage.delete(target, layout.crc_sidecar(target))
        transaction.intent.staging.check_not_fenced(storage)
        place(
            storage,
            [Placement(source=source, target=target, size=entry.size, crc32c=checksum)],
        )


def check_listing(
    transaction: Transaction, segments: Sequence[SegmentRef], *, threads: int | None = None
) -> int:
    """Compare every touched partition with the statuses; return the number of files removed.

    Lists each of these partitions. Removes files of this instant without a status: readers would
    take them for rows. Log files are recognized by marker and blocks, since their names contain
    another instant. Holds the names of one partition per thread, and of all log files, in memory.

    Raises:
        CommitConflictError: `commit/file-missing` for a status without a file,
            `commit/file-changed` for a file of another size; `commit/not-quiet-yet`.
        UnsupportedTableError: `commit/mixed-log`.
    """
    storage, intent = transaction.storage, transaction.intent
    require_quiet(transaction)
    marked: set[str] = set()
    logs: set[str] = set()
    for path in read_markers(storage, intent.requested_time):
        marked.add(layout.parent_of(path))
        if LogFileName.parse(layout.name_of(path)) is not None:
            logs.add(path)
    listing = _Listing(transaction=transaction, logs=logs)
    removed = 0
    at_once = threads or threads_for(storage)
    with ThreadPoolExecutor(at_once) as pool:
        window: list[tuple[str, dict[str, int]]] = []
        for partition, batches in by_partition(merge_segments(storage, segments)):
            marked.discard(partition)
            window.append((partition, _sizes(batches)))
            if len(window) == at_once:
                removed += sum(pool.map(lambda each: listing.check(*each), window))
                window.clear()
        window.extend((partition, {}) for partition in sorted(marked))
        removed += sum(pool.map(lambda each: listing.check(*each), window))
    return removed


def by_partition(
    batches: Iterable[pa.RecordBatch],
) -> Iterator[tuple[str, Iterator[pa.RecordBatch]]]:
    """Yield each partition with its statuses, which must be contiguous.

    Read each partition's batches before you advance to the next partition.

    Raises:
        CorruptFileError: `commit/partition-twice`.
    """
    seen: set[str] = set()
    runs = (run for batch in batches for run in _runs(batch))
    for partition, group in groupby(runs, key=itemgetter(0)):
        if partition in seen:
            raise CorruptFileError(
                "commit/partition-twice",
                "the files of a partition are not contiguous",
                where=Where(partition=partition),
                remedy="Nothing was published. Run again with --fresh.",
            )
        seen.add(partition)
        yield partition, (part for _, part in group)


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield runs of equal partition path."""
    start = 0
    encoded = pc.run_end_encode(batch["partition_path"])
    for end, value in zip(encoded.run_ends.to_pylist(), encoded.values.to_pylist(), strict=True):
        yield value, batch.slice(start, end - start)
        start = end


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield tables of at least `_BATCH_FILES` rows; the last may have fewer."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= _BATCH_FILES:
            yield pa.Table.from_batches(held, SEGMENT_SCHEMA)
            held = []
    if held:
        yield pa.Table.from_batches(held, SEGMENT_SCHEMA)


def _placements(table: pa.Table) -> list[Placement]:
    """Return staged files with their target names; none that tasks have named."""
    names = ("partition_path", "name", "staged", "size", "crc32c")
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    found = (
        Placement(source=staged, target=layout.join(partition, name), size=size, crc32c=crc32c)
        for partition, name, staged, size, crc32c in rows
    )
    return [each for each in found if each.source != each.target]


def _markers(table: pa.Table) -> Iterator[tuple[str, MarkerType]]:
    """Yield the target paths of staged files with their marker types."""
    columns = (table[name].to_pylist() for name in ("partition_path", "name", "previous"))
    for partition, name, previous in zip(*columns, strict=True):
        yield layout.join(partition, name), marker_type(name, previous)


def _chunks(placements: Sequence[Placement]) -> Iterator[Sequence[Placement]]:
    """Yield runs of files in one folder, so that one sync covers many files."""
    start = 0
    for place_, each in enumerate(placements):
        first = placements[start]
        if place_ - start == _CHUNK_FILES or layout.parent_of(each.target) != layout.parent_of(
            first.target
        ):
            yield placements[start:place_]
            start = place_
    if placements:
        yield placements[start:]


def _make_partition(transaction: Transaction, partition: str) -> None:
    """Create the partition's metadata; keep that of an older commit."""
    storage, intent = transaction.storage, transaction.intent
    path = layout.join(partition, layout.PARTITION_METADATA)
    is_first = intent.is_new_table and uploads_of(storage) is not None  # saves two requests
    if is_first or storage.stat(path) is None:
        metadata = layout.PartitionMetadata.of(partition, intent.requested_time)
        place_bytes(storage, intent.staging, path, metadata.render().encode())


def _sizes(batches: Iterable[pa.RecordBatch]) -> dict[str, int]:
    pairs = (zip(b["name"].to_pylist(), b["size"].to_pylist(), strict=True) for b in batches)
    return {name: size for each in pairs for name, size in each}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    """Compares partitions with statuses; `logs` are the log files named by markers."""

    transaction: Transaction
    logs: Collection[str]

    def check(self, partition: str, sizes: dict[str, int]) -> int:
        """Compare one partition with its statuses; return how many files were removed."""
        strays = []
        for entry in self.transaction.storage.list(partition):
            size = sizes.pop(entry.name, None)
            if size is None:
                strays += [entry.path] if self._is_stray(entry) else []
            elif size != entry.size or entry.is_folder:
                raise _conflict(
                    "file-changed", "a file does not have the size it was written with", entry.path
                )
        for name in sizes:
            raise _conflict("file-missing", "a file is missing", layout.join(partition, name))
        if strays:
            _check_ours(self.transaction)
            self.transaction.storage.delete(*strays)
        return len(strays)

    def _is_stray(self, entry: Entry) -> bool:
        """Whether readers would take an entry without a status for rows of this instant.

        Log files with the instant of a compaction are of writers that came after its plan.
        """
        if entry.is_folder:
            return False
        intent = self.transaction.intent
        time = intent.requested_time
        if instant_of(entry.name) == time:
            is_log = LogFileName.parse(entry.name) is not None
            return not (is_log and intent.action is Action.COMPACTION)
        return entry.path in self.logs and is_own_log(self.transaction.storage, entry.path, time)


def _check_ours(transaction: Transaction) -> None:
    """Raise if another run has taken over; call it before a delete, which cannot be fenced."""
    require(transaction.storage, transaction.lease)
    transaction.intent.staging.check_not_fenced(transaction.storage)


def _each(pool: ThreadPoolExecutor, work: Callable[[T], None], items: Iterable[T]) -> None:
    """Do `work` on all items concurrently; raise the first error in item order."""
    for _ in pool.map(work, items):
        pass


def _conflict(condition: str, message: str, path: str) -> CommitConflictError:
    """Return the error for a file that another process changed."""
    return CommitConflictError(
        f"commit/{condition}",
        message,
        where=Where(file=path),
        remedy="Nothing was published. Run the same command again.",
    )
