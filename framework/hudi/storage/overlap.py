"""Work on many files of one storage, several at a time where each waits for its answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from framework.hudi.storage.object_uri import is_object_uri
from framework.hudi.storage.port import Storage

__all__ = ["overlapped"]

_AT_ONCE: Final = 16
_AHEAD: Final = 2 * _AT_ONCE

Item = TypeVar("Item")
Result = TypeVar("Result")


def overlapped(
    storage: Storage, work: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[Result]:
    """Yield the result of `work` for each item, in order; raise the first error in order.

    In an object store, several items are worked on at once, and at most 32 results are held; in any
    other storage one after the other.
    """
    if not is_object_uri(storage.location):
        yield from map(work, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) == _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
