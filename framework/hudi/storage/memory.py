"""A storage in this process's memory: the twin for tests and dry experiments.

A registry holds trees by name, so `open_storage("memory://x")` finds the same files anywhere in the
process. Every write is durable at once.
"""

from __future__ import annotations

import contextlib
import errno
import io
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa

from framework.hudi.storage.port import Entry, Move, exists_error, not_found_error, storage_error

__all__ = ["MemoryStorage"]


@dataclass(slots=True)
class _File:
    """The bytes of one file; an open writer keeps writing here even after its folder moves."""

    data: bytes = b""
    mtime_ns: int = field(default_factory=time.time_ns)


@dataclass(slots=True)
class _Tree:
    """All files and folders of one storage; the root folder `""` appears with the first file."""

    nodes: dict[str, _File | None] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)


class MemoryStorage:
    """Files by name in this process."""

    _trees: ClassVar[dict[str, _Tree]] = {}

    def __init__(self, name: str) -> None:
        self._name = name
        self._tree = self._trees.setdefault(name, _Tree())

    @property
    def location(self) -> str:
        """`memory://<name>`."""
        return f"memory://{self._name}"

    def forget(self) -> None:
        """Drop all files of this name for good."""
        with self._tree.lock:
            self._tree.nodes.clear()

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield the children of `folder` by name, as of the first step of the iteration."""
        prefix = f"{folder}/" if folder else ""
        with self._tree.lock:
            found = [
                _entry(path, node)
                for path, node in self._tree.nodes.items()
                if path.startswith(prefix) and path and "/" not in path[len(prefix) :]
            ]
        yield from sorted(found, key=lambda each: each.path)

    def stat(self, path: str) -> Entry | None:
        """Return the entry at `path`, or None if nothing is there."""
        self._check(path)
        with self._tree.lock:
            if path not in self._tree.nodes:
                return None
            return _entry(path, self._tree.nodes[path])

    def open_input(self, path: str) -> Any:
        """Open the bytes that `path` has now."""
        self._check(path)
        with self._tree.lock:
            if path not in self._tree.nodes:
                raise not_found_error(self._at(path))
            node = self._tree.nodes[path]
            if node is None:
                raise storage_error(OSError("it is a folder"), self._at(path))
            return pa.BufferReader(node.data)

    @contextlib.contextmanager
    def create(self, path: str, *, durable: bool = True) -> Iterator[BinaryIO]:
        """Open a new file; it is empty until a clean exit, and removed after an exception."""
        del durable
        self._check(path)
        node = _File()
        with self._tree.lock:
            if path in self._tree.nodes:
                raise exists_error(self._at(path))
            self._make_folders(path)
            self._tree.nodes[path] = node
        out = io.BytesIO()
        try:
            yield out
            node.data = out.getvalue()
        except BaseException:
            with self._tree.lock:
                if self._tree.nodes.get(path) is node:
                    del self._tree.nodes[path]
            raise

    def move(self, moves: Sequence[Move]) -> None:
        """Move each file or folder to a free name."""
        for each in moves:
            self._check(each.source)
            self._check(each.target)
            with self._tree.lock:
                self._move_one(each)

    def replace(self, move: Move) -> None:
        """Move a file over another one."""
        self._check(move.source)
        self._check(move.target)
        with self._tree.lock:
            nodes = self._tree.nodes
            for path in (move.source, move.target):
                if path not in nodes:
                    raise not_found_error(self._at(path))
                if nodes[path] is None:
                    raise storage_error(OSError("it is a folder"), self._at(path))
            nodes[move.target] = nodes.pop(move.source)

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """Delete files and whole folders; a missing path is not an error."""
        for path in paths:
            self._check(path)
            with self._tree.lock:
                found = self._below(path)
                if only_empty and (len(found) != 1 or self._tree.nodes[path] is not None):
                    continue
                for gone in found:
                    del self._tree.nodes[gone]

    def _move_one(self, move: Move) -> None:
        """Move one; the caller holds the lock."""
        nodes = self._tree.nodes
        if move.source not in nodes:
            raise not_found_error(self._at(move.source))
        if move.target in nodes:
            raise exists_error(self._at(move.target))
        self._make_folders(move.target)
        for path in self._below(move.source):
            nodes[move.target + path[len(move.source) :]] = nodes.pop(path)

    def _below(self, path: str) -> Sequence[str]:
        """Return `path`, if it exists, and everything inside it."""
        if self._tree.nodes.get(path) is not None:
            return [path]
        prefix = f"{path}/" if path else ""
        return [each for each in self._tree.nodes if each == path or each.startswith(prefix)]

    def _make_folders(self, path: str) -> None:
        """Create the parent folders of `path`; a file in the way is an error."""
        parts = path.split("/")[:-1]
        for depth in range(len(parts) + 1):
            folder = "/".join(parts[:depth])
            if self._tree.nodes.setdefault(folder, None) is not None:
                taken = NotADirectoryError(errno.EEXIST, "a file is where a folder must be")
                raise storage_error(taken, self._at(folder))

    def _check(self, path: str) -> None:
        """Refuse a path that leaves the root."""
        if path.startswith("/") or "\0" in path or ".." in path.split("/"):
            raise storage_error(OSError(f"the path {path!r} leaves the storage"), self.location)

    def _at(self, path: str) -> str:
        return f"{self.location}/{path}" if path else self.location


def _entry(path: str, node: _File | None) -> Entry:
    """Return the entry that `list` and `stat` report for one node."""
    if node is None:
        return Entry(path=path, is_folder=True, size=0, mtime_ns=0)
    return Entry(path=path, is_folder=False, size=len(node.data), mtime_ns=node.mtime_ns)
