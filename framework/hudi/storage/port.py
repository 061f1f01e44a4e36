"""The only access to files: seven methods that an object store can implement too.

Paths are relative to the storage's root, with `/` between segments and no leading `/`;
`""` is the root itself. Every fault is a `framework.errors.StorageError` whose condition is one of
`storage/not-found`, `storage/exists`, `storage/permission`, `storage/full`,
`storage/too-many-open`, `storage/symbolic-link`, `storage/failed`, `storage/not-durable` (names
exist but may not survive a power loss), and whose `where.file` is the full location.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, Protocol, runtime_checkable

from framework.errors import StorageError, Where

__all__ = [
    "Entry",
    "Move",
    "Storage",
    "Uploads",
    "exists_error",
    "not_found_error",
    "storage_error",
    "uploads_of",
]


class Entry(NamedTuple):
    """One file or folder.

    Attributes:
        path: relative to the storage's root.
        is_folder: True for a folder; then `size` and `mtime_ns` are 0.
        size: bytes.
        mtime_ns: last modification, nanoseconds since the epoch, UTC.
        etag: an object store's name for these very bytes; empty for other files.
    """

    path: str
    is_folder: bool
    size: int
    mtime_ns: int
    etag: str = ""

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
        """The argument with which `open_storage` opens this storage again, in any process."""
        ...

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield the immediate children of `folder`, sorted by name.

        A missing folder yields nothing. Costs one listing. Symbolic links are followed;
        a dangling link is yielded as a file of size 0.
        """
        ...

    def stat(self, path: str) -> Entry | None:
        """Return the entry at `path`, or None if nothing is there."""
        ...

    def open_input(self, path: str) -> Any:
        """Open for random access; return a `pyarrow.NativeFile` that the caller closes."""
        ...

    def create(self, path: str, *, durable: bool = True) -> AbstractContextManager[BinaryIO]:
        """Open a new file for writing, creating missing parent folders.

        Exclusive: raises `storage/exists` if the path is taken. On a clean exit of the context the
        bytes and new folders are durable (fsync); on an exception the file is deleted. The file's
        name is durable only after a `move`, which syncs the target folder. Pass `durable=False`
        for a file that need not survive a power loss.
        """
        ...

    def move(self, moves: Sequence[Move]) -> None:
        """Move each file or folder to a name that must be free, then make all names durable.

        Missing parent folders are created and synced. Raises `storage/exists` at the first target
        that is taken and `storage/not-found` if a source is missing; earlier moves are kept.
        A file's move is atomic: readers see the whole file or none (link, unlink, sync of the
        target folders).
        """
        ...

    def replace(self, move: Move) -> None:
        """Move a file over another one, atomically, then make the name durable.

        Whoever opens the target reads the old file or the new one, whole; a stream that is open
        continues to read the old one. Raises `storage/not-found` if source or target is missing.
        Only for files that no commit protects by its exclusive name.
        """
        ...

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """Delete files or whole folders; a missing path is not an error.

        Durable on return: the parent folders of `paths` are synced even if nothing was there.
        Symbolic links are deleted, never followed. With `only_empty`, `paths` are folders, and a
        folder that is not empty is silently kept, even if a file appears in it concurrently.
        """
        ...


@runtime_checkable
class Uploads(Protocol):
    """Objects that are stored whole and have no name yet: what a store without moves offers.

    On such a store `Storage.create` gives a file its name and all its bytes in one conditional
    request, and an empty folder does not exist.
    """

    @property
    def need_probe(self) -> bool:
        """Whether only a trial shows if the store refuses taken names and aborted uploads."""
        ...

    def begin(self, path: str, data: bytes) -> str:
        """Store `data` for the name `path`, which stays free; return the upload's id."""
        ...

    def complete(self, path: str, upload: str) -> None:
        """Give an upload its name, exclusively and durably.

        Raises:
            StorageError: `storage/exists` if the name is taken, `storage/not-found` if the upload
                was aborted, any other if the outcome is unknown. A repetition may raise either.
        """
        ...

    def abort(self, path: str, upload: str) -> None:
        """Discard an upload; one that was aborted or completed is not an error."""
        ...

    def unfinished(self) -> Iterator[tuple[str, str]]:
        """Yield path and id of each upload in this storage that is neither completed nor aborted.

        Costs a listing. Uploads of other programs are among them.
        """
        ...


@runtime_checkable
class _MayUpload(Protocol):
    """A storage, or one that wraps it, that may be a store without moves."""

    @property
    def uploads(self) -> Uploads | None:
        """None if files move here."""
        ...


def uploads_of(storage: Storage) -> Uploads | None:
    """Return the uploads of a store without moves; None where `Storage.move` gives names."""
    return storage.uploads if isinstance(storage, _MayUpload) else None


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
        "exists": "Another writer may be active on this table; inspect it before you run again.",
        "permission": "Grant access to the user that runs this. An EPERM on a link also means "
        "that the file system has no hard links, and publishing needs them.",
        "full": "Free some space or raise the quota, then run the same command again.",
        "too-many-open": "Raise the limit on open files (`ulimit -n`), or set a lower parallelism.",
        "symbolic-link": "Replace the link by a folder or file of the table.",
        "failed": "Check the disk or mount, then run the same command again.",
    }
)


def storage_error(error: OSError, location: str, *, condition: str | None = None) -> StorageError:
    """Return the typed error for `error` at the full `location`.

    `condition` (the part after `storage/`) overrides the one derived from the error number. The
    caller raises the result `from error`.
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
    """Return the error for a missing file."""
    return storage_error(FileNotFoundError(errno.ENOENT, "there is no such file"), location)
