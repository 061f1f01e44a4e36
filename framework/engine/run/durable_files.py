"""Durable storage of many files: a sync waits for the disk, so several wait at a time."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Final, Self

import google_crc32c

from framework.hudi.commit.created import create_bytes
from framework.hudi.storage.overlap import threads_for
from framework.hudi.storage.port import Storage, uploads_of

__all__ = ["FileStore"]

_MOST_WAITING: Final = 64
_MOST_WAITING_BYTES: Final = 64 << 20
_INLINE_FILES: Final = 8


class FileStore:
    """Creates files and computes their checksums; all are durable after a clean exit.

    The first few files are stored at once, in order; a task with few files starts no thread.

    Attributes:
        storage: where they are created.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: deque[tuple[Future[int], int]] = deque()
        self._waiting_bytes = 0
        self._checksums: list[Future[int]] = []

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for all files; raise the first error of one, unless another is being raised."""
        try:
            while self._waiting and error is None:
                self._wait_for_one()
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)

    def put(self, path: str, data: bytes) -> None:
        """Create a file; returns before it is durable.

        Raises:
            StorageError: of this file or an earlier one.
            CommitConflictError: `commit/name-taken`, on a store without moves.
        """
        if len(self._checksums) < _INLINE_FILES:
            done: Future[int] = Future()
            done.set_result(self._store(path, data))
            self._checksums.append(done)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(threads_for(self.storage))
        future = self._pool.submit(self._store, path, data)
        self._checksums.append(future)
        self._waiting.append((future, len(data)))
        self._waiting_bytes += len(data)
        while len(self._waiting) > _MOST_WAITING or self._waiting_bytes > _MOST_WAITING_BYTES:
            self._wait_for_one()

    def checksums(self) -> list[int]:
        """Return the CRC-32C of each file, in the order of `put`; waits for all of them."""
        return [future.result() for future in self._checksums]

    def _wait_for_one(self) -> None:
        """Wait for the oldest file."""
        future, size = self._waiting.popleft()
        self._waiting_bytes -= size
        future.result()

    def _store(self, path: str, data: bytes) -> int:
        """Create one file and return its checksum.

        Where files have their names from the start, another attempt may have been faster.
        """
        if uploads_of(self.storage) is not None:
            create_bytes(self.storage, path, data)
        else:
            with self.storage.create(path) as out:
                out.write(data)
        return int(google_crc32c.value(data))
