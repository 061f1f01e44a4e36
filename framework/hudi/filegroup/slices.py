"""File groups and their slices: the files of one version of records."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from framework.hudi.filegroup.names import BaseFileName, LogFileName

__all__ = ["BaseFile", "Extent", "FileGroupId", "FileSlice", "LogFile", "SourceFacts", "SourceFile"]


class FileGroupId(NamedTuple):
    """All versions of one file's records; `partition_path` is `""` in unpartitioned tables."""

    partition_path: str
    file_id: str


class BaseFile(NamedTuple):
    """A base file; `path` is relative to the table, `size` in bytes."""

    name: BaseFileName
    path: str
    size: int


class Extent(NamedTuple):
    """Bytes of a log file that a completed commit wrote: from `start` up to but not `end`."""

    instant: str
    start: int
    end: int


class LogFile(NamedTuple):
    """A log file; `path` is relative to the table, `size` in bytes.

    `committed` lists what completed commits recorded of it, in their order; empty if they were not
    read or do not name the file.
    """

    name: LogFileName
    path: str
    size: int
    committed: tuple[Extent, ...] = ()


class SourceFacts(Protocol):
    """The facts of a source file, as in `SourceFile`."""

    @property
    def uri(self) -> str:
        """As in `SourceFile`."""
        ...

    @property
    def size(self) -> int:
        """As in `SourceFile`."""
        ...

    @property
    def mtime_ms(self) -> int:
        """As in `SourceFile`."""
        ...


class SourceFile(NamedTuple):
    """The source file behind a skeleton.

    Attributes:
        uri: full location, as in the bootstrap index.
        size: bytes at bootstrap time; readers stop there.
        mtime_ms: last modification at that time, milliseconds since the epoch; 0 if unknown.
    """

    uri: str
    size: int
    mtime_ms: int


class FileSlice(NamedTuple):
    """One version of a file group.

    Attributes:
        group: its file group.
        base_instant: instant of the base file, or of the first log write if there is none.
        base: None if records are in log files only.
        logs: oldest first (by base instant, version, write token).
        bootstrap: the source file if `base` is a skeleton, else None.
    """

    group: FileGroupId
    base_instant: str
    base: BaseFile | None = None
    logs: tuple[LogFile, ...] = ()
    bootstrap: SourceFile | None = None

    @property
    def total_size_bytes(self) -> int:
        """Bytes of base and log files; a skeleton's source is not counted."""
        return (self.base.size if self.base else 0) + sum(log.size for log in self.logs)

    @property
    def bytes_to_read(self) -> int:
        """Bytes of all files that its rows are in, the source of a skeleton included."""
        return self.total_size_bytes + (self.bootstrap.size if self.bootstrap else 0)
