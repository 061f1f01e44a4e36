"""A task's storage: it creates files only while the run's folder exists.

`Storage.create` makes missing folders. Without the fence, a task that continues after its run was
rolled back or published would create the run's folder again, and nothing would remove it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

from framework.errors import CommitConflictError, Where
from framework.hudi.storage.port import Entry, Move, Storage
from framework.hudi.table.layout import HOODIE, parent_of

__all__ = ["FencedStorage", "WrappedStorage"]


class WrappedStorage:
    """Passes on all that it is asked for; what is derived from it changes some of that."""

    def __init__(self, storage: Storage) -> None:
        self._inner = storage

    @property
    def location(self) -> str:
        """As of the storage."""
        return self._inner.location

    def list(self, folder: str) -> Iterator[Entry]:
        """As of the storage."""
        return self._inner.list(folder)

    def stat(self, path: str) -> Entry | None:
        """As of the storage."""
        return self._inner.stat(path)

    def open_input(self, path: str) -> Any:
        """As of the storage."""
        return self._inner.open_input(path)

    def create(self, path: str, *, durable: bool = True) -> AbstractContextManager[BinaryIO]:
        """As of the storage."""
        return self._inner.create(path, durable=durable)

    def move(self, moves: Sequence[Move]) -> None:
        """As of the storage."""
        self._inner.move(moves)

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """As of the storage."""
        self._inner.delete(*paths, only_empty=only_empty)


class FencedStorage(WrappedStorage):
    """A storage in which a file is created only while another, the fence, is there.

    It looks before and after. What was created while the fence went away is deleted again, with
    the folders made for it, unless it was renamed away together with the fence.
    """

    def __init__(self, inner: Storage, fence: str) -> None:
        super().__init__(inner)
        self._fence = fence

    @contextlib.contextmanager
    def create(self, path: str, *, durable: bool = True) -> Iterator[BinaryIO]:
        """Create a file.

        Raises:
            CommitConflictError: `commit/fenced`; the file is not there.
        """
        self._check()
        try:
            with self._inner.create(path, durable=durable) as out:
                yield out
        finally:
            if self._inner.stat(self._fence) is None:
                self._forget(path)
        self._check()

    def _check(self) -> None:
        """Raise where the run has come to its end."""
        if self._inner.stat(self._fence) is None:
            raise CommitConflictError(
                "commit/fenced",
                "the run of this task is over: it has published, or another run has taken over",
                where=Where(file=self._fence),
                remedy="Nothing is lost. Look at the table with status.",
            )

    def _forget(self, path: str) -> None:
        """Delete a file, and the folders that are empty without it."""
        self._inner.delete(path)
        folder = parent_of(path)
        while folder:
            self._inner.delete(folder, only_empty=True)
            folder = parent_of(folder) if folder != HOODIE else ""
