"""One client of hdfs-native per cluster and process, and how a file is closed quickly.

A block counts as stored once a DataNode has reported it, which it does after it has acknowledged
the last packet. The client asks the NameNode to complete a file at that acknowledgement, mostly
before the report; the answer is then "not yet", and it sleeps half a second: 1.7 small files a
second. `finish` therefore looks whether the block has been reported meanwhile, cancels the sleep,
and asks again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator
from threading import Lock, Thread
from typing import Any, Final, TypeVar

from hdfs_native import AsyncClient, Client

T = TypeVar("T")

__all__ = ["HdfsClient", "client_of"]

_FIRST_LOOK_S: Final = 0.005
_LAST_LOOK_S: Final = 0.1
_GRACE_S: Final = 0.02
_CLOSED: Final = "LeaseExpiredException"


class HdfsClient:
    """Calls of one cluster; blocking, and safe to use from threads.

    Every method raises what hdfs-native raises. Reads use its blocking client. Writes use the
    asynchronous one, whose sleeps can be cancelled, in a thread with an event loop of its own: the
    caller may run one too.
    """

    def __init__(self, cluster: str) -> None:
        self._reads = Client(cluster)
        self._writes = AsyncClient(cluster)
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, name="hdfs", daemon=True).start()

    def list(self, path: str) -> Iterator[Any]:
        """Yield the statuses of a folder's children, or of a file."""
        return self._reads.list_status(path)

    def stat(self, path: str) -> Any:
        """Return the status of a file or folder."""
        return self._reads.get_file_info(path)

    def open(self, path: str) -> Any:
        """Return a reader of a file."""
        return self._reads.read(path)

    def rename(self, source: str, target: str, *, overwrite: bool) -> None:
        """Rename a file or folder; without `overwrite`, the target must be free."""
        self._reads.rename(source, target, overwrite)

    def delete(self, path: str, *, recursive: bool) -> None:
        """Delete a file or folder, which need not exist."""
        self._reads.delete(path, recursive)

    def make_folders(self, path: str) -> None:
        """Create a folder and those above it; it may exist."""
        self._reads.mkdirs(path, create_parent=True)

    def create(self, path: str) -> Any:
        """Create a file exclusively, and the folders above it; return its writer."""
        return self._run(self._writes.create(path))

    def write(self, writer: Any, data: bytes) -> None:
        """Append bytes to a new file."""
        self._run(writer.write(data))

    def finish(self, writer: Any, path: str, size: int) -> None:
        """Close a new file of `size` bytes; it may have been renamed meanwhile."""
        self._run(self._finish(writer, path, size))

    async def _finish(self, writer: Any, path: str, size: int) -> None:
        closing = asyncio.ensure_future(writer.close())
        pause = _FIRST_LOOK_S
        while not (await asyncio.wait([closing], timeout=pause))[0]:
            if await self._is_stored(path, size):
                await self._close_again(closing, writer, path, size)
                return
            pause = min(2 * pause, _LAST_LOOK_S)
        closing.result()

    async def _close_again(
        self, closing: asyncio.Future[None], writer: Any, path: str, size: int
    ) -> None:
        """Cancel the sleep of `closing`, if it sleeps, and close the file."""
        if not (await asyncio.wait([closing], timeout=_GRACE_S))[0]:
            closing.cancel()
            await asyncio.wait([closing])
        if not closing.cancelled():
            closing.result()
            return
        try:
            await writer.close()
        except RuntimeError as error:  # the call that was cancelled may have closed the file
            if _CLOSED not in str(error) or not await self._is_stored(path, size):
                raise

    async def _is_stored(self, path: str, size: int) -> bool:
        """Return whether the NameNode knows all blocks of a file, so that everyone can read it."""
        try:
            return size > 0 and len(await self._writes.read(path)) == size
        except (OSError, RuntimeError):  # it was renamed, or the cluster does not answer just now
            return False

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


_clients: dict[tuple[int, str], HdfsClient] = {}
_lock = Lock()


def client_of(cluster: str) -> HdfsClient:
    """Return this process's client of a cluster; a forked process makes its own."""
    key = (os.getpid(), cluster)
    found = _clients.get(key)
    if found is None:
        with _lock:
            found = _clients.get(key) or _clients.setdefault(key, HdfsClient(cluster))
    return found
