"""Where a task creates its data files: in the run's folder, or under their names in the table."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Final, NamedTuple
from uuid import uuid4

from framework.hudi.commit.markers import announce, marker_type
from framework.hudi.storage.port import Storage, uploads_of
from framework.hudi.table.layout import join

__all__ = ["NewName", "TaskFiles", "log_token"]

_INT: Final = (1 << 31) - 1


class NewName(NamedTuple):
    """The name of a file to create; `previous` is None in a new file group."""

    partition_path: str
    name: str
    previous: str | None = None


def log_token(storage: Storage, number: int, instant: str) -> str:
    """Return the write token of a log file, whose name has no instant of its own.

    On a store without moves the token differs by instant: a late request of another run, which may
    be a deletion, must not meet the file.
    """
    attempt = 0 if uploads_of(storage) is None else zlib.crc32(instant.encode()) & _INT
    return f"{number}-0-{attempt}"


class TaskFiles:
    """The data files of one attempt of a task.

    Args:
        storage: the table's, fenced.
        attempts: folder of the run in which each attempt has its own.
        instant: the instant that makes the files.
    """

    def __init__(self, storage: Storage, attempts: str, instant: str) -> None:
        self._storage = storage
        self._instant = instant
        self._folder = join(attempts, uuid4().hex) if uploads_of(storage) is None else None

    def announce(self, names: Iterable[NewName]) -> None:
        """Record files before the first of them is created; nothing if the driver does so."""
        if self._folder is None:
            announced = [
                (join(each.partition_path, each.name), marker_type(each.name, each.previous))
                for each in names
            ]
            if announced:
                announce(self._storage, self._instant, announced)

    def path(self, partition_path: str, name: str) -> str:
        """Return where to create a file."""
        return join(partition_path if self._folder is None else self._folder, name)
