"""`.hoodie_partition_metadata`: the file that makes a folder a partition (format sheet, 3.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from framework.errors import CorruptFileError, Where
from framework.hudi.codecs.java_properties import parse, render

__all__ = ["PartitionMetadata"]

_COMMIT_TIME = "commitTime"
_DEPTH = "partitionDepth"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    """What the file says.

    Attributes:
        commit_time: requested time of the instant that created the partition.
        depth: levels from the table's root down to the partition; 0 for an unpartitioned table.
    """

    commit_time: str
    depth: int

    @classmethod
    def of(cls, partition_path: str, commit_time: str) -> Self:
        """Return the metadata of a partition that `commit_time` creates."""
        depth = partition_path.count("/") + 1 if partition_path else 0
        return cls(commit_time=commit_time, depth=depth)

    @classmethod
    def parse(cls, text: str, file: str) -> Self:
        """Return what the text of `file` says.

        Raises:
            CorruptFileError: `partition/bad-metadata`.
        """
        entries = parse(text)
        try:
            return cls(commit_time=entries[_COMMIT_TIME], depth=int(entries[_DEPTH]))
        except (KeyError, ValueError) as error:
            raise CorruptFileError(
                "partition/bad-metadata",
                f"not a partition's metadata: {error!r}",
                where=Where(file=file),
                remedy="Restore the file, or let Apache Hudi's repair command add it anew.",
            ) from error

    def render(self) -> str:
        """Return the file's text; the same on each attempt, so without Java's comment of a date."""
        pairs = {_COMMIT_TIME: self.commit_time, _DEPTH: str(self.depth)}
        return render(pairs, ("partition metadata",))
