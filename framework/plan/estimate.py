"""What a plan will write and cost, before anything is written; every figure is an estimate.

Skeletons: the keys and sequence numbers (delta-encoded and zstd; by a sample of the source, or 2 B
a row), the bloom filter of each file in base64, and 1,800 B a file for the constant columns and
the footer. Full files: nine tenths of the source's bytes, since zstd is denser than the usual
snappy, the same keys and filter, and 4 KiB a file, since their footer has all columns and the Avro
schema. Index: 130 B a file and 60 B a partition in the two HFiles together, and 10 KiB for the
rest. Commit: 640 B a file, its write statistic, and 4 KiB for spec, schema and proof.

Core-seconds are those of one core of a small server: 210 ns a row for reading, making and
writing keys, 6.5 ns a row and bloom round, 50 ns a row for the audit, 3 ms a file, and 60 ns a
source byte where data is rewritten.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.plan.partitions import PartitionPlan

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

KEY_BYTES_PER_ROW: Final = 2.0
SKELETON_BYTES_PER_FILE: Final = 1_800
FULL_RECORD_SHARE: Final = 0.9
FULL_RECORD_BYTES_PER_FILE: Final = 4 * 1024
INDEX_BYTES_PER_FILE: Final = 130
INDEX_BYTES_PER_PARTITION: Final = 60
INDEX_BYTES: Final = 10 * 1024
COMMIT_BYTES_PER_FILE: Final = 640
COMMIT_BYTES: Final = 4 * 1024

NS_PER_ROW: Final = 210.0
NS_PER_ROW_AND_ROUND: Final = 6.5
NS_PER_AUDITED_ROW: Final = 50.0
NS_PER_FILE: Final = 3_000_000.0
NS_PER_REWRITTEN_BYTE: Final = 60.0
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
    """What each row of the table costs.

    Attributes:
        bloom: how the bloom filter of each file is chosen.
        key_bytes: bytes of a row's key and sequence number.
    """

    bloom: BloomChoice
    key_bytes: float = KEY_BYTES_PER_ROW


def skeleton_bytes(partitions: Iterable[PartitionPlan], cost: RowCost) -> int:
    """Return the size of the skeletons of these partitions."""
    return sum(_key_bytes(p, cost) + p.files * SKELETON_BYTES_PER_FILE for p in partitions)


def full_record_bytes(partitions: Iterable[PartitionPlan], cost: RowCost) -> int:
    """Return the size of the base files that hold these partitions in full."""
    return sum(
        round(p.bytes * FULL_RECORD_SHARE)
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
    both = (*skeletons, *full)
    nanoseconds = sum(p.rows * _row_ns(p, cost.bloom) + p.files * NS_PER_FILE for p in both)
    return (nanoseconds + sum(p.bytes for p in full) * NS_PER_REWRITTEN_BYTE) / _NS


def bloom_bytes(rows: int, bloom: BloomChoice) -> int:
    """Return the bytes of the bloom footer of a file with `rows` rows."""
    spec = bloom.spec(rows)
    return spec.text_bytes(rows) if spec else 0


def _row_ns(partition: PartitionPlan, bloom: BloomChoice) -> float:
    """Return the CPU time of one row, in nanoseconds."""
    spec = bloom.spec(_rows_per_file(partition))
    return NS_PER_ROW + NS_PER_ROW_AND_ROUND * (spec.rounds if spec else 0) + NS_PER_AUDITED_ROW


def _rows_per_file(partition: PartitionPlan) -> int:
    """Return the rows per file, as if all files of the partition were equally long."""
    return math.ceil(partition.rows / partition.files)


def _key_bytes(partition: PartitionPlan, cost: RowCost) -> int:
    """Return the bytes of keys, sequence numbers and bloom filters of a partition."""
    filters = partition.files * bloom_bytes(_rows_per_file(partition), cost.bloom)
    return round(partition.rows * cost.key_bytes) + filters
