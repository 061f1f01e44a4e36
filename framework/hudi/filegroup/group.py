"""All files of one file group, and their compact encoding in a view.

A view may hold hundreds of thousands of groups, nearly all of them one base file and perhaps its
source. So it keeps each group as one record of bytes, and decodes a group only on request.

A record is lines of UTF-8 with tab-separated fields: a base file is `b<rest of its name>, <size>`,
a log file `l<rest of its name>, <size>`, the source file `s<size>, <mtime_ms>, <uri>`. The rest of
a name is the part after the file id, which is the record's key. Base files come newest first, then
log files oldest first, then the source, whose URI extends to the end. Equal groups have equal
records.

A slice has the same form, preceded by a line `i<base instant>` if its base file does not imply the
instant; so the slice of a group with one base file and no log is the unchanged group record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from framework.errors import CorruptFileError, Where
from framework.hudi.filegroup import slices
from framework.hudi.filegroup.slices import BASE_REST, BaseFileName, LogFileName, is_file_id
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, join

__all__ = [
    "FileGroup",
    "PlainRecord",
    "base_order",
    "decode_group",
    "decode_slice",
    "encode_group",
    "encode_plain",
    "encode_slice",
    "log_order",
    "slice_instant",
]

_BASE: Final = "b"
_LOG: Final = "l"
_SOURCE: Final = "s"
_INSTANT: Final = "i"
_NUMBER: Final = "[0-9]{1,19}"
_PLAIN: Final = re.compile(
    rf"{_BASE}({BASE_REST})\t({_NUMBER})(?:\n{_SOURCE}({_NUMBER})\t(-?{_NUMBER})\t(.*))?", re.DOTALL
)
_OF_SLICE: Final = re.compile(rf"{_BASE}_[0-9-]+_([0-9]+)[^\n]*(\n{_SOURCE})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroup:
    """Every file of a group known to a view, of any instant.

    Attributes:
        group: its id.
        bases: newest first, by instant, then write token.
        logs: oldest first, by base instant, version and write token.
        source: the source file of its skeleton, None if it has no skeleton.
    """

    group: slices.FileGroupId
    bases: tuple[slices.BaseFile, ...] = ()
    logs: tuple[slices.LogFile, ...] = ()
    source: slices.SourceFile | None = None

    def with_files(
        self, added: Iterable[slices.BaseFile | slices.LogFile], gone: frozenset[str]
    ) -> FileGroup:
        """Return the group with `added` files and without the files named in `gone`.

        An existing base file is replaced. A log file never shrinks: the larger of two sizes is
        kept, since the last reporter need not be the last writer.
        """
        there: tuple[slices.BaseFile | slices.LogFile, ...] = (*self.bases, *self.logs)
        files = {str(each.name): each for each in there}
        for file in added:
            known = files.get(str(file.name))
            if not (isinstance(known, slices.LogFile) and known.size > file.size):
                files[str(file.name)] = file
        kept = [file for name, file in files.items() if name not in gone]
        return FileGroup(
            group=self.group,
            bases=tuple(
                sorted(
                    (f for f in kept if isinstance(f, slices.BaseFile)),
                    key=base_order,
                    reverse=True,
                )
            ),
            logs=tuple(sorted((f for f in kept if isinstance(f, slices.LogFile)), key=log_order)),
            source=self.source,
        )

    @property
    def is_empty(self) -> bool:
        """Whether no file is left."""
        return not (self.bases or self.logs)


class PlainRecord(NamedTuple):
    """The parsed record of a group with one base file, as nearly all are; numbers as digits.

    Attributes:
        rest: the file's name after the file id; the next three are its parts.
        write_token: of the file.
        instant: of the file.
        extension: of the file.
        size: bytes.
        source_size: bytes of the source; "", as the next two, without a source.
        source_mtime_ms: its last modification.
        source_uri: its location.
    """

    rest: str
    write_token: str
    instant: str
    extension: str
    size: str
    source_size: str
    source_mtime_ms: str
    source_uri: str

    @classmethod
    def parse(cls, record: str) -> Self | None:
        """Parse a group's record; return None if it has other files or is damaged."""
        found = _PLAIN.fullmatch(record)
        return None if found is None else cls._make(found.groups(""))


def base_order(file: slices.BaseFile) -> tuple[str, str]:
    """Return the sort key, oldest first."""
    return (file.name.instant, file.name.write_token)


def log_order(file: slices.LogFile) -> tuple[str, int, str]:
    """Return the sort key, oldest first."""
    return (file.name.base_instant, file.name.version, file.name.write_token or "")


def encode_group(group: FileGroup) -> bytes:
    """Return the record of a group, without its id; a group with a source has files."""
    after = len(group.group.file_id)
    lines = [f"{_BASE}{str(each.name)[after:]}\t{each.size}" for each in group.bases]
    lines += [f"{_LOG}{str(each.name)[after + 1 :]}\t{each.size}" for each in group.logs]
    if group.source is not None:
        lines.append(_source_line(group.source))
    return "\n".join(lines).encode()


def encode_plain(rest: str, size: int, source: slices.SourceFacts | None) -> bytes:
    """Return the record that `encode_group` gives for a group of one base file.

    Args:
        rest: the file's name after the file id.
        size: the file's bytes.
        source: the skeleton's source, None if the file is no skeleton.
    """
    line = f"{_BASE}{rest}\t{size}"
    return (line if source is None else f"{line}\n{_source_line(source)}").encode()


def decode_group(group: slices.FileGroupId, record: bytes) -> FileGroup:
    """Return the group of a record.

    Raises:
        CorruptFileError: `view/corrupt-record` if `encode_group` did not make it.
    """
    bases: list[slices.BaseFile] = []
    logs: list[slices.LogFile] = []
    try:
        files, has_source, last = record.decode().partition(f"\n{_SOURCE}")
        for line in files.split("\n") if files else ():
            if line.startswith(_LOG):
                logs.append(_log(group, *line[1:].split("\t")))
            else:
                bases.append(_base(group, *line.removeprefix(_BASE).split("\t")))
        source = _source(*last.split("\t", 2)) if has_source else None
    except (ValueError, TypeError) as error:
        raise _corrupt(group, error) from error
    return FileGroup(group=group, bases=tuple(bases), logs=tuple(logs), source=source)


def encode_slice(found: slices.FileSlice) -> str:
    """Return the record of a slice, without its group."""
    files = FileGroup(
        group=found.group,
        bases=(found.base,) if found.base else (),
        logs=found.logs,
        source=found.bootstrap,
    )
    record = encode_group(files).decode()
    if found.base is not None and found.base.name.instant == found.base_instant:
        return record
    return f"{_INSTANT}{found.base_instant}\n{record}"


def slice_instant(record: str) -> str | None:
    """Return the base instant of a group's record that is also its slice's, None of any other.

    That is the case for a single base file, with a source only if it is a skeleton. Reads as little
    of the record as possible, since batches call this for each group.
    """
    found = _OF_SLICE.match(record)
    if found is None:
        return None
    instant, source = found.groups()
    is_whole = found.end() == len(record) if source is None else instant == BOOTSTRAP_INSTANT
    return instant if is_whole else None


def decode_slice(group: slices.FileGroupId, record: str) -> slices.FileSlice:
    """Return the slice of a record.

    Raises:
        CorruptFileError: `view/corrupt-record` if `encode_slice` did not make it.
    """
    plain = _PLAIN.fullmatch(record)
    if plain is not None:
        return _plain_slice(group, plain)
    instant = ""
    if record.startswith(_INSTANT):
        head, _, record = record.partition("\n")
        instant = head[1:]
    found = decode_group(group, record.encode())
    base = found.bases[0] if found.bases else None
    return slices.FileSlice(
        group=group,
        base_instant=instant or (base.name.instant if base else ""),
        base=base,
        logs=found.logs,
        bootstrap=found.source,
    )


def _plain_slice(group: slices.FileGroupId, plain: re.Match[str]) -> slices.FileSlice:
    """Return the slice of one base file and its source."""
    path, file_id = group
    rest, token, instant, extension, size, source_size, source_mtime_ms, uri = plain.groups()
    if not is_file_id(file_id):
        raise _corrupt(group, ValueError(f"{file_id!r} is not a file id"))
    name = BaseFileName._make((file_id, token, instant, extension))
    there = f"{path}/{file_id}{rest}" if path else f"{file_id}{rest}"
    source = None
    if source_size:
        source = slices.SourceFile(uri, int(source_size), int(source_mtime_ms))
    return slices.FileSlice(group, instant, slices.BaseFile(name, there, int(size)), (), source)


def _base(group: slices.FileGroupId, rest: str, size: str) -> slices.BaseFile:
    text = group.file_id + rest
    name = BaseFileName.parse(text)
    if name is None:
        raise ValueError(f"{text!r} is not a base file name")
    return slices.BaseFile(name, join(group.partition_path, text), int(size))


def _log(group: slices.FileGroupId, rest: str, size: str) -> slices.LogFile:
    text = f".{group.file_id}{rest}"
    name = LogFileName.parse(text)
    if name is None:
        raise ValueError(f"{text!r} is not a log file name")
    return slices.LogFile(name=name, path=join(group.partition_path, text), size=int(size))


def _source_line(source: slices.SourceFacts) -> str:
    return f"{_SOURCE}{source.size}\t{source.mtime_ms}\t{source.uri}"


def _source(size: str, mtime_ms: str, uri: str) -> slices.SourceFile:
    return slices.SourceFile(uri, int(size), int(mtime_ms))


def _corrupt(group: slices.FileGroupId, error: Exception) -> CorruptFileError:
    """Return the error for an invalid record."""
    return CorruptFileError(
        "view/corrupt-record",
        f"the view's record of file group {group.file_id} is damaged: {error}",
        where=Where(partition=group.partition_path),
        remedy="Remove the view's checkpoint; it is rebuilt from the table.",
    )
