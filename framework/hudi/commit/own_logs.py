"""Log files that a pending instant made: named by its markers, proven by their blocks.

A log file has the instant of its slice in its name, so a listing does not show whose it is. A
marker alone proves nothing either: it is written before the file gets its name, which another
writer may have taken. A file that we made was linked whole, so each of its blocks has our instant.
"""

from __future__ import annotations

from framework.errors import CorruptFileError, UnsupportedTableError, Where
from framework.hudi.codecs.log_format import HeaderKey, read_blocks
from framework.hudi.commit.markers import read_markers
from framework.hudi.filegroup.names import LogFileName
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import name_of

__all__ = ["is_own_log", "own_logs"]


def own_logs(storage: Storage, instant: str) -> tuple[str, ...]:
    """Return the paths of the log files that an instant made and that nobody else wrote to.

    Reads the headers of each log file that the markers name; no content.

    Raises:
        UnsupportedTableError: see `is_own_log`.
    """
    noted = set(read_markers(storage, instant))
    logs = sorted(path for path in noted if LogFileName.parse(name_of(path)) is not None)
    return tuple(path for path in logs if is_own_log(storage, path, instant))


def is_own_log(storage: Storage, path: str, instant: str) -> bool:
    """Return whether a log file is there, and each of its blocks is of `instant`.

    False for one without a whole block, such as a torn one: no reader finds rows in it, and nothing
    says whose it is.

    Raises:
        UnsupportedTableError: `commit/mixed-log` where some blocks are of `instant`. Such a file
            must not be deleted, and left alone it would show rows that were never committed as
            soon as the timeline has moved past the instant.
    """
    entry = storage.stat(path)
    found = _instants(storage, path) if entry is not None and not entry.is_folder else set()
    if instant not in found:
        return False
    if found == {instant}:
        return True
    raise UnsupportedTableError(
        "commit/mixed-log",
        "a log file of an unfinished run holds more than the blocks of that run",
        where=Where(file=f"{storage.location}/{path}", instant=instant),
        remedy="Let Apache Hudi roll the instant back, which its next write does by itself.",
    )


def _instants(storage: Storage, path: str) -> set[str | None]:
    """Return the instants of a log file's blocks; None for whatever names none."""
    found: set[str | None] = set()
    with storage.open_input(path) as source:
        try:
            found.update(b.header.get(HeaderKey.INSTANT_TIME) for b in read_blocks(source))
        except CorruptFileError:  # a block that only another release understands
            found.add(None)
    return found
