"""A storage around another, for those that do one thing otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

from framework.hudi.storage.port import Entry, Move, Storage

__all__ = ["WrappedStorage"]


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
