"""What every file-system view answers, however it came to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.hudi.filegroup.slices import FileSlice

__all__ = ["FileSystemView"]


class FileSystemView(Protocol):
    """Which file slices make up a table as of one timeline."""

    def partitions(self) -> Iterator[str]:
        """Yield the partition paths by name; `""` is the one of an unpartitioned table."""
        ...

    def latest_slices(self, partition_path: str) -> Sequence[FileSlice]:
        """Return the latest completed slice of each file group, by file id.

        Replaced file groups are left out. A partition that does not exist has no slices.
        """
        ...
