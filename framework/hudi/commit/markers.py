"""Markers: the files a pending instant may have made, for Apache Hudi's rollback.

Without them, a rollback by Hudi would drop our instant and keep our files, which become visible
when its timeline moves past them (format sheet, sections 2.9 and 10.1).

They also lead our own recovery to log files, whose names contain another instant.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum, unique
from typing import Final

from framework.errors import CommitConflictError, CorruptFileError, StorageError, Where
from framework.hudi.commit.created import create_bytes, create_whole
from framework.hudi.commit.staging import Staging
from framework.hudi.filegroup.slices import LogFileName
from framework.hudi.storage.port import Entry, Move, Storage, uploads_of
from framework.hudi.table.layout import join, temp_folder

__all__ = [
    "MarkerType",
    "announce",
    "batch_files",
    "marker_type",
    "parse_marker",
    "place_batch",
    "read_batch",
    "read_markers",
    "type_file",
    "write_markers",
]

_TYPE: Final = b"TIMELINE_SERVER_BASED"
_BATCH: Final = re.compile(r"MARKERS([0-9]+)")
_ATTEMPTS: Final = 16
_LAST_NUMBER: Final = (1 << 31) - 1 - _ATTEMPTS
"""Apache Hudi reads the number of a batch as an `int`."""

_LINE: Final = re.compile(r"(.+)\.marker\.(CREATE|MERGE|APPEND)")


def type_file(storage: Storage, instant: str) -> Entry | None:
    """Return the file that names the format of an instant's markers, None if missing."""
    return storage.stat(_type_path(instant))


def batch_files(storage: Storage, instant: str) -> dict[int, Entry]:
    """Return an instant's batches by number, ascending; one listing."""
    found = ((_BATCH.fullmatch(entry.name), entry) for entry in storage.list(temp_folder(instant)))
    return dict(sorted((int(match[1]), entry) for match, entry in found if match))


def read_batch(storage: Storage, path: str) -> list[str]:
    """Return the lines of a batch in order; bytes that are not UTF-8 are replaced."""
    with storage.open_input(path) as source:
        text = source.read().decode(errors="replace")
    return [line for line in text.split("\n") if line]


def place_batch(
    storage: Storage,
    instant: str,
    lines: Iterable[str],
    *,
    new_temporary: Callable[[], str],
    check: Callable[[], object] = lambda: None,
) -> None:
    """Add a batch, and the type file with the first one. Durable on return.

    Args:
        storage: the table.
        instant: the instant that owns the folder.
        lines: markers without line breaks.
        new_temporary: returns a unique path outside the folder; unused where nothing moves.
        check: called before the batch gets its name, and where files move after its bytes are
            durable; if it raises, the folder is unchanged.
    """
    placing = (storage, new_temporary, check)
    if type_file(storage, instant) is None:
        try:
            _place(*placing, [_type_path(instant)], _TYPE)
        except StorageError as error:  # another process may have been faster
            if error.condition != "storage/exists":
                raise
    start = 1 + max(batch_files(storage, instant), default=-1)
    targets = [join(temp_folder(instant), f"MARKERS{start + n}") for n in range(_ATTEMPTS)]
    _place(*placing, targets, "".join(f"{line}\n" for line in lines).encode())


def _type_path(instant: str) -> str:
    return join(temp_folder(instant), "MARKERS.type")


def _place(
    storage: Storage,
    new_temporary: Callable[[], str],
    check: Callable[[], object],
    targets: list[str],
    data: bytes,
) -> None:
    """Write a complete file under the first free name of `targets`."""
    is_moved = uploads_of(storage) is None
    temporary = new_temporary()
    if is_moved:
        create_bytes(storage, temporary, data)
    check()
    for target in targets:
        try:
            if is_moved:
                storage.move([Move(source=temporary, target=target)])
            else:
                create_whole(storage, target, temporary, data)
        except StorageError as error:
            if error.condition != "storage/exists" or target == targets[-1]:
                raise
        else:
            return


@unique
class MarkerType(StrEnum):
    """The file's role in its file group, which decides how Apache Hudi rolls it back."""

    CREATE = "CREATE"
    """The first base file of a new group: deleted."""

    MERGE = "MERGE"
    """A further base file of a group: deleted."""

    APPEND = "APPEND"
    """A log file: a later one rolls its blocks back."""


def marker_type(name: str, previous: str | None) -> MarkerType:
    """Return the type of the marker for a file of this name.

    Args:
        name: of the file, without a folder.
        previous: instant of the previous slice, None in a new file group.
    """
    if LogFileName.parse(name) is not None:
        return MarkerType.APPEND
    return MarkerType.CREATE if previous is None else MarkerType.MERGE


def parse_marker(name: str) -> tuple[str, MarkerType] | None:
    """Return the path of a marker's file and its type, or None if it is not a marker."""
    match = _LINE.fullmatch(name)
    return (match[1], MarkerType(match[2])) if match else None


def announce(storage: Storage, instant: str, markers: Iterable[tuple[str, MarkerType]]) -> None:
    """Record files that a task is about to create under their names. Durable on return.

    For stores without moves. The batch has its name from its content, so each attempt of a task
    makes the same one, and none waits for a listing.

    Raises:
        CorruptFileError: `commit/line-break-in-path`.
        CommitConflictError: `commit/name-taken`.
    """
    data = "".join(f"{line}\n" for line in _lines(markers)).encode()
    create_bytes(storage, _type_path(instant), _TYPE)
    number = zlib.crc32(data) & _LAST_NUMBER
    for attempt in range(_ATTEMPTS):
        try:
            create_bytes(storage, join(temp_folder(instant), f"MARKERS{number + attempt}"), data)
        except CommitConflictError:
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return


def write_markers(
    storage: Storage, staging: Staging, instant: str, markers: Iterable[tuple[str, MarkerType]]
) -> None:
    """Record files that are about to appear.

    Adds a batch, and the type file with the first one. Durable on return.

    Args:
        storage: the table.
        staging: the run in whose folder the batch is staged.
        instant: the instant that makes the files.
        markers: paths, relative to the table, with their types.

    Raises:
        CommitConflictError: `commit/fenced`.
        CorruptFileError: `commit/line-break-in-path`; a marker file cannot hold such a path.
    """
    place_batch(
        storage,
        instant,
        _lines(markers),
        new_temporary=staging.new_publish,
        check=lambda: staging.check_not_fenced(storage),
    )


def _lines(markers: Iterable[tuple[str, MarkerType]]) -> list[str]:
    """Return the lines of a batch."""
    lines = []
    for path, kind in markers:
        if "\n" in path or "\r" in path:
            raise CorruptFileError(
                "commit/line-break-in-path",
                "a path contains a line break",
                where=Where(file=path),
                remedy="Rename the source folder, or set the partition to skip.",
            )
        lines.append(f"{path}.marker.{kind}")
    return lines


def read_markers(storage: Storage, instant: str) -> Iterator[str]:
    """Yield the paths, relative to the table, that `write_markers` recorded, of any type.

    May repeat paths, and may include files that never appeared or that another writer made.
    """
    for batch in batch_files(storage, instant).values():
        found = map(parse_marker, read_batch(storage, batch.path))
        yield from (marker[0] for marker in found if marker)
