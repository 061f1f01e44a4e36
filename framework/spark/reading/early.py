"""Folders that Spark lists in its own process while their table is still being looked into."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, Self

from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from framework.spark.reading.jvm import Jvm

__all__ = ["EarlyListing"]

_MANY: Final = 100


class EarlyListing:
    """What Spark has listed for one frame; a context manager that forgets it all at its end.

    A guess at the folders is enough: what was not listed early is listed when it is asked for, and
    what cannot be listed early is given then.
    """

    def __init__(self, jvm: Jvm, session: Any) -> None:
        self._jvm = jvm
        self._session = session
        self._cache = jvm.sources.FileStatusCache.getOrCreate(session)
        self._pool = ThreadPoolExecutor(1)
        self._begun: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown()
        self._cache.invalidateAll()

    def begin(self, folders: Sequence[str]) -> None:
        """Begin to list folders, which need not be there; a few are not worth it."""
        if len(folders) >= _MANY and self._begun is None:
            self._begun = self._pool.submit(self._list, folders)

    @property
    def cache(self) -> Any:
        """Spark's cache of listings; waits for the folders."""
        if self._begun is not None:
            self._begun.result()
        return self._cache

    def _list(self, folders: Sequence[str]) -> None:
        """List folders into the cache."""
        jvm, sources = self._jvm, self._jvm.sources
        try:
            sources.InMemoryFileIndex(
                self._session,
                jvm.paths(folders),
                jvm.options({}),
                jvm.none,
                self._cache,
                jvm.some(sources.PartitionSpec.emptySpec()),
                jvm.none,
            )
        except Py4JError:
            return
