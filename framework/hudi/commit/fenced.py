"""What a task of a run writes through: new files only as long as the run has its folder.

`Storage.create` makes missing folders. A task that continues after its run was fenced, or has
published, would bring the folder of a run that nobody remembers back to life.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import BinaryIO

from framework.errors import CommitConflictError, Where
from framework.hudi.storage.port import Storage
from framework.hudi.storage.wrapped import WrappedStorage
from framework.hudi.table.layout import HOODIE, parent_of

__all__ = ["FencedStorage"]


class FencedStorage(WrappedStorage):
    """A storage in which a file is created only while another, the fence, is there.

    It looks before and after. What was created while the fence went away is deleted again, with
    the folders made for it, unless it was renamed away together with the fence.
    """

    def __init__(self, inner: Storage, fence: str) -> None:
        super().__init__(inner)
        self._fence = fence

    @contextlib.contextmanager
    def create(self, path: str, *, durable: bool = True) -> Iterator[BinaryIO]:
        """Create a file.

        Raises:
            CommitConflictError: `commit/fenced`; the file is not there.
        """
        self._check()
        try:
            with self._inner.create(path, durable=durable) as out:
                yield out
        finally:
            if self._inner.stat(self._fence) is None:
                self._forget(path)
        self._check()

    def _check(self) -> None:
        """Raise where the run has come to its end."""
        if self._inner.stat(self._fence) is None:
            raise CommitConflictError(
                "commit/fenced",
                "the run of this task is over: it has published, or another run has taken over",
                where=Where(file=self._fence),
                remedy="Nothing is lost. Look at the table with status.",
            )

    def _forget(self, path: str) -> None:
        """Delete a file, and the folders that are empty without it."""
        self._inner.delete(path)
        folder = parent_of(path)
        while folder:
            self._inner.delete(folder, only_empty=True)
            folder = parent_of(folder) if folder != HOODIE else ""
