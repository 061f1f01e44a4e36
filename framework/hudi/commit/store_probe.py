"""Whether an object store keeps what publishing without moves relies on (ADR 0049): it is tried."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

from framework.errors import StorageError
from framework.hudi.storage.port import Storage, Uploads
from framework.hudi.table.layout import LAKESTRAP, join

__all__ = ["StoreProbe", "probe_store"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreProbe:
    """What a store did.

    Attributes:
        lack: what it does although it must not, in words; empty if it keeps all promises.
        ahead_s: seconds by which its clock is ahead of this machine's, within about a second.
    """

    lack: str
    ahead_s: float


def probe_store(storage: Storage, uploads: Uploads) -> StoreProbe:
    """Try to take a taken name, by a file and by an upload, and to complete an aborted upload.

    Costs about ten requests. Leaves nothing, unless this process dies.

    Raises:
        StorageError: the store cannot be reached or written to; `storage/no-conditions` if it
            refuses conditional requests by name.
    """
    path = join(LAKESTRAP, f"probe-{uuid4().hex}")
    try:
        _create(storage, path)
        entry = storage.stat(path)
        ahead_s = 0.0 if entry is None else entry.mtime_ns / 1e9 - time.time()
        return StoreProbe(lack=_lack(storage, uploads, path), ahead_s=ahead_s)
    finally:
        storage.delete(path)


def _lack(storage: Storage, uploads: Uploads, path: str) -> str:
    """Return the first promise that the store breaks for a path that is taken; or ""."""
    if not _is_refused(lambda: _create(storage, path)):
        return "it replaces an object although the request forbids that"
    upload = uploads.begin(path, b"2")
    try:
        if not _is_refused(lambda: uploads.complete(path, upload)):
            return "it completes an upload under a taken name although the request forbids that"
    finally:
        uploads.abort(path, upload)
    storage.delete(path)
    with suppress(StorageError):  # of any kind: some stores fail on an upload that they forgot
        uploads.complete(path, upload)
    if storage.stat(path) is not None:
        return "it completes an upload that was aborted, so that a late run could publish"
    return ""


def _create(storage: Storage, path: str) -> None:
    with storage.create(path) as out:
        out.write(b"1")


def _is_refused(request: Callable[[], None]) -> bool:
    """Return whether the store refuses a request because the name is taken."""
    try:
        request()
    except StorageError as error:
        if error.condition != "storage/exists":
            raise
        return True
    return False
