"""An object store in this process's memory: the twin of S3 and its like, for tests.

`MemoryObjects` is the service: each request is atomic, and nothing moves. `MemoryObjectStorage` is
its client: it repeats a request whose answer it did not get, and recognizes its own object where
the lost request was the one that made it.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, unique
from threading import RLock
from typing import Any, BinaryIO, ClassVar, Final, TypeVar
from uuid import uuid4

import pyarrow as pa

from framework.errors import StorageError
from framework.hudi.storage.port import Entry, Move, exists_error, not_found_error, storage_error

__all__ = ["MemoryObjectStorage", "MemoryObjects", "NoAnswerError", "Request", "StoredObject"]

_ATTEMPTS: Final = 8

T = TypeVar("T")


class NoAnswerError(Exception):
    """A request was refused for the moment, or its answer was lost; it may have taken effect."""


@unique
class Request(StrEnum):
    """The kinds of requests."""

    LIST = "list"
    HEAD = "head"
    GET = "get"
    PUT = "put"
    DELETE = "delete"
    BEGIN = "begin"
    COMPLETE = "complete"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object; `tag` names the request that made it, as metadata of the object does."""

    data: bytes
    tag: str
    mtime_ns: int


@dataclass
class MemoryObjects:
    """The service.

    Attributes:
        objects: by key.
        uploads: unfinished uploads, by id: the key and the object it would get.
        now_ns: the service's own clock.
    """

    objects: dict[str, StoredObject] = field(default_factory=dict)
    uploads: dict[str, tuple[str, StoredObject]] = field(default_factory=dict)
    now_ns: Callable[[], int] = time.time_ns
    lock: RLock = field(default_factory=RLock)

    def list(self, prefix: str) -> list[tuple[str, StoredObject]]:
        """Return the objects whose key starts with `prefix`, by key."""
        with self.lock:
            found = [item for item in self.objects.items() if item[0].startswith(prefix)]
        return sorted(found, key=lambda each: each[0])

    def get(self, key: str) -> StoredObject | None:
        """Return an object, None if missing."""
        with self.lock:
            return self.objects.get(key)

    def put(self, key: str, data: bytes, tag: str) -> bool:
        """Make an object unless the key is taken; return whether it was free."""
        with self.lock:
            if key in self.objects:
                return False
            self.objects[key] = StoredObject(data, tag, self.now_ns())
            return True

    def delete(self, key: str) -> None:
        """Delete an object; a missing one is success."""
        with self.lock:
            self.objects.pop(key, None)

    def begin(self, key: str, data: bytes, upload: str) -> None:
        """Store an upload for a key."""
        with self.lock:
            self.uploads[upload] = (key, StoredObject(data, upload, self.now_ns()))

    def complete(self, key: str, upload: str) -> bool | None:
        """Make an upload's object unless the key is taken.

        Returns:
            Whether the key was free; None if there is no such upload.
        """
        with self.lock:
            if upload not in self.uploads:
                return None
            if key in self.objects:
                return False
            self.objects[key] = self.uploads.pop(upload)[1]
            return True

    def abort(self, upload: str) -> None:
        """Discard an upload; a missing one is success."""
        with self.lock:
            self.uploads.pop(upload, None)


class MemoryObjectStorage:
    """A storage over objects in memory.

    Args:
        name: of the objects, which are the same anywhere in the process, then maybe `/` and a
            prefix of their keys.
        service: the objects; None for those of the name.
    """

    _services: ClassVar[dict[str, MemoryObjects]] = {}

    def __init__(self, name: str, service: MemoryObjects | None = None) -> None:
        self._name, _, self._prefix = name.rstrip("/").partition("/")
        if service is not None:
            self._services[self._name] = service
        self.service = self._services.setdefault(self._name, MemoryObjects())

    @property
    def location(self) -> str:
        """`objects://<name>`, with the prefix if there is one."""
        return f"objects://{self._name}/{self._prefix}".rstrip("/")

    @property
    def uploads(self) -> MemoryObjectStorage:
        """This storage, itself."""
        return self

    @property
    def need_probe(self) -> bool:
        """False: an aborted upload cannot be completed."""
        return False

    def forget(self) -> None:
        """Drop all objects of this name for good."""
        self._services.pop(self._name, None)

    def send(self, kind: Request, key: str, work: Callable[[], T]) -> T:
        """Do one request. Tests override it to delay, lose or repeat requests.

        Raises:
            NoAnswerError: the request may have taken effect or not.
        """
        del kind, key
        return work()

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield objects and common prefixes directly below `folder`."""
        prefix, start = f"{folder}/" if folder else "", self._below(folder)
        found: dict[str, Entry] = {}
        for key, each in self._ask(Request.LIST, start, lambda: self.service.list(start)):
            name, slash, _ = key[len(start) :].partition("/")
            path = prefix + name
            found[path] = _folder(path) if slash else _entry(path, each)
        yield from sorted(found.values(), key=lambda each: each.path)

    def stat(self, path: str) -> Entry | None:
        """Return the object at `path`, or a folder if there are objects below."""
        found = self._get(Request.HEAD, path) if path else None
        if found is not None:
            return _entry(path, found)
        start = self._below(path)
        below = self._ask(Request.LIST, start, lambda: self.service.list(start))
        return _folder(path) if below else None

    def open_input(self, path: str) -> Any:
        """Open the bytes that `path` has now."""
        found = self._get(Request.GET, path)
        if found is not None:
            return pa.BufferReader(found.data)
        if self.stat(path) is not None:
            raise storage_error(OSError("it is a folder"), self._at(path))
        raise not_found_error(self._at(path))

    @contextlib.contextmanager
    def create(self, path: str, *, durable: bool = True) -> Iterator[BinaryIO]:
        """Open a new file; it has its name and all bytes from a clean exit on."""
        del durable
        key, out = self._key(path), io.BytesIO()
        yield out
        tag, data = uuid4().hex, out.getvalue()
        if self._ask(Request.PUT, key, lambda: self.service.put(key, data, tag)):
            return
        found = self._get(Request.HEAD, path)  # with our tag it is that of a lost request
        if found is None or found.tag != tag:
            raise exists_error(self._at(path))

    def move(self, moves: Sequence[Move]) -> None:
        """Refuse: nothing moves here."""
        raise self._no_moves(moves[0].target if moves else "")

    def replace(self, move: Move) -> None:
        """Refuse: nothing moves here."""
        raise self._no_moves(move.target)

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """Delete objects and everything below; empty folders do not exist."""
        starts = [(self._key(path), self._below(path)) for path in paths]
        for key, start in () if only_empty else starts:
            self._delete_below(start)
            self._delete(key)

    def begin(self, path: str, data: bytes) -> str:
        """Store an upload for a free name."""
        key, upload = self._key(path), uuid4().hex
        self._ask(Request.BEGIN, key, lambda: self.service.begin(key, data, upload))
        return upload

    def complete(self, path: str, upload: str) -> None:
        """Give an upload its name."""
        key = self._key(path)
        done = self._ask(Request.COMPLETE, key, lambda: self.service.complete(key, upload))
        if done is None:
            raise not_found_error(f"{self._at(path)}?uploadId={upload}")
        if not done:
            raise exists_error(self._at(path))

    def abort(self, path: str, upload: str) -> None:
        """Discard an upload."""
        self._ask(Request.ABORT, self._key(path), lambda: self.service.abort(upload))

    def unfinished(self) -> Iterator[tuple[str, str]]:
        """Yield path and id of each upload below the prefix."""
        start = self._below("")
        found = self._ask(Request.LIST, start, lambda: list(self.service.uploads.items()))
        for upload, (key, _) in found:
            if key.startswith(start):
                yield key[len(start) :], upload

    def _get(self, kind: Request, path: str) -> StoredObject | None:
        key = self._key(path)
        return self._ask(kind, key, lambda: self.service.get(key))

    def _delete_below(self, start: str) -> None:
        for key, _ in self._ask(Request.LIST, start, lambda: self.service.list(start)):
            self._delete(key)

    def _delete(self, key: str) -> None:
        self._ask(Request.DELETE, key, lambda: self.service.delete(key))

    def _ask(self, kind: Request, key: str, work: Callable[[], T]) -> T:
        """Send a request until there is an answer."""
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(NoAnswerError):
                return self.send(kind, key, work)
        raise storage_error(OSError("the store does not answer"), self._at(key))

    def _no_moves(self, path: str) -> StorageError:
        return storage_error(OSError("objects cannot be moved"), self._at(path))

    def _key(self, path: str) -> str:
        """Return the key of a path; refuse one that leaves the root."""
        if path.startswith("/") or "\0" in path or ".." in path.split("/"):
            raise storage_error(OSError(f"the path {path!r} leaves the storage"), self.location)
        return "/".join(filter(None, (self._prefix, path)))

    def _below(self, path: str) -> str:
        """Return the start of the keys below a path."""
        key = self._key(path)
        return f"{key}/" if key else ""

    def _at(self, path: str) -> str:
        return f"{self.location}/{path}" if path else self.location


def _entry(path: str, found: StoredObject) -> Entry:
    return Entry(path=path, is_folder=False, size=len(found.data), mtime_ns=found.mtime_ns)


def _folder(path: str) -> Entry:
    return Entry(path=path, is_folder=True, size=0, mtime_ns=0)
