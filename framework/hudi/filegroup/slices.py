"""File groups and their slices: which files hold one version of some records."""

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

    `committed` is what completed commits recorded of it, in their order; empty where they were not
    asked, or name the file nowhere.
    """

    name: LogFileName
    path: str
    size: int
    committed: tuple[Extent, ...] = ()


class SourceFacts(Protocol):
    """What is known of a source file, as of `SourceFile`."""

    @property
    def uri(self) -> str:
        """As of `SourceFile`."""
        ...

    @property
    def size(self) -> int:
        """As of `SourceFile`."""
        ...

    @property
    def mtime_ms(self) -> int:
        """As of `SourceFile`."""
        ...


class SourceFile(NamedTuple):
    """The source file behind a skeleton.

    Attributes:
        uri: full location, as the bootstrap index has it.
        size: bytes at the time of the bootstrap; readers stop there.
        mtime_ms: last modification then, milliseconds since the epoch; 0 where unknown.
    """

    uri: str
    size: int
    mtime_ms: int


class FileSlice(NamedTuple):
    """One version of a file group.

    Attributes:
        group: whose version it is.
        base_instant: instant of the base file, or of the first log write where there is none.
        base: None where records are in log files only.
        logs: oldest first (by base instant, version, write token).
        bootstrap: the source file where `base` is a skeleton, else None.
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
