"""Proof by statuses alone that no key occurs twice: every file ordered, no two ranges overlapping.

Costs only the sorting of two short byte strings per file; in the scope of a partition only one
partition's are held at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.hudi.commit.segments import SegmentRef, merge_segments
from framework.hudi.storage.port import Storage
from framework.vocabulary import KeyScope

__all__ = ["Survey", "survey"]

_FOLLOWED: Final = ("partition_path", "order_first", "order_last", "increasing", "injective")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The combined statuses of all files.

    Attributes:
        files: number of files.
        rows: rows in all of them.
        checksum: over number and checksum of each file, in order; 16 hexadecimal digits.
        null_keys: rows without a key.
        null_files: (number, rows without a key) of the first few files that have such rows.
        disjoint: whether order and ranges prove that no key occurs twice in the scope.
    """

    files: int
    rows: int
    checksum: str
    null_keys: int
    null_files: tuple[tuple[int, int], ...]
    disjoint: bool


def survey(
    storage: Storage, segments: Sequence[SegmentRef], scope: KeyScope, samples: int
) -> Survey:
    """Read every status once, in order of number, and return the survey.

    `samples` bounds `null_files`.
    """
    gathering = _Gathering(scope, samples)
    for batch in merge_segments(storage, segments):
        gathering.add(batch)
    return gathering.finish()


class _Gathering:
    """Surveys the statuses, batch by batch."""

    def __init__(self, scope: KeyScope, samples: int) -> None:
        self._scope = scope
        self._samples = samples
        self._hash = hashlib.sha256()
        self._files = self._rows = self._nulls = 0
        self._null_files: list[tuple[int, int]] = []
        self._ordered = True
        self._ranges: list[Any] = []
        self._partition: str | None = None

    def add(self, batch: Any) -> None:
        """Add one batch of statuses."""
        self._files += batch.num_rows
        self._rows += pc.sum(batch["rows"]).as_py() or 0
        self._nulls += pc.sum(batch["null_keys"]).as_py() or 0
        pairs = [batch["number"].to_numpy(), batch["crc32c"].to_numpy().astype(np.int64)]
        self._hash.update(np.stack(pairs, axis=1).tobytes())
        if self._nulls and len(self._null_files) < self._samples:
            self._note_nulls(batch)
        if self._ordered:
            self._follow(batch.select(_FOLLOWED).filter(pc.greater(batch["rows"], 0)))

    def finish(self) -> Survey:
        """Return the survey."""
        self._close()
        return Survey(
            files=self._files,
            rows=self._rows,
            checksum=self._hash.hexdigest()[:16],
            null_keys=self._nulls,
            null_files=tuple(self._null_files),
            disjoint=self._ordered,
        )

    def _note_nulls(self, batch: Any) -> None:
        """Record the first files with rows that have no key."""
        bad = batch.filter(pc.greater(batch["null_keys"], 0))
        pairs = zip(bad["number"].to_pylist(), bad["null_keys"].to_pylist(), strict=True)
        self._null_files += list(pairs)[: self._samples - len(self._null_files)]

    def _follow(self, batch: Any) -> None:
        """Keep the ranges of the batch; in the scope of a partition, close those that end."""
        if not batch.num_rows:
            return
        fine = pc.and_(batch["increasing"], batch["injective"])
        if not pc.all(fine).as_py():
            self._ordered = False
            self._ranges = []
            return
        ranges = pa.table({"first": batch["order_first"], "last": batch["order_last"]})
        if self._scope is KeyScope.TABLE:
            self._ranges.append(ranges)
            return
        for partition, start, stop in _runs(batch["partition_path"]):
            if partition != self._partition:
                self._close()
                self._partition = partition
            self._ranges.append(ranges.slice(start, stop - start))

    def _close(self) -> None:
        """Check the kept ranges, then discard them."""
        if self._ordered and self._ranges:
            self._ordered = _are_disjoint(pa.concat_tables(self._ranges))
        self._ranges = []


def _are_disjoint(ranges: Any) -> bool:
    """Return whether no two of the closed ranges have a key in common."""
    if ranges.num_rows <= 1:
        return True
    order = pc.sort_indices(ranges["first"])
    last, following = (
        ranges[name].take(each) for name, each in (("last", order[:-1]), ("first", order[1:]))
    )
    return bool(pc.all(pc.less(last, following)).as_py())


def _runs(partitions: Any) -> list[tuple[str, int, int]]:
    """Return (partition, start, stop) of each run of equal values; there is at least one."""
    encoded = pc.run_end_encode(partitions)
    ends = encoded.run_ends.to_pylist()
    return list(zip(encoded.values.to_pylist(), [0, *ends[:-1]], ends, strict=True))
