"""A storage for tasks that creates files only while the run's folder exists.

`Storage.create` makes missing folders. Without the fence, a task that continues after its run was
rolled back or published would create the run's folder again, and nothing would remove it.

On a store without moves, whoever fences the run deletes the fence, and a data file that was created
meanwhile stays: another attempt may have given the same bytes the same name (see `fence`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

from framework.errors import CommitConflictError, Where
from framework.hudi.storage.port import Entry, Move, Storage, Uploads, uploads_of
from framework.hudi.table.layout import HOODIE, LAKESTRAP, parent_of

__all__ = ["FencedStorage", "WrappedStorage"]


class WrappedStorage:
    """A storage that delegates every call; subclasses override some of them."""

    def __init__(self, storage: Storage) -> None:
        self._inner = storage

    @property
    def location(self) -> str:
        """As in `Storage`."""
        return self._inner.location

    @property
    def uploads(self) -> Uploads | None:
        """As of the wrapped storage."""
        return uploads_of(self._inner)

    def list(self, folder: str) -> Iterator[Entry]:
        """As in `Storage`."""
        return self._inner.list(folder)

    def stat(self, path: str) -> Entry | None:
        """As in `Storage`."""
        return self._inner.stat(path)

    def open_input(self, path: str) -> Any:
        """As in `Storage`."""
        return self._inner.open_input(path)

    def create(self, path: str, *, durable: bool = True) -> AbstractContextManager[BinaryIO]:
        """As in `Storage`."""
        return self._inner.create(path, durable=durable)

    def move(self, moves: Sequence[Move]) -> None:
        """As in `Storage`."""
        self._inner.move(moves)

    def replace(self, move: Move) -> None:
        """As in `Storage`."""
        self._inner.replace(move)

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """As in `Storage`."""
        self._inner.delete(*paths, only_empty=only_empty)


class FencedStorage(WrappedStorage):
    """A storage that creates a file only while another file, the fence, exists.

    It checks before and after; in a store just before the request. A file created while the fence
    disappeared is deleted again, with the folders created for it, unless it was renamed together
    with the fence.
    """

    def __init__(self, inner: Storage, fence: str) -> None:
        super().__init__(inner)
        self._fence = fence

    @contextlib.contextmanager
    def create(self, path: str, *, durable: bool = True) -> Iterator[BinaryIO]:
        """Create a file.

        Raises:
            CommitConflictError: `commit/fenced`; the file does not exist then.
        """
        moves = self.uploads is None
        if moves:  # in a store nothing happens before the one request
            self._check()
        try:
            with self._inner.create(path, durable=durable) as out:
                yield out
                if not moves:  # the request is sent when the block ends
                    self._check()
        finally:
            is_own = moves or path.startswith(f"{LAKESTRAP}/")
            if is_own and self._inner.stat(self._fence) is None:
                self._forget(path)
        if is_own:
            self._check()

    def _check(self) -> None:
        """Raise if the run is over."""
        if self._inner.stat(self._fence) is None:
            raise CommitConflictError(
                "commit/fenced",
                "the run of this task is over: it has published, or another run has taken over",
                where=Where(file=self._fence),
                remedy="Nothing is lost. Check the table with status.",
            )

    def _forget(self, path: str) -> None:
        """Delete a file and the parent folders that this leaves empty."""
        self._inner.delete(path)
        folder = parent_of(path)
        while folder:
            self._inner.delete(folder, only_empty=True)
            folder = parent_of(folder) if folder != HOODIE else ""
