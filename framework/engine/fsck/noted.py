"""A storage that notes what is deleted, file by file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

from framework.hudi.storage.port import Entry, Move, Storage

__all__ = ["NotedStorage", "files_below"]


class NotedStorage:
    """Passes every call on; `deleted` has the paths of the files that were deleted, in order."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner
        self.deleted: list[str] = []

    @property
    def location(self) -> str:
        """As of the storage behind."""
        return self._inner.location

    def list(self, folder: str) -> Iterator[Entry]:
        """List."""
        return self._inner.list(folder)

    def stat(self, path: str) -> Entry | None:
        """Look."""
        return self._inner.stat(path)

    def open_input(self, path: str) -> Any:
        """Open."""
        return self._inner.open_input(path)

    def create(self, path: str, *, durable: bool = True) -> AbstractContextManager[BinaryIO]:
        """Create."""
        return self._inner.create(path, durable=durable)

    def move(self, moves: Sequence[Move]) -> None:
        """Move."""
        self._inner.move(moves)

    def replace(self, move: Move) -> None:
        """Replace."""
        self._inner.replace(move)

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """Delete, and note the files that were there."""
        there = [] if only_empty else [f for path in paths for f in files_below(self._inner, path)]
        self._inner.delete(*paths, only_empty=only_empty)
        self.deleted += there


def files_below(storage: Storage, path: str) -> Iterator[str]:
    """Yield the file at a path, or all files below the folder there."""
    entry = storage.stat(path)
    if entry is None:
        return
    if not entry.is_folder:
        yield path
        return
    for each in storage.list(path):
        yield from files_below(storage, each.path)
