"""Builders of bootstrap indexes for tests and golden vectors."""

from __future__ import annotations

import io
import uuid
from collections.abc import Sequence
from typing import BinaryIO

from framework.hudi.bootstrap.index import FileMapping, IndexGroup, IndexWriter, write_index_part

__all__ = [
    "BASE_URI",
    "CREATED_MS",
    "a_group",
    "golden_groups",
    "tame_groups",
    "write_index",
]

BASE_URI = "file:///lake/raw/flights"
CREATED_MS = 1_700_000_000_000
# Each is a prefix of another, and the next character is above or below ";".
_TRAPS = ("p=1", "p=10", "p=1-2", "p=1/x", "p=1_a", "p=é", "p=日本", "p=\ue000", "p=😀", "")


def a_group(partition: str, files: int = 2) -> IndexGroup:
    """Return a partition with that many files, whose facts follow from its name."""
    folder = f"{BASE_URI}/{partition}" if partition else BASE_URI
    return IndexGroup(
        partition_path=partition,
        source_partition=partition,
        files=tuple(
            FileMapping(
                file_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{partition}/{n}")),
                uri=f"{folder}/part-{n:05d}.parquet",
                size=1_000 + 977 * n,
                mtime_ms=CREATED_MS + n,
            )
            for n in range(files)
        ),
    )


def golden_groups() -> list[IndexGroup]:
    """Return the partitions whose order is hard to get right, one of them over several blocks."""
    return [a_group(name, files=120 if name == "p=1" else 3) for name in _TRAPS]


def tame_groups() -> list[IndexGroup]:
    """Return partitions whose order is the same by any rule, the first over several blocks."""
    return [a_group(f"dt=2024-01-0{n}", files=120 if n == 1 else 3) for n in range(1, 5)]


def write_index(
    partitions_out: BinaryIO,
    fileids_out: BinaryIO,
    *parts: Sequence[IndexGroup],
    base_uri: str = BASE_URI,
    created_ms: int = CREATED_MS,
) -> None:
    """Write an index of parts, each with some partitions in any order."""
    writer = IndexWriter(partitions_out, fileids_out)
    for groups in parts:
        blocks = io.BytesIO(), io.BytesIO()
        part = write_index_part(*blocks, groups)
        writer.add(part, *(io.BytesIO(each.getvalue()) for each in blocks))
    writer.finish(base_uri=base_uri, created_ms=created_ms)
