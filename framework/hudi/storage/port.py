"""The one door to files: six methods, shaped so that an object store can implement them.

Paths are relative to the storage's root, with `/` between segments and no leading `/`;
`""` is the root itself. Every fault is a `framework.errors.StorageError` whose condition is one of
`storage/not-found`, `storage/exists`, `storage/permission`, `storage/full`,
`storage/too-many-open`, `storage/symbolic-link`, `storage/failed`, `storage/not-durable` (names are
in place, but may not survive a power loss), and whose `where.file` is the full location.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, Protocol, runtime_checkable

from framework.errors import StorageError, Where

__all__ = ["Entry", "Move", "Storage", "exists_error", "not_found_error", "storage_error"]


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


_CONDITIONS: Mapping[int, str] = MappingProxyType(
    {
        errno.ENOENT: "not-found",
        errno.ENOTDIR: "not-found",
        errno.EEXIST: "exists",
        errno.ENOTEMPTY: "exists",
        errno.EISDIR: "exists",
        errno.EACCES: "permission",
        errno.EPERM: "permission",
        errno.EROFS: "permission",
        errno.ENOSPC: "full",
        errno.EDQUOT: "full",
        errno.EFBIG: "full",
        errno.EMFILE: "too-many-open",
        errno.ENFILE: "too-many-open",
    }
)
_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "not-found": "Check the path, and that no other process cleans the folder.",
        "exists": "Another writer may be at work on this table; look at it before you run again.",
        "permission": "Give the user who runs this the right to it; an EPERM on a link also means "
        "that the file system has no hard links, without which nothing can be published.",
        "full": "Free some space or raise the quota, then run the same command again.",
        "too-many-open": "Raise the limit on open files (`ulimit -n`), or set a lower parallelism.",
        "symbolic-link": "Put a folder or file of the table there, not a link to another place.",
        "failed": "Look at the disk or mount, then run the same command again.",
    }
)


def storage_error(error: OSError, location: str, *, condition: str | None = None) -> StorageError:
    """Return the typed error for `error` at the full `location`.

    `condition` (the part after `storage/`) overrides what the error number says. The caller raises
    it `from error`.
    """
    kind = condition or _CONDITIONS.get(error.errno or 0, "failed")
    reason = error.strerror or str(error) or type(error).__name__
    return StorageError(
        f"storage/{kind}", reason, where=Where(file=location), remedy=_REMEDIES.get(kind, "")
    )


def exists_error(location: str) -> StorageError:
    """Return the error for a name that is taken."""
    return storage_error(FileExistsError(errno.EEXIST, "the name is taken"), location)


def not_found_error(location: str) -> StorageError:
    """Return the error for a name with nothing behind it."""
    return storage_error(FileNotFoundError(errno.ENOENT, "there is no such file"), location)
