"""Work on many files of one storage, several at a time where each waits for its answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from framework.hudi.storage.object_uri import is_object_uri
from framework.hudi.storage.port import Storage

__all__ = ["overlapped", "threads_for"]

_AT_ONCE: Final = 16
_THREADS: Final = 8
_AHEAD: Final = 2 * _AT_ONCE
_BYTES_AHEAD: Final = 64 << 20

Item = TypeVar("Item")
Result = TypeVar("Result")


def threads_for(storage: Storage) -> int:
    """Return on how many threads requests to a storage, or fsyncs, wait at once."""
    return _AT_ONCE if is_object_uri(storage.location) else _THREADS


def overlapped(
    storage: Storage,
    work: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    size: Callable[[Item], int] = lambda _: 0,
) -> Iterator[Result]:
    """Yield the result of `work` for each item, in order; raise the first error in order.

    In an object store, several items are worked on at once, and at most 32 results are held; in any
    other storage one after the other.

    Args:
        storage: where the files are.
        work: called on any thread.
        items: taken as results are.
        size: about how many bytes an item holds in memory; items of more than 64 MiB together are
            not worked on at once.
    """
    if not is_object_uri(storage.location):
        yield from map(work, items)
        return
    waiting: deque[tuple[Future[Result], int]] = deque()
    held = 0
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            for item in items:
                more = size(item)
                while waiting and (len(waiting) == _AHEAD or held + more > _BYTES_AHEAD):
                    done, its_size = waiting.popleft()
                    yield done.result()
                    held -= its_size
                waiting.append((pool.submit(work, item), more))
                held += more
            while waiting:
                yield waiting.popleft()[0].result()
        finally:
            pool.shutdown(cancel_futures=True)
