"""Names of base and log files (format sheet, sections 3.1 and 6.1); each is known here only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from framework.errors import CorruptFileError, Where

__all__ = ["BaseFileName", "LogFileName", "group_and_instant_of", "instant_of"]

_FILE_ID: Final = re.compile(r"[^_/.\x00-\x1f]+")
_TOKEN: Final = re.compile(r"[0-9]+-[0-9]+-[0-9]+")
_INSTANT: Final = re.compile(r"[0-9]{1,17}")
_EXTENSION: Final = re.compile(r"parquet|orc|hfile")
_BASE: Final = re.compile(
    f"({_FILE_ID.pattern})_({_TOKEN.pattern})_({_INSTANT.pattern})[.]({_EXTENSION.pattern})"
)
_LOG: Final = re.compile(r"\.([^_/.]+)_([0-9]+)\.log\.([0-9]+)(?:_([0-9]+-[0-9]+-[0-9]+))?(\.cdc)?")
_new: Final = object.__new__
_set: Final = object.__setattr__


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFileName:
    """`<file_id>_<write_token>_<instant>.<extension>`.

    Readers cut at `_` and at the first dot, so none of the parts may hold either.

    Attributes:
        file_id: names the file group inside its partition.
        write_token: three decimal numbers with `-` between.
        instant: requested time of the action that wrote the file.
        extension: `parquet`, `orc` or `hfile`, without a dot.
    """

    file_id: str
    write_token: str
    instant: str
    extension: str = "parquet"

    def __post_init__(self) -> None:
        """Refuse parts that would not be read back."""
        if _BASE.fullmatch(str(self)):
            return  # one look instead of four: tables have hundreds of thousands of names
        _check(_FILE_ID, "file id", self.file_id)
        _check(_TOKEN, "write token", self.write_token)
        _check(_INSTANT, "instant", self.instant)
        _check(_EXTENSION, "extension", self.extension)

    def __str__(self) -> str:
        """The name, without a folder."""
        return f"{self.file_id}_{self.write_token}_{self.instant}.{self.extension}"

    @classmethod
    def parse(cls, name: str) -> BaseFileName | None:
        """Return the parts of `name`, None where it names no base file."""
        found = _BASE.fullmatch(name)
        if found is None:
            return None
        parsed = _new(cls)  # what matched needs no second look, and there are very many
        file_id, write_token, instant, extension = found.groups()
        _set(parsed, "file_id", file_id)
        _set(parsed, "write_token", write_token)
        _set(parsed, "instant", instant)
        _set(parsed, "extension", extension)
        return parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFileName:
    """`.<file_id>_<base_instant>.log.<version>[_<write_token>][.cdc]`.

    Attributes:
        file_id: names the file group.
        base_instant: in table version 6 the instant of the slice's base file, or of the first
            log write where there is none; from version 8 on that of the writing action.
        version: counts from 1 within a slice.
        write_token: None in very old tables.
        is_cdc: True for change-data files, which hold no records of the table.
    """

    file_id: str
    base_instant: str
    version: int
    write_token: str | None = None
    is_cdc: bool = False

    def __post_init__(self) -> None:
        """Refuse parts that would not be read back."""
        _check(_FILE_ID, "file id", self.file_id)
        _check(_INSTANT, "instant", self.base_instant)
        if self.write_token is not None:
            _check(_TOKEN, "write token", self.write_token)
        if self.version < 0:
            raise _fault("version", str(self.version))

    def __str__(self) -> str:
        """The name, without a folder."""
        token = f"_{self.write_token}" if self.write_token is not None else ""
        cdc = ".cdc" if self.is_cdc else ""
        return f".{self.file_id}_{self.base_instant}.log.{self.version}{token}{cdc}"

    @classmethod
    def parse(cls, name: str) -> LogFileName | None:
        """Return the parts of `name`, None where it names no log file."""
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


def group_and_instant_of(name: str) -> tuple[str, str] | None:
    """Return the file id and the instant in a base file's name, None where it names none."""
    found = _BASE.fullmatch(name)
    return None if found is None else (found[1], found[3])


def instant_of(name: str) -> str | None:
    """Return the instant in the name of a base or log file, None where it is neither."""
    base = BaseFileName.parse(name)
    if base is not None:
        return base.instant
    log = LogFileName.parse(name)
    return log.base_instant if log is not None else None


def _check(pattern: re.Pattern[str], what: str, text: str) -> None:
    """Raise unless all of `text` matches."""
    if pattern.fullmatch(text) is None:
        raise _fault(what, text)


def _fault(what: str, text: str) -> CorruptFileError:
    """Return the error for one part."""
    return CorruptFileError(
        "filegroup/bad-name",
        f"{text!r} cannot be the {what} in a file name",
        where=Where(file=text),
        remedy="Names hold no '_', '/' or '.' inside a part.",
    )
