"""Files of the operating system, durable and exclusive.

Only `replace` replaces a file: otherwise a file gets its name by `link`, which refuses a taken
name (`rename` overwrites silently). A name is durable only once its folder has been synced. A
failed sync is final: the kernel may drop the pages and report success the next time.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat as modes
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from framework.hudi.storage.port import Entry, Move, exists_error, storage_error

if TYPE_CHECKING:
    from typing_extensions import Buffer


__all__ = ["LocalStorage"]

_BUFFER_BYTES = 1 << 18
_NOT_EMPTY = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENOTEMPTY, errno.EEXIST})
_IS_FOLDER = frozenset({errno.EISDIR, errno.EPERM, errno.EACCES})
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class LocalStorage:
    """A tree of files below one folder of this machine; the folder need not exist yet.

    Args:
        root: the folder; links that lead to it are followed.
        follow_links: whether to follow symbolic links below the root; if not, a path that contains
            one is refused with `storage/symbolic-link`. Each path is checked when it is used, which
            does not protect against a process that replaces folders at that very moment.
    """

    def __init__(self, root: str, *, follow_links: bool = True) -> None:
        self._root = Path(root).absolute()
        self._follows_links = follow_links

    @property
    def location(self) -> str:
        """The root as an absolute path."""
        return str(self._root)

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield the children of `folder` by name; a name that is not UTF-8 is refused."""
        full = self._full(folder)
        try:
            with os.scandir(full) as scan:
                found = sorted(scan, key=lambda each: each.name)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise storage_error(error, str(full)) from error
        prefix = f"{folder}/" if folder else ""
        for each in found:
            entry = _entry_of(each.path, prefix + each.name)
            if entry is not None:
                yield entry

    def stat(self, path: str) -> Entry | None:
        """Return the entry at `path`, or None if nothing is there."""
        return _entry_of(str(self._full(path)), path)

    def open_input(self, path: str) -> Any:
        """Open a regular file for random access."""
        full = self._full(path)
        try:
            if not modes.S_ISREG(full.stat().st_mode):
                raise storage_error(OSError("it is not a regular file"), str(full))
            return pa.OSFile(str(full))
        except OSError as error:
            raise storage_error(error, str(full)) from error

    @contextlib.contextmanager
    def create(self, path: str, *, durable: bool = True) -> Iterator[BinaryIO]:
        """Open a new file; on a clean exit its bytes and the folders created for it are durable.

        Without `durable`, only the folders are durable.
        """
        full = self._full(path)
        try:
            _sync_folders(_make_folders(full.parent))
            raw = _NewFile(full)
        except OSError as error:
            raise storage_error(error, str(full)) from error
        out = io.BufferedWriter(raw, _BUFFER_BYTES)
        try:
            yield out
            out.flush()
            if durable:
                raw.sync()
            out.close()
        except BaseException:
            raw.abandon()
            raise

    def move(self, moves: Sequence[Move]) -> None:
        """Move each source to a free name; sync each folder that gained a name once."""
        touched: dict[Path, None] = {}
        try:
            for each in moves:
                self._move_one(self._full(each.source), self._full(each.target), touched)
        finally:
            self._sync_names(touched)

    def replace(self, move: Move) -> None:
        """Rename a file over another one, and sync both folders."""
        source, target = self._full(move.source), self._full(move.target)
        at_fault = source
        try:
            source.lstat()
            at_fault = target
            target.lstat()
            source.replace(target)
        except OSError as error:
            raise storage_error(error, str(at_fault)) from error
        self._sync_names((target.parent, source.parent))

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """Delete files and whole folders durably; links are not followed."""
        delete_one = _delete_if_empty if only_empty else _delete_one
        parents: dict[Path, None] = {}
        for path in paths:
            full = self._full(path)
            try:
                delete_one(full)
            except OSError as error:
                raise storage_error(error, str(full)) from error
            parents[full.parent] = None
        self._sync_names(parents)

    def _full(self, path: str) -> Path:
        """Return the absolute path; refuse one that leaves the root."""
        if path.startswith("/") or "\0" in path or ".." in path.split("/"):
            problem = OSError(f"the path {path!r} leaves the storage")
            raise storage_error(problem, str(self._root))
        if not self._follows_links:
            _refuse_links(self._root, path)
        return self._root / path if path else self._root

    def _move_one(self, source: Path, target: Path, touched: dict[Path, None]) -> None:
        """Rename `source`; on failure it keeps its old name."""
        try:
            source.lstat()  # fail before creating folders for it
            touched.update(dict.fromkeys(_make_folders(target.parent)))
            if source.is_dir():
                if target.exists():
                    raise exists_error(str(target))
                source.rename(target)
            else:
                target.hardlink_to(source)
                touched[target.parent] = None
                source.unlink()
                return
        except OSError as error:
            at_fault = source if isinstance(error, FileNotFoundError) else target
            raise storage_error(error, str(at_fault)) from error
        touched[source.parent] = touched[target.parent] = None

    def _sync_names(self, folders: Iterable[Path]) -> None:
        """Make the names in `folders` durable, or raise `storage/not-durable`."""
        try:
            _sync_folders(folders)
        except OSError as error:
            raise storage_error(error, str(self._root), condition="not-durable") from error


class _NewFile(io.FileIO):
    """A newly created file whose faults are typed errors, also when a buffer calls `write`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        super().__init__(os.open(path, _FLAGS, 0o666), "wb")

    def write(self, data: Buffer, /) -> int:
        """Write some of `data` and return the number of bytes written."""
        try:
            return super().write(data) or 0
        except OSError as error:
            raise storage_error(error, str(self._path)) from error

    def sync(self) -> None:
        """Make the bytes durable."""
        try:
            os.fsync(self.fileno())
        except OSError as error:
            raise storage_error(error, str(self._path)) from error

    def abandon(self) -> None:
        """Close without flushing the buffer above, and delete the file."""
        with contextlib.suppress(OSError):
            super().close()
        with contextlib.suppress(OSError):
            self._path.unlink()


def _refuse_links(root: Path, path: str) -> None:
    """Raise if `path`, or a folder between the root and it, is a symbolic link."""
    full = root
    for segment in path.split("/") if path else ():
        full /= segment
        if full.is_symlink():
            problem = OSError("a symbolic link is not followed here")
            raise storage_error(problem, str(full), condition="symbolic-link")


def _entry_of(full: str, path: str) -> Entry | None:
    """Return the entry at `full`, None if nothing is there; a dangling link has size 0."""
    try:
        path.encode()
        try:
            found = os.stat(full)  # noqa: PTH116 - a path object costs more than the call
        except FileNotFoundError:
            found = os.lstat(full)
            return Entry(path=path, is_folder=False, size=0, mtime_ns=found.st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeEncodeError as error:
        place = os.fsencode(full).decode(errors="backslashreplace")
        raise storage_error(OSError("the name is not UTF-8; rename it"), place) from error
    except OSError as error:
        raise storage_error(error, full) from error
    if modes.S_ISDIR(found.st_mode):
        return Entry(path=path, is_folder=True, size=0, mtime_ns=0)
    return Entry(path=path, is_folder=False, size=found.st_size, mtime_ns=found.st_mtime_ns)


def _make_folders(folder: Path) -> list[Path]:
    """Create `folder` and its missing parents; return the folders that gained an entry."""
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
    return [each.parent for each in missing]


def _sync_folders(folders: Iterable[Path]) -> None:
    """Sync each folder that still exists."""
    for folder in folders:
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            continue
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _delete_one(full: Path) -> None:
    """Delete `full` if it exists; a concurrent delete is not an error."""
    try:
        full.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if error.errno not in _IS_FOLDER or full.is_symlink() or not full.is_dir():
            raise
        shutil.rmtree(full, onerror=_ignore_missing)


def _delete_if_empty(full: Path) -> None:
    """Delete a folder if it is empty."""
    try:
        full.rmdir()
    except OSError as error:
        if error.errno not in _NOT_EMPTY:
            raise


def _ignore_missing(_function: object, _path: str, failure: tuple[Any, Any, Any]) -> None:
    """Let `rmtree` continue past files that another process deleted first."""
    error = failure[1]
    if not isinstance(error, FileNotFoundError):
        raise error
