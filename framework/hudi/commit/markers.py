"""Notes for Apache Hudi's rollback: which files a pending instant may have made.

Without them a rollback by Hudi would drop our instant and keep our files, which become visible when
its timeline moves past them (format sheet, sections 2.9 and 10.1).

They also lead our own recovery to log files, whose names have another instant than ours.
"""

from __future__ import annotations

import re
from enum import StrEnum, unique
from typing import TYPE_CHECKING, Final

from framework.errors import CorruptFileError, Where
from framework.hudi.commit.marker_folder import batch_files, place_batch, read_batch
from framework.hudi.filegroup.names import LogFileName

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from framework.hudi.commit.staging import Staging
    from framework.hudi.storage.port import Storage

__all__ = ["MarkerType", "marker_type", "parse_marker", "read_markers", "write_markers"]

_LINE: Final = re.compile(r"(.+)\.marker\.(CREATE|MERGE|APPEND)")


@unique
class MarkerType(StrEnum):
    """What the file is to its file group, and so how Apache Hudi takes it back."""

    CREATE = "CREATE"
    """The first base file of a new group: deleted."""

    MERGE = "MERGE"
    """A further base file of a group: deleted."""

    APPEND = "APPEND"
    """A log file: a later one takes its blocks back."""


def marker_type(name: str, previous: str | None) -> MarkerType:
    """Return the type of the marker for a file of this name.

    Args:
        name: of the file, without a folder.
        previous: instant of the slice before, None in a new file group.
    """
    if LogFileName.parse(name) is not None:
        return MarkerType.APPEND
    return MarkerType.CREATE if previous is None else MarkerType.MERGE


def parse_marker(name: str) -> tuple[str, MarkerType] | None:
    """Return the path of the file that a marker announces, and its type; None: it is no marker."""
    match = _LINE.fullmatch(name)
    return (match[1], MarkerType(match[2])) if match else None


def write_markers(
    storage: Storage, staging: Staging, instant: str, markers: Iterable[tuple[str, MarkerType]]
) -> None:
    """Note that files are about to appear.

    One more batch; the type file is made with the first. Durable on return.

    Args:
        storage: the table.
        staging: whose folder the batch comes out of.
        instant: that makes the files.
        markers: paths, relative to the table, with their types.

    Raises:
        CommitConflictError: `commit/fenced`.
        CorruptFileError: `commit/line-break-in-path`; such a path cannot stand in a marker file.
    """
    lines = []
    for path, kind in markers:
        if "\n" in path or "\r" in path:
            raise CorruptFileError(
                "commit/line-break-in-path",
                "a path holds a line break",
                where=Where(file=path),
                remedy="Rename the source folder, or set the partition to skip.",
            )
        lines.append(f"{path}.marker.{kind}")
    place_batch(
        storage,
        instant,
        lines,
        new_temporary=staging.new_publish,
        check=lambda: staging.check_not_fenced(storage),
    )


def read_markers(storage: Storage, instant: str) -> Iterator[str]:
    """Yield the paths, relative to the table, that `write_markers` noted, whatever their type.

    Repeats are possible, and so are files that never appeared, or that somebody else had made.
    """
    for batch in batch_files(storage, instant).values():
        found = map(parse_marker, read_batch(storage, batch.path))
        yield from (marker[0] for marker in found if marker)
