"""All files of one file group, and the few bytes in which a view keeps them.

A view may hold hundreds of thousands of groups, nearly all of them one base file and perhaps its
source; so it keeps each as one record of bytes, and makes objects of those that are asked for.

A record is lines of UTF-8, fields between tabs: a base file is `b<rest of its name>, <size>`, a log
file `l<rest of its name>, <size>`, the source file `s<size>, <mtime_ms>, <uri>`. The rest of a name
is what follows the file id, which is the record's key. Base files come newest first, then log files
oldest first, then the source, whose URI goes on to the end; equal groups have equal records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from framework.errors import CorruptFileError, Where
from framework.hudi.filegroup.names import BaseFileName, LogFileName
from framework.hudi.filegroup.slices import BaseFile, FileGroupId, LogFile, SourceFile
from framework.hudi.table.layout import join

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["FileGroup", "base_order", "decode_group", "encode_group", "log_order"]

_BASE: Final = "b"
_LOG: Final = "l"
_SOURCE: Final = "s"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroup:
    """Every file of a group that a view knows, of whatever instant.

    Attributes:
        group: which one it is.
        bases: newest first, by instant, then write token.
        logs: oldest first, by base instant, version and write token.
        source: the source file of its skeleton, None where it has no skeleton.
    """

    group: FileGroupId
    bases: tuple[BaseFile, ...] = ()
    logs: tuple[LogFile, ...] = ()
    source: SourceFile | None = None

    def with_files(self, added: Iterable[BaseFile | LogFile], gone: frozenset[str]) -> FileGroup:
        """Return the group with some files more, and without those of the names `gone`.

        A file that is there is replaced: its size is that of the one that was added.
        """
        files: dict[str, BaseFile | LogFile] = {
            str(each.name): each for each in (*self.bases, *self.logs, *added)
        }
        kept = [file for name, file in files.items() if name not in gone]
        return FileGroup(
            group=self.group,
            bases=tuple(
                sorted((f for f in kept if isinstance(f, BaseFile)), key=base_order, reverse=True)
            ),
            logs=tuple(sorted((f for f in kept if isinstance(f, LogFile)), key=log_order)),
            source=self.source,
        )

    @property
    def is_empty(self) -> bool:
        """Whether no file is left."""
        return not (self.bases or self.logs)


def base_order(file: BaseFile) -> tuple[str, str]:
    """Oldest first."""
    return (file.name.instant, file.name.write_token)


def log_order(file: LogFile) -> tuple[str, int, str]:
    """Oldest first."""
    return (file.name.base_instant, file.name.version, file.name.write_token or "")


def encode_group(group: FileGroup) -> bytes:
    """Return the record of a group; its id is not in it."""
    after = len(group.group.file_id)
    lines = [f"{_BASE}{str(each.name)[after:]}\t{each.size}" for each in group.bases]
    lines += [f"{_LOG}{str(each.name)[after + 1 :]}\t{each.size}" for each in group.logs]
    if group.source is not None:
        source = group.source
        lines.append(f"{_SOURCE}{source.size}\t{source.mtime_ms}\t{source.uri}")
    return "\n".join(lines).encode()


def decode_group(group: FileGroupId, record: bytes) -> FileGroup:
    """Return the group of a record.

    Raises:
        CorruptFileError: `view/corrupt-record`; it is none that `encode_group` made.
    """
    bases: list[BaseFile] = []
    logs: list[LogFile] = []
    try:
        files, has_source, last = record.decode().partition(f"\n{_SOURCE}")
        for line in files.split("\n") if files else ():
            if line.startswith(_LOG):
                logs.append(_log(group, *line[1:].split("\t")))
            else:
                bases.append(_base(group, *line.removeprefix(_BASE).split("\t")))
        source = _source(*last.split("\t", 2)) if has_source else None
    except (ValueError, TypeError) as error:
        raise CorruptFileError(
            "view/corrupt-record",
            f"what the view kept of file group {group.file_id} is damaged: {error}",
            where=Where(partition=group.partition_path),
            remedy="Remove the view's checkpoint; it is built anew from the table.",
        ) from error
    return FileGroup(group=group, bases=tuple(bases), logs=tuple(logs), source=source)


def _base(group: FileGroupId, rest: str, size: str) -> BaseFile:
    """Return the base file of a line."""
    text = group.file_id + rest
    name = BaseFileName.parse(text)
    if name is None:
        raise ValueError(f"{text!r} names no base file")
    return BaseFile(name=name, path=join(group.partition_path, text), size=int(size))


def _log(group: FileGroupId, rest: str, size: str) -> LogFile:
    """Return the log file of a line."""
    text = f".{group.file_id}{rest}"
    name = LogFileName.parse(text)
    if name is None:
        raise ValueError(f"{text!r} names no log file")
    return LogFile(name=name, path=join(group.partition_path, text), size=int(size))


def _source(size: str, mtime_ms: str, uri: str) -> SourceFile:
    """Return the source file of a line."""
    return SourceFile(uri=uri, size=int(size), mtime_ms=int(mtime_ms))
