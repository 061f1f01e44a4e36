"""What a plan will write and cost, before anything is written; every figure is an estimate.

Skeletons: the keys and sequence numbers (delta-encoded and zstd; by a sample of the source, or 2 B
a row), the bloom filter of each file in base64, and 1,800 B a file for the constant columns and
the footer. Full files: the source's bytes times the share that sampled rows take in a base file,
or nine tenths, since zstd is denser than the usual snappy; the same keys and filter; and 4 KiB a
file, since their footer has all columns and the Avro schema. Index: 130 B a file and 60 B a
partition in the two HFiles together, and 10 KiB for the rest. Commit: 640 B a file, its write
statistic, and 4 KiB for spec, schema and proof.

Core-seconds: what this machine took for a row, a file and a byte of the sample, times how much more
a run does with each: it also hashes, spills, seals, syncs and audits. These factors were measured
with `bench/bootstrap.py`, which compares estimate and run. Without a sample, the rates are those of
one core of a small server.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.bootstrap.sample import Sample
from framework.plan.partitions import PartitionPlan, totals

__all__ = [
    "Estimate",
    "RowCost",
    "bloom_bytes",
    "commit_bytes",
    "core_seconds",
    "full_record_bytes",
    "index_bytes",
    "skeleton_bytes",
]

SKELETON_BYTES_PER_FILE: Final = 1_800
FULL_RECORD_BYTES_PER_FILE: Final = 4 * 1024
INDEX_BYTES_PER_FILE: Final = 130
INDEX_BYTES_PER_PARTITION: Final = 60
INDEX_BYTES: Final = 10 * 1024
COMMIT_BYTES_PER_FILE: Final = 640
COMMIT_BYTES: Final = 4 * 1024

ROW_FACTOR: Final = 1.6
"""CPU time of a run for a row, as a multiple of that for the keys of a sampled row."""
FILE_FACTOR: Final = 7.0
"""The same for a file: it is fingerprinted, staged, linked, indexed and audited too."""
BYTE_FACTOR: Final = 1.2
"""The same for a byte of rewritten data."""
_NS: Final = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Bytes to write by kind, and the cost; all estimated."""

    skeleton_bytes: int = 0
    full_record_bytes: int = 0
    index_bytes: int = 0
    commit_bytes: int = 0
    core_seconds: float = 0.0

    @property
    def bytes_to_write(self) -> int:
        """Total bytes that the run adds to the table."""
        return self.skeleton_bytes + self.full_record_bytes + self.index_bytes + self.commit_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCost:
    """What each row and file of the table costs.

    Attributes:
        bloom: how the bloom filter of each file is chosen.
        key_bytes: bytes of a row's key and sequence number.
        key_ns: CPU time of reading, making and encoding a row's key, in nanoseconds.
        file_ns: CPU time of opening a file and closing its skeleton.
        full_share: bytes of data in a full file for each byte of the source.
        byte_ns: CPU time of rewriting a stored byte of the source.
    """

    bloom: BloomChoice
    key_bytes: float = 2.0
    key_ns: float = 160.0
    file_ns: float = 500_000.0
    full_share: float = 0.9
    byte_ns: float = 50.0

    @staticmethod
    def of(bloom: BloomChoice, sample: Sample | None) -> RowCost:
        """Return what the sample cost; the defaults for what it lacks."""
        usual = RowCost(bloom=bloom)
        if sample is None:
            return usual
        found = replace(
            usual,
            key_bytes=sample.key_bytes / sample.rows,
            key_ns=sample.key_ns / sample.rows,
            file_ns=sample.file_ns / sample.files,
        )
        if not sample.stored_bytes:
            return found
        return replace(
            found,
            full_share=sample.rewritten_bytes / sample.stored_bytes,
            byte_ns=sample.rewrite_ns / sample.stored_bytes,
        )


def skeleton_bytes(partitions: Iterable[PartitionPlan], cost: RowCost) -> int:
    """Return the size of the skeletons of these partitions."""
    return sum(_key_bytes(p, cost) + p.files * SKELETON_BYTES_PER_FILE for p in partitions)


def full_record_bytes(partitions: Iterable[PartitionPlan], cost: RowCost) -> int:
    """Return the size of the base files that hold these partitions in full."""
    return sum(
        round(p.bytes * cost.full_share)
        + _key_bytes(p, cost)
        + p.files * FULL_RECORD_BYTES_PER_FILE
        for p in partitions
    )


def index_bytes(files: int, partitions: int) -> int:
    """Return the size of both files of the bootstrap index."""
    return INDEX_BYTES + files * INDEX_BYTES_PER_FILE + partitions * INDEX_BYTES_PER_PARTITION


def commit_bytes(files: int) -> int:
    """Return the size of the commit's JSON, which Apache Hudi reads whole to open the table."""
    return COMMIT_BYTES + files * COMMIT_BYTES_PER_FILE


def core_seconds(
    skeletons: Iterable[PartitionPlan], full: Iterable[PartitionPlan], cost: RowCost
) -> float:
    """Return the CPU time of writing and auditing these partitions."""
    both = totals((*skeletons, *full))
    nanoseconds = (
        both.rows * cost.key_ns * ROW_FACTOR
        + both.files * cost.file_ns * FILE_FACTOR
        + totals(full).bytes * cost.byte_ns * BYTE_FACTOR
    )
    return nanoseconds / _NS


def bloom_bytes(rows: int, bloom: BloomChoice) -> int:
    """Return the bytes of the bloom footer of a file with `rows` rows."""
    spec = bloom.spec(rows)
    return spec.text_bytes(rows) if spec else 0


def _rows_per_file(partition: PartitionPlan) -> int:
    """Return the rows per file, as if all files of the partition were equally long."""
    return math.ceil(partition.rows / partition.files)


def _key_bytes(partition: PartitionPlan, cost: RowCost) -> int:
    """Return the bytes of keys, sequence numbers and bloom filters of a partition."""
    filters = partition.files * bloom_bytes(_rows_per_file(partition), cost.bloom)
    return round(partition.rows * cost.key_bytes) + filters
