"""File groups and their slices: the files of one version of records, and the names of files.

Names of base and log files (format sheet, sections 3.1 and 6.1) are known only here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, Self

from framework.errors import CorruptFileError, Where

__all__ = [
    "BASE_REST",
    "BaseFile",
    "BaseFileName",
    "Extent",
    "FileGroupId",
    "FileSlice",
    "LogFile",
    "LogFileName",
    "SourceFacts",
    "SourceFile",
    "group_and_instant_of",
    "instant_of",
    "is_file_id",
    "slice_of",
]

_FILE_ID: Final = re.compile(r"[^_/.\x00-\x1f]+")
_TOKEN: Final = re.compile(r"[0-9]+-[0-9]+-[0-9]+")
_INSTANT: Final = re.compile(r"[0-9]{1,17}")
_EXTENSION: Final = re.compile(r"parquet|orc|hfile")
BASE_REST: Final = f"_({_TOKEN.pattern})_({_INSTANT.pattern})[.]({_EXTENSION.pattern})"
"""Pattern of a base file's name after the file id: write token, instant, extension."""
_BASE: Final = re.compile(f"({_FILE_ID.pattern}){BASE_REST}")
_LOG: Final = re.compile(r"\.([^_/.]+)_([0-9]+)\.log\.([0-9]+)(?:_([0-9]+-[0-9]+-[0-9]+))?(\.cdc)?")


class _BaseParts(NamedTuple):
    """The parts of a `BaseFileName`."""

    file_id: str
    write_token: str
    instant: str
    extension: str


class BaseFileName(_BaseParts):
    """`<file_id>_<write_token>_<instant>.<extension>`.

    Readers split at `_` and at the first dot, so no part may contain either. A tuple, since tables
    have hundreds of thousands of names; `_make` takes parts that are already checked.

    Attributes:
        file_id: identifies the file group inside its partition.
        write_token: three decimal numbers joined by `-`.
        instant: requested time of the action that wrote the file.
        extension: `parquet`, `orc` or `hfile`, without a dot.
    """

    __slots__ = ()

    def __new__(
        cls, *, file_id: str, write_token: str, instant: str, extension: str = "parquet"
    ) -> Self:
        """Refuse parts that would not parse back."""
        _check(_FILE_ID, "file id", file_id)
        _check(_TOKEN, "write token", write_token)
        _check(_INSTANT, "instant", instant)
        _check(_EXTENSION, "extension", extension)
        return cls._make((file_id, write_token, instant, extension))

    def __reduce__(self) -> tuple[Any, ...]:
        """Skip the checks for a name sent to another process."""
        return type(self)._make, (tuple(self),)

    def __str__(self) -> str:
        """Return the name without a folder."""
        return f"{self.file_id}_{self.write_token}_{self.instant}.{self.extension}"

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Parse `name`; return None if it is not a base file's name."""
        found = _BASE.fullmatch(name)
        return None if found is None else cls._make(found.groups())


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFileName:
    """`.<file_id>_<base_instant>.log.<version>[_<write_token>][.cdc]`.

    Attributes:
        file_id: identifies the file group.
        base_instant: in table version 6, the instant of the slice's base file, or of the first
            log write if there is none; from version 8 on, that of the writing action.
        version: counts from 1 within a slice.
        write_token: None in very old tables.
        is_cdc: True for change-data files, which hold no table records.
    """

    file_id: str
    base_instant: str
    version: int
    write_token: str | None = None
    is_cdc: bool = False

    def __post_init__(self) -> None:
        """Refuse parts that would not parse back."""
        _check(_FILE_ID, "file id", self.file_id)
        _check(_INSTANT, "instant", self.base_instant)
        if self.write_token is not None:
            _check(_TOKEN, "write token", self.write_token)
        if self.version < 0:
            raise _fault("version", str(self.version))

    def __str__(self) -> str:
        """Return the name without a folder."""
        token = f"_{self.write_token}" if self.write_token is not None else ""
        cdc = ".cdc" if self.is_cdc else ""
        return f".{self.file_id}_{self.base_instant}.log.{self.version}{token}{cdc}"

    @classmethod
    def parse(cls, name: str) -> LogFileName | None:
        """Parse `name`; return None if it is not a log file's name."""
        found = _LOG.fullmatch(name)
        if found is None or len(found[3]) > len("2147483647"):
            return None
        try:
            return cls(
                file_id=found[1],
                base_instant=found[2],
                version=int(found[3]),
                write_token=found[4],
                is_cdc=found[5] is not None,
            )
        except CorruptFileError:
            return None


def is_file_id(text: str) -> bool:
    """Return whether `text` can be the file id in a name."""
    return _FILE_ID.fullmatch(text) is not None


def group_and_instant_of(name: str) -> tuple[str, str] | None:
    """Return the file id and instant in a base file's name, None for other names."""
    found = _BASE.fullmatch(name)
    return None if found is None else (found[1], found[3])


def instant_of(name: str) -> str | None:
    """Return the instant in the name of a base or log file, None for other names."""
    base = BaseFileName.parse(name)
    if base is not None:
        return base.instant
    log = LogFileName.parse(name)
    return log.base_instant if log is not None else None


def slice_of(name: str) -> tuple[str, str] | None:
    """Return the file id and base instant of a data file's slice, None for other names."""
    base = BaseFileName.parse(name)
    if base is not None:
        return base.file_id, base.instant
    log = LogFileName.parse(name)
    return None if log is None else (log.file_id, log.base_instant)


def _check(pattern: re.Pattern[str], what: str, text: str) -> None:
    if pattern.fullmatch(text) is None:
        raise _fault(what, text)


def _fault(what: str, text: str) -> CorruptFileError:
    return CorruptFileError(
        "filegroup/bad-name",
        f"{text!r} cannot be the {what} in a file name",
        where=Where(file=text),
        remedy="Remove '_', '/' and '.' from this part.",
    )


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
