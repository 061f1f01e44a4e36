"""The one door to files: six methods, shaped so that an object store can implement them.

Paths are relative to the storage's root, with `/` between segments and no leading `/`;
`""` is the root itself. Every fault is a `framework.errors.StorageError` whose condition is one of
`storage/not-found`, `storage/exists`, `storage/permission`, `storage/full`,
`storage/too-many-open`, `storage/symbolic-link`, `storage/failed`, `storage/not-durable` (names are
in place, but may not survive a power loss), and whose `where.file` is the full location.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, Protocol, runtime_checkable

__all__ = ["Entry", "Move", "Storage"]


class Entry(NamedTuple):
    """One file or folder.

    Attributes:
        path: relative to the storage's root.
        is_folder: True for a folder; then `size` and `mtime_ns` are 0.
        size: bytes.
        mtime_ns: last modification, nanoseconds since the epoch, UTC.
    """

    path: str
    is_folder: bool
    size: int
    mtime_ns: int

    @property
    def name(self) -> str:
        """The last segment of `path`."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One exclusive move of a file or folder inside a storage."""

    source: str
    target: str


@runtime_checkable
class Storage(Protocol):
    """A tree of files under one root."""

    @property
    def location(self) -> str:
        """What `open_storage` takes to open this storage again, in another process too."""
        ...

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield the immediate children of `folder`, sorted by name.

        A missing folder yields nothing. Costs one listing. Symbolic links are followed;
        a dangling link is yielded as a file of size 0.
        """
        ...

    def stat(self, path: str) -> Entry | None:
        """Return the entry at `path`, None where there is nothing."""
        ...

    def open_input(self, path: str) -> Any:
        """Open for random access: a `pyarrow.NativeFile`, to be closed by the caller."""
        ...

    def create(self, path: str, *, durable: bool = True) -> AbstractContextManager[BinaryIO]:
        """Open a new file for writing; missing parent folders are made.

        Exclusive: raises `storage/exists` where something is there. On a clean exit of the context
        the bytes are durable (fsync); on an exception the file is deleted. The file's name is
        durable only after a `move` of it, which syncs its target folder; folders made for it are.
        What need not outlive the run may be left to the system with `durable=False`.
        """
        ...

    def move(self, moves: Sequence[Move]) -> None:
        """Move each file or folder to a name that must be free, then make all names durable.

        Missing parent folders are made, and synced. Raises `storage/exists` at the first target
        that is taken, `storage/not-found` where a source is gone; earlier moves stand.
        A file's move is atomic: readers see the whole file or none (link, unlink, sync of the
        target folders).
        """
        ...

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """Delete files or whole folders; nothing there is success.

        Durable on return: the folders that hold `paths` are synced even where nothing was there.
        Symbolic links are deleted, never followed. With `only_empty`, paths are folders, and one
        that holds anything stays without a word, whoever puts it there in the same moment.
        """
        ...
