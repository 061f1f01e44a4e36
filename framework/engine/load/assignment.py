"""The assignment of new rows to file groups. Pure.

Groups that are rewritten anyway take new rows first, then other small ones, the smallest first; the
rest becomes new groups of the target size. A skeleton is never rewritten just to take new rows, and
log files take none: Apache Hudi looks up keys only in base files. For the same reason a group is
rewritten if its base file has a new key that its log files delete: Apache Hudi would find the key
there and in its new group, and write its next version into both.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

__all__ = [
    "MOST_ROWS",
    "GroupShare",
    "Sizing",
    "SliceFacts",
    "Stretch",
    "assign",
    "count_rows",
    "pieces",
]

MOST_ROWS: Final = 1 << 22
"""Rows of a file, whatever their size: a task holds a file's bytes, keys' hashes and key filter."""

Stretch = tuple[int, int, int]
"""Bucket, start (inclusive) and stop (exclusive) among its rows to insert."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceFacts:
    """The facts of an existing slice.

    Attributes:
        number: its number among the slices that were searched.
        partition_path: its partition.
        rows: its rows; None if it was not searched.
        bytes: of its base file, with the source file behind a skeleton; 0 without a base file.
        hits: its rows that change.
        is_skeleton: whether its base file is a skeleton.
        has_logs: whether it has log files.
        hides: whether its base file has keys of incoming rows that its log files delete.
    """

    number: int
    partition_path: str
    rows: int | None
    bytes: int
    hits: int
    is_skeleton: bool
    has_logs: bool
    hides: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """The sizes of files.

    Attributes:
        target_bytes: target size of a new file.
        small_bytes: smaller files take new rows; 0 if none does.
        row_bytes: size of a row, if no slice of its partition indicates one.
        appends: whether changes go to log files, so that no group is rewritten for them.
    """

    target_bytes: int
    small_bytes: int
    row_bytes: float
    appends: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShare:
    """The new rows of one file group; `slice` None is a new group.

    `appends` means that its changes go to a log file.
    """

    partition_path: str
    slice: int | None
    inserts: tuple[Stretch, ...] = ()
    appends: bool = False


@dataclass(slots=True, kw_only=True)
class _Rows:
    """Stretches of rows, taken from the front."""

    stretches: list[Stretch]
    count: int = field(init=False)

    def __post_init__(self) -> None:
        self.count = count_rows(self.stretches)

    def take(self, most: int) -> tuple[Stretch, ...]:
        """Take at most `most` rows from the front."""
        taken = []
        while most > 0 and self.stretches:
            bucket, start, stop = self.stretches.pop(0)
            cut = min(stop, start + most)
            taken.append((bucket, start, cut))
            most -= cut - start
            self.count -= cut - start
            if cut < stop:
                self.stretches.insert(0, (bucket, cut, stop))
        return tuple(taken)


def assign(
    slices: Sequence[SliceFacts], inserts: Mapping[str, Sequence[Stretch]], sizing: Sizing
) -> tuple[GroupShare, ...]:
    """Return every group that changes or is new, partitions in the order of their bytes.

    Inside a partition existing groups come by number, then new ones. Every row of `inserts` is in
    exactly one group.

    Args:
        slices: those that were searched.
        inserts: rows to insert by partition path.
        sizing: the sizes of files.
    """
    by_path: dict[str, list[SliceFacts]] = defaultdict(list)
    for each in slices:
        by_path[each.partition_path].append(each)
    paths = sorted(by_path.keys() | inserts.keys(), key=str.encode)
    return tuple(
        share
        for path in paths
        for share in _of_partition(path, by_path[path], list(inserts.get(path, ())), sizing)
    )


def _of_partition(
    path: str, slices: Sequence[SliceFacts], stretches: list[Stretch], sizing: Sizing
) -> Iterator[GroupShare]:
    """Yield the groups of one partition."""
    rows = _Rows(stretches=stretches)
    row_bytes = _row_bytes(slices, sizing)
    taken: dict[int, tuple[Stretch, ...]] = {}
    takers = sorted(
        _takers(slices, sizing), key=lambda s: (not _is_rewritten(s, sizing), s.bytes, s.number)
    )
    for each in takers:
        if rows.count:
            room = int((sizing.target_bytes - each.bytes) / row_bytes)
            room = min(room, MOST_ROWS - (each.rows or 0))
            taken[each.number] = rows.take(room)
    for each in slices:
        inserts = taken.get(each.number, ())
        if each.hits or inserts or each.hides:
            appends = not inserts and not _is_rewritten(each, sizing)
            yield GroupShare(
                partition_path=path, slice=each.number, inserts=inserts, appends=appends
            )
    files = math.ceil(max(rows.count * row_bytes / sizing.target_bytes, rows.count / MOST_ROWS))
    for left in range(files, 0, -1):
        share = rows.take(math.ceil(rows.count / left))
        yield GroupShare(partition_path=path, slice=None, inserts=share)


def _takers(slices: Sequence[SliceFacts], sizing: Sizing) -> Iterator[SliceFacts]:
    """Yield the slices that may take new rows."""
    for each in slices:
        other = each.is_skeleton or each.has_logs or each.hits
        usable = _is_rewritten(each, sizing) or not other
        if usable and 0 < each.bytes < sizing.small_bytes:
            yield each


def _is_rewritten(each: SliceFacts, sizing: Sizing) -> bool:
    """Return whether a slice gets a new base file, also without new rows."""
    return each.hides or (bool(each.hits) and not sizing.appends)


def _row_bytes(slices: Sequence[SliceFacts], sizing: Sizing) -> float:
    """Return the size of a row of the partition; at least one byte."""
    known = [each for each in slices if each.rows and each.bytes]
    rows = sum(each.rows or 0 for each in known)
    found = sum(each.bytes for each in known) / rows if rows else sizing.row_bytes
    return max(found, 1.0)


def count_rows(stretches: Iterable[Stretch]) -> int:
    """Return the number of rows of some stretches."""
    return sum(stop - start for _, start, stop in stretches)


def pieces(stretches: Iterable[Stretch], most: int) -> Iterator[tuple[Stretch, ...]]:
    """Yield stretches in order, cut so that each tuple has `most` rows, the last one fewer."""
    rows = _Rows(stretches=list(stretches))
    while rows.count:
        yield rows.take(most)
