"""Files as objects of a bucket, by obstore.

Folders do not exist: one is there as long as some key starts with its path. A file is created by a
single conditional request, so it is there whole or not at all, and never replaced. Requests are
repeated after faults that may pass. An answer that was lost is no puzzle: each new object holds the
number of its attempt, by which a repeated request recognizes its own work.
"""

from __future__ import annotations

import contextlib
import io
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, Final
from uuid import uuid4

import obstore
import pyarrow as pa
from obstore.exceptions import AlreadyExistsError, BaseError, GenericError, PreconditionError

from framework.errors import NotYetBuiltError, StorageError, Where
from framework.hudi.storage.object_input import TAIL_BYTES, RangedInput
from framework.hudi.storage.object_uri import ObjectUri
from framework.hudi.storage.port import (
    Entry,
    Move,
    Uploads,
    exists_error,
    not_found_error,
    storage_error,
)
from framework.hudi.storage.s3_uploads import S3Uploads
from framework.hudi.storage.store_client import client_of
from framework.hudi.storage.store_errors import store_error, typed_faults
from framework.hudi.storage.store_settings import settings_of

__all__ = ["ObjectStorage"]

_ATTEMPT: Final = "lakestrap"
_ATTEMPTS: Final = 4
_FIRST_WAIT_S: Final = 0.2
_AT_ONCE: Final = 16
_MOST_BYTES: Final = 5 << 30  # of one PUT, on every store
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_PASSING: Final = frozenset({"storage/timeout", "storage/throttled", "storage/failed"})


class ObjectStorage:
    """The objects of one bucket whose keys start with a prefix.

    Args:
        uri: bucket and prefix; neither needs to exist yet.
    """

    def __init__(self, uri: ObjectUri) -> None:
        self._uri = uri
        self._client = client_of(uri)
        self._uploads = S3Uploads(uri)

    @property
    def location(self) -> str:
        """The canonical location, such as `s3a://bucket/prefix`."""
        return str(self._uri)

    @property
    def uploads(self) -> Uploads:
        """The bucket's uploads, which take the place of moves."""
        return self._uploads

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield the children of `folder` by name; objects that stand for folders are left out."""
        key = self._key(folder)
        with typed_faults(self._at(folder)):
            found = obstore.list_with_delimiter(self._client, key or None)
        start = len(self._uri.prefix) + 1 if self._uri.prefix else 0
        entries = [_entry(each, each["path"][start:]) for each in found["objects"]]
        folders = [_folder(each.rstrip("/")[start:]) for each in found["common_prefixes"]]
        named = [each for each in (*entries, *folders) if each.path not in {folder, ""}]
        yield from sorted(named, key=lambda each: (each.name, each.is_folder))

    def stat(self, path: str) -> Entry | None:
        """Return the entry at `path`, or None; costs a second request if no object is there."""
        key = self._key(path)
        with typed_faults(self._at(path)):
            if path:
                with contextlib.suppress(FileNotFoundError):
                    return _entry(obstore.head(self._client, key), path)
            return _folder(path) if self._has_keys(key) else None

    def open_input(self, path: str) -> Any:
        """Open an object; costs one request."""
        key = self._key(path)
        if not path:
            raise storage_error(OSError("it is a folder"), self._at(path))
        try:
            meta, tail = self._tail(key)
        except FileNotFoundError as error:
            raise self._not_a_file(path, error) from error
        except (BaseError, ValueError) as error:
            raise store_error(error, self._at(path)) from error

        def fetch(start: int, stop: int) -> bytes:
            """Return a range of this very version."""
            with typed_faults(self._at(path)):
                options: Any = {"range": (start, stop), "if_match": meta["e_tag"]}
                return bytes(obstore.get(self._client, key, options=options).bytes())

        return pa.PythonFile(RangedInput(fetch, meta["size"], tail), "r")

    @contextlib.contextmanager
    def create(self, path: str, *, durable: bool = True) -> Iterator[BinaryIO]:
        """Open a new object; it appears whole on a clean exit, which is when a name is refused.

        The bytes are held in memory until then.
        """
        del durable  # an object that was acknowledged is durable
        key = self._key(path)
        if not path:
            raise exists_error(self._at(path))
        out = io.BytesIO()
        yield out
        data = out.getvalue()
        if len(data) > _MOST_BYTES:
            raise storage_error(OSError("an object of more than 5 GiB"), self._at(path))
        if self._is_alone and self._is_object(path, key):
            raise exists_error(self._at(path))
        self._put(path, key, data)

    def move(self, moves: Sequence[Move]) -> None:
        """Refuse: a store has no move."""
        raise self._no_move(moves[0].target if moves else "")

    def replace(self, move: Move) -> None:
        """Refuse: a store has no move."""
        raise self._no_move(move.target)

    def delete(self, *paths: str, only_empty: bool = False) -> None:
        """Delete objects and all below `paths`; empty folders are never there.

        Costs a listing for each path, several at a time, and a request for each 1,000 objects.
        """
        keys = [self._key(path) for path in paths]
        if only_empty or not keys:
            return
        with typed_faults(self._at(paths[0])), ThreadPoolExecutor(_AT_ONCE) as pool:
            below = [key for found in pool.map(self._keys_below, keys) for key in found]
            obstore.delete(self._client, [*filter(None, keys), *below])

    def _put(self, path: str, key: str, data: bytes) -> None:
        """Create one object; raise `storage/exists` if another request than ours made it."""
        mark = uuid4().hex
        for attempt in range(_ATTEMPTS):
            try:
                obstore.put(
                    self._client,
                    key,
                    data,
                    mode="overwrite" if self._is_alone else "create",
                    use_multipart=False,
                    attributes={_ATTEMPT: mark},
                )
            except (AlreadyExistsError, PreconditionError) as error:
                if self._made(path, key, mark):
                    return
                raise exists_error(self._at(path)) from error
            except GenericError as error:
                fault = store_error(error, self._at(path))
                if attempt == _ATTEMPTS - 1 or fault.condition not in _PASSING:
                    raise fault from error
                time.sleep(_FIRST_WAIT_S * 2**attempt * (1 + random.random()))  # noqa: S311 - jitter
            except (BaseError, FileNotFoundError, ValueError) as error:
                raise store_error(error, self._at(path)) from error
            else:
                return

    @property
    def _is_alone(self) -> bool:
        """Whether the user has said that nobody else writes."""
        return bool(settings_of(self._uri.scheme).single_writer)

    def _is_object(self, path: str, key: str) -> bool:
        """Return whether an object has this very key."""
        with typed_faults(self._at(path)), contextlib.suppress(FileNotFoundError):
            obstore.head(self._client, key)
            return True
        return False

    def _made(self, path: str, key: str, mark: str) -> bool:
        """Return whether the object at a key was made by the attempt with this mark."""
        with typed_faults(self._at(path)), contextlib.suppress(FileNotFoundError):
            found = obstore.get(self._client, key, options={"head": True})
            return found.attributes.get(_ATTEMPT) == mark
        return False

    def _tail(self, key: str) -> tuple[Any, bytes]:
        """Return an object's metadata and its last bytes, by one request; two if it is empty."""
        try:
            found = obstore.get(self._client, key, options={"range": {"suffix": TAIL_BYTES}})
        except (GenericError, ValueError) as error:
            if store_error(error, key).condition != "storage/failed":
                raise
            meta = obstore.head(self._client, key)
            if meta["size"]:
                raise
            return meta, b""
        return found.meta, bytes(found.bytes())

    def _not_a_file(self, path: str, error: FileNotFoundError) -> StorageError:
        """Return the error for a path without an object."""
        at = self._at(path)
        with typed_faults(at):
            if self._has_keys(self._key(path)):
                return storage_error(OSError("it is a folder"), at)
        fault = store_error(error, at)
        return fault if fault.condition != "storage/failed" else not_found_error(at)

    def _has_keys(self, key: str) -> bool:
        """Return whether any object is below `key`; costs one page of a listing."""
        return next(iter(obstore.list(self._client, key or None, chunk_size=1)), None) is not None

    def _keys_below(self, key: str) -> Sequence[str]:
        """Return the keys below `key`."""
        return [
            each["path"]
            for chunk in obstore.list(self._client, key or None, chunk_size=1000)
            for each in chunk
        ]

    def _key(self, path: str) -> str:
        """Return the full key; refuse a path that leaves the prefix."""
        levels = path.split("/") if path else []
        if "\0" in path or any(each in {"", ".", ".."} for each in levels):
            raise storage_error(OSError(f"the path {path!r} leaves the storage"), self.location)
        return "/".join(each for each in (self._uri.prefix, path) if each)

    def _at(self, path: str) -> str:
        return f"{self.location}/{path}" if path else self.location

    def _no_move(self, path: str) -> NotYetBuiltError:
        """Return the refusal of a move."""
        return NotYetBuiltError(
            "storage/no-move",
            "files of an object store cannot be moved",
            where=Where(file=self._at(path)),
            remedy="Use a table in a file system with this version.",
        )


def _entry(meta: Any, path: str) -> Entry:
    """Return the entry of an object."""
    seconds = (meta["last_modified"] - _EPOCH) // _SECOND  # a listing knows milliseconds, HEAD not
    return Entry(
        path=path,
        is_folder=False,
        size=meta["size"],
        mtime_ns=seconds * 1_000_000_000,
        etag=meta["e_tag"] or "",
    )


def _folder(path: str) -> Entry:
    return Entry(path=path, is_folder=True, size=0, mtime_ns=0)
