"""The task that reads the keys of source files for a dry proof; it writes no base file.

A pure function of its descriptor and the source's bytes. Files whose keys strictly increase are not
hashed while order may be enough; the comparison of their ranges decides that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import numpy as np

from framework.engine.audit.keys import KeySource, hash_keys
from framework.engine.audit.spill import SpillWriter, partition_mix
from framework.engine.bootstrap.job import WorkRange
from framework.engine.tasks import decode, encode
from framework.hudi.bootstrap.discovery import check_folder_values
from framework.hudi.bootstrap.inventory import InventoryFile, read_files
from framework.hudi.bootstrap.key_pass import KeyFacts, KeyScan, key_facts
from framework.hudi.bootstrap.seqno_pages import RowNumbers
from framework.hudi.bootstrap.source_file import SourceReader, open_source
from framework.hudi.bootstrap.source_schema import decode_schema
from framework.hudi.commit.segments import SegmentRef, write_segment
from framework.hudi.commit.statuses import SourceFileStatus, Statuses
from framework.hudi.keygen.ordering import FollowedOrder
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, join
from framework.hudi.table.partition_path import PartitionValue, partition_values
from framework.vocabulary import KeyScope

__all__ = ["ProofJob", "ProofShare", "ProofTask", "prove_files_task"]

_MOST_HASHES: Final = 1 << 20  # at a time, also of larger files


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofJob:
    """The job of every task of one proof.

    Attributes:
        keys: how keys are computed, and from what.
        work: location of the scratch storage.
        folder: folder in it for statuses and spills; it exists.
        schema: encoded Arrow schema of the table without meta columns.
        bits: number of bits of a hash that choose its bucket.
        by_value: hash typed values instead of texts.
        hash_ordered: also hash files whose keys strictly increase.
    """

    keys: KeySource
    work: str
    folder: str
    schema: str
    bits: int
    by_value: bool
    hash_ordered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofTask:
    """One task's share of a proof; `ranges` ascend."""

    job: ProofJob
    ranges: tuple[WorkRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofShare:
    """The findings of a task.

    Attributes:
        segment: the files' statuses.
        spill: path of the hashes; "" if no file was hashed.
        left: (first number, number after the last) of files that were not hashed, ascending.
        ambiguous: hashes are of values, and some text can be split in several ways.
    """

    segment: SegmentRef
    spill: str
    left: tuple[tuple[int, int], ...]
    ambiguous: bool


def prove_files_task(descriptor: str) -> str:
    """Read the keys of a `ProofTask`'s files; return a `ProofShare` as JSON.

    Nothing is synced: a proof is repeated rather than resumed.

    Raises:
        SourceDriftError: a source file is not the one in the inventory.
        CorruptFileError: a source file cannot be read.
        StorageError: see `Storage.create`.
    """
    task = decode(ProofTask, descriptor)
    job = task.job
    storage = open_storage(job.work)
    segment = join(job.folder, f"{uuid4().hex}.arrow")
    with ExitStack() as stack:
        spill = _LazySpill(storage, f"{segment}.spill", job.bits, stack)
        worker = _Worker(job, spill)
        for each in task.ranges:
            worker.look(each)
        spill.finish()
    statuses = worker.statuses.table()
    share = ProofShare(
        segment=write_segment(storage, segment, statuses, durable=False),
        spill=spill.path,
        left=tuple(worker.left),
        ambiguous=worker.ambiguous,
    )
    return encode(share)


class _LazySpill:
    """A spill that is created with the first hashes; `path` is "" until then."""

    def __init__(self, storage: Storage, path: str, bits: int, stack: ExitStack) -> None:
        self._storage = storage
        self._place = path
        self._bits = bits
        self._stack = stack
        self._writer: SpillWriter | None = None
        self.path = ""

    def add(self, number: int, hashes: np.ndarray) -> None:
        """Add the hashes of one file."""
        if self._writer is None:
            out = self._stack.enter_context(self._storage.create(self._place, durable=False))
            self._writer = SpillWriter(out, self._bits)
            self.path = self._place
        self._writer.add(number, hashes)

    def finish(self) -> None:
        """Write the remaining hashes, if any were added."""
        if self._writer:
            self._writer.finish()


class _Worker:
    """Reads one file after the other."""

    def __init__(self, job: ProofJob, spill: _LazySpill) -> None:
        self._job = job
        self._spill = spill
        keys = job.keys
        self._source = open_storage(keys.source)
        self._handle = keys.inventory
        self._rule = keys.rule
        self._key_schema = decode_schema(keys.key_schema)
        self._schema = decode_schema(job.schema)
        self._mixed = self._rule.scope is KeyScope.PARTITION
        self.statuses = Statuses()
        self.left: list[tuple[int, int]] = []
        self.ambiguous = False

    def look(self, work: WorkRange) -> None:
        """Read the keys of the files of a range."""
        for file in read_files(self._handle, work.start, work.stop):
            path = file.partition_path
            values = partition_values(path, self._rule.partition, self._rule.layout)
            with open_source(self._source, file.fingerprint) as reader:
                check_folder_values(reader, self._schema, values, path)
                facts = self._facts(reader, file, values)
            self.statuses.add(SourceFileStatus.of(file, work.mode, facts))

    def _facts(
        self, reader: SourceReader, file: InventoryFile, values: Mapping[str, PartitionValue]
    ) -> KeyFacts:
        """Return the facts of a file's keys, after spilling them or recording the file as left."""
        if self._rule.is_automatic:
            return _automatic(file)
        facts = None if self._job.hash_ordered else self._ordered(reader, values)
        if facts is None:
            return self._hashed(reader, file, values)
        if self.left and self.left[-1][1] == file.number:
            self.left[-1] = (self.left[-1][0], file.number + 1)
        else:
            self.left.append((file.number, file.number + 1))
        return facts

    def _ordered(
        self, reader: SourceReader, values: Mapping[str, PartitionValue]
    ) -> KeyFacts | None:
        """Return the facts of a file whose keys increase; None as soon as they do not."""
        scan = KeyScan(self._rule, values)
        for batch in self._batches(reader, values):
            scan.add(batch)
            if not scan.increasing:
                return None
        return scan.facts()

    def _hashed(
        self, reader: SourceReader, file: InventoryFile, values: Mapping[str, PartitionValue]
    ) -> KeyFacts:
        """Spill the hashes of a file's keys; return their other facts."""
        scan = KeyScan(self._rule, values)
        by_value = self._job.by_value
        left, at = file.fingerprint.rows, 0
        hashes = np.empty(min(left, _MOST_HASHES), np.uint64)
        for batch in self._batches(reader, values):
            rows = batch.num_rows
            scan.add(batch)
            if at + rows > hashes.size:
                self._hand_over(file, hashes[:at])
                left, at = left - at, 0
                hashes = np.empty(max(rows, min(left, _MOST_HASHES)), np.uint64)
            hash_keys(self._rule, batch, values, hashes[at : at + rows], by_value=by_value)
            at += rows
        self._hand_over(file, hashes[:at])
        self.ambiguous |= by_value and not scan.injective
        return scan.facts()

    def _hand_over(self, file: InventoryFile, hashes: np.ndarray) -> None:
        """Spill some hashes of a file; the caller must not use them afterwards."""
        if self._mixed:
            hashes ^= np.uint64(partition_mix(file.partition_path))
        self._spill.add(file.number, hashes)

    def _batches(self, reader: SourceReader, values: Mapping[str, PartitionValue]) -> Iterator[Any]:
        """Yield the file's key columns, in row order."""
        schema = reader.schema_for_keys(self._key_schema, values)
        for group in reader.row_groups():
            yield from reader.batches(group, schema)


def _automatic(file: InventoryFile) -> KeyFacts:
    """Return the facts of automatic keys without reading a row: they are numbers of rows."""
    order = FollowedOrder()
    rows = file.fingerprint.rows
    if rows:
        numbers = RowNumbers(instant=BOOTSTRAP_INSTANT, number=file.number)
        order.extend(numbers.order(0, rows))
    return key_facts(rows, 0, order)
