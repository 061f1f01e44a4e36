"""Files and partitions of a table that are not what its completed commits recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from framework.errors import CorruptFileError, Where
from framework.hudi.table.layout import PARTITION_METADATA, join

__all__ = ["Damage", "lost_partition"]

_RESTORE: Final = "Restore it from a copy, or restore the table to an instant before its commit."
_REMEDIES: Final = {
    "table/file-lost": _RESTORE,
    "table/file-size": _RESTORE,
    "table/file-not-recorded": "Find out who wrote it: its rows may double others. Move it out of "
    "the table once you know that they are not needed.",
    "table/partition-lost": "Restore the file from a copy, or copy it from a partition of the same "
    "depth.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file or partition that is not what a completed commit recorded.

    Attributes:
        condition: `table/file-lost`, `table/file-size`, `table/file-not-recorded`,
            `table/partition-lost`.
        message: what is wrong, without the place.
        path: of the file, relative to the table.
        partition_path: of its partition.
        instant: of the commit that recorded it; `""` where that is not known.
    """

    condition: str
    message: str
    path: str
    partition_path: str
    instant: str

    def error(self, location: str, others: int = 0) -> CorruptFileError:
        """Return the error for a table at `location` in which `others` more files are damaged."""
        more = f"; {others:,} more files are damaged" if others else ""
        return CorruptFileError(
            self.condition,
            self.message + more,
            where=Where(
                file=f"{location}/{self.path}",
                partition=self.partition_path or None,
                instant=self.instant or None,
            ),
            remedy=self.remedy,
        )

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return _REMEDIES[self.condition]


def lost_partition(partition_path: str, instant: str) -> Damage:
    """Return the damage of a partition that has no partition metadata and that `instant` wrote."""
    return Damage(
        condition="table/partition-lost",
        message="the partition has recorded files, but no partition metadata",
        path=join(partition_path, PARTITION_METADATA),
        partition_path=partition_path,
        instant=instant,
    )
