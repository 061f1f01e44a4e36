"""The plan of a compaction: which slices get a base file of their own, by their log files.

A pending compaction has a plan already; then its slices become base files at its instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from framework.hudi.filegroup.slices import FileGroupId, FileSlice

__all__ = ["CompactionPlan", "PendingCompaction", "plan_compaction", "slices_before"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """The slices to compact.

    Attributes:
        location: the table's.
        slices: with at least one log file each, by partition path and file id; may be empty.
    """

    location: str
    slices: tuple[FileSlice, ...]

    @property
    def partitions(self) -> int:
        """Number of partitions with a slice to compact."""
        return len({each.group.partition_path for each in self.slices})

    @property
    def logs(self) -> int:
        """Number of log files that are merged."""
        return sum(len(each.logs) for each in self.slices)

    @property
    def bytes(self) -> int:
        """Bytes to read; a skeleton's source is counted."""
        return sum(each.bytes_to_read for each in self.slices)


def plan_compaction(
    location: str, slices: Iterable[FileSlice], *, min_logs: int = 1, log_bytes: int = 0
) -> CompactionPlan:
    """Return the plan to compact slices with that many log files, and bytes in them, or more."""
    chosen = [
        each
        for each in slices
        if len(each.logs) >= max(min_logs, 1) and sum(log.size for log in each.logs) >= log_bytes
    ]
    return CompactionPlan(location=location, slices=tuple(sorted(chosen, key=lambda s: s.group)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCompaction:
    """A pending compaction, as it is to be executed.

    Attributes:
        location: the table's.
        instant: its requested time.
        by_lakestrap: whether Lakestrap planned it; else Apache Hudi did.
        is_inflight: whether another writer has begun to execute it.
        slices: what to write as base files: each planned group as it was before later writers began
            their slices; by partition path and file id.
        skipped: planned groups with nothing to compact: replaced, or rolled back.
        others: further pending compactions.
    """

    location: str
    instant: str
    by_lakestrap: bool
    is_inflight: bool
    slices: tuple[FileSlice, ...]
    skipped: int = 0
    others: int = 0

    @property
    def planner(self) -> str:
        """The name of the writer that planned it."""
        return "Lakestrap" if self.by_lakestrap else "Apache Hudi"

    @property
    def logs(self) -> int:
        """Number of log files that are merged."""
        return sum(len(each.logs) for each in self.slices)

    @property
    def bytes(self) -> int:
        """Bytes to read; a skeleton's source is counted."""
        return sum(each.bytes_to_read for each in self.slices)


def slices_before(
    groups: Iterable[FileGroupId], latest: Mapping[FileGroupId, FileSlice], instant: str
) -> tuple[FileSlice, ...]:
    """Return what a compaction planned at `instant` compacts of these groups, in their order.

    Args:
        groups: the planned groups.
        latest: the newest state of each group, log files of later slices included.
        instant: of the compaction.
    """
    found = (_slice_before(latest[each], instant) for each in sorted(groups) if each in latest)
    return tuple(each for each in found if each is not None)


def _slice_before(latest: FileSlice, instant: str) -> FileSlice | None:
    """Return the slice of a group before a pending compaction, None if there is none.

    That is the planned base file with the planned log files, unless a rollback removed some, or a
    writer that did not know the plan added some; both count then as they do for readers.
    """
    if latest.base is not None and latest.base.name.instant > instant:
        return None
    logs = tuple(each for each in latest.logs if each.name.base_instant < instant)
    if latest.base is None and not logs:
        return None
    return latest._replace(logs=logs)
