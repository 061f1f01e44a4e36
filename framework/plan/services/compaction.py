"""The plan of a compaction: which slices get a base file of their own, by their log files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from framework.hudi.filegroup.slices import FileSlice

__all__ = ["CompactionPlan", "plan_compaction"]


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
