"""The port that runs pure functions where the data is, their messages, and their shares of work.

A task is a module-level function `(descriptor: str) -> str` over JSON texts of frozen dataclasses:
it reads and writes files itself and returns a small status. Only the function's name is pickled.
The adapter here runs tasks in this process; the one over Spark is in `framework.spark.tasks`.

Work is divided into stretches of about equal cost, one per task.
"""

from __future__ import annotations

import ctypes
import gc
import resource
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = [
    "InProcessTasks",
    "LimitedTasks",
    "Tasks",
    "decode",
    "encode",
    "release_memory",
    "shared",
    "stretches",
]

T = TypeVar("T")


class Tasks(Protocol):
    """Runs a pure function over descriptors."""

    @property
    def parallelism(self) -> int:
        """Number of concurrent tasks; at least 1."""
        ...

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Yield one status for each descriptor, as tasks complete, in no defined order.

        Only statuses of successful tasks are yielded, each once. A `FrameworkError` raised by
        `work` is raised here unchanged; any other failure becomes a `TaskError`.
        """
        ...


def encode(value: DataclassInstance) -> str:
    """Return a dataclass, with nested ones, as one line of JSON (ADR 0033)."""
    return _ENCODER.encode(value).decode()


def decode(cls: type[T], text: str) -> T:
    """Return the `cls` that `encode` wrote, decoded by the types of its fields.

    Raises:
        ValueError: the text is not JSON, or of another type.
    """
    try:
        found: T = _decoder(cls).decode(text)  # type: ignore[arg-type]  # a class is hashable
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from error
    return found


def _plain(value: object) -> object:
    """Return a value that JSON can represent for a read-only mapping.

    Raises:
        NotImplementedError: it is something else.
    """
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise NotImplementedError(f"a {type(value).__name__} has no JSON")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)


@cache
def _decoder(cls: type) -> Any:
    """Return the decoder of a dataclass; cached, since it inspects the types."""
    return msgspec.json.Decoder(cls)


def release_memory() -> None:
    """Return memory that nothing uses any more to the system; takes some milliseconds.

    Arrow and the C library keep what large arrays leave behind. Neither can use what the other one
    keeps, and other processes can use none of it. Arrays that only circles of objects refer to,
    such as readers of files and their streams, would wait for the next collection; in a small
    process they may.
    """
    if _resident_bytes() >= _LARGE_PROCESS:
        gc.collect()
    pa.default_memory_pool().release_unused()
    if _TRIM is not None:
        _TRIM(0)


def _resident_bytes() -> int:
    """Return the memory that this process occupies; where the system does not say so, its peak."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return int(pages) * resource.getpagesize()


_LARGE_PROCESS: Final = 256 << 20
"""A collection takes about 40 ms, as long as a small task; a process begins with half of this."""
_TRIM: Final = getattr(ctypes.CDLL(None), "malloc_trim", None)
"""Only glibc has it."""


class InProcessTasks:
    """Runs tasks on threads of this process; Arrow and numpy release the interpreter's lock."""

    def __init__(self, parallelism: int = 1) -> None:
        self._parallelism = max(1, parallelism)

    @property
    def parallelism(self) -> int:
        """Number of threads."""
        return self._parallelism

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Yield statuses as they complete; with one thread, in order and without a pool.

        A failure waits for the running tasks, so that none writes into what is then undone; an
        interruption does not, since what they write from then on is never read.
        """
        if self._parallelism == 1:
            yield from map(work, descriptors)
            return
        pool = ThreadPoolExecutor(self._parallelism)
        try:
            pending: set[Future[str]] = {pool.submit(work, d) for d in descriptors}
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        pool.shutdown()


class LimitedTasks:
    """Other tasks with a limit on concurrency: RFC-12's parallelism parameter."""

    def __init__(self, tasks: Tasks, parallelism: int) -> None:
        self._tasks = tasks
        self._parallelism = max(1, parallelism)

    @property
    def parallelism(self) -> int:
        """The limit that the author set, even if it exceeds the number of cores."""
        return self._parallelism

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Run the descriptors, all at once or in waves of the limit."""
        wave = self._parallelism
        if wave >= self._tasks.parallelism:
            yield from self._tasks.run(work, descriptors)
            return
        for start in range(0, len(descriptors), wave):
            yield from self._tasks.run(work, descriptors[start : start + wave])


_TASKS_PER_CORE: Final = 2


def stretches(costs: np.ndarray, parts: int) -> list[tuple[int, int]]:
    """Return (start, stop) of stretches of about equal cost, in order.

    Returns fewer stretches than `parts` when there are few items; none is empty.
    """
    if not costs.size:
        return []
    ends = np.cumsum(costs)
    goals = np.arange(1, parts) * (float(ends[-1]) / parts)
    cuts = np.unique(np.searchsorted(ends, goals, side="left") + 1)
    return list(pairwise([0, *cuts[cuts < costs.size].tolist(), costs.size]))


def shared(
    items: Sequence[T], cost: Callable[[T], float], parallelism: int, *, least: float = 0.0
) -> list[Sequence[T]]:
    """Return the items in stretches of about equal cost, none empty, in order.

    Args:
        items: the items to split.
        cost: of one item, in any unit.
        parallelism: number of concurrent tasks.
        least: least cost of a task, in the same unit.
    """
    costs = np.array([max(cost(each), 1e-9) for each in items])
    most = parallelism * _TASKS_PER_CORE
    worth = int(min(most, float(costs.sum()) / least)) if least else most
    parts = max(1, min(len(items), most, worth))
    return [items[start:stop] for start, stop in stretches(costs, parts)]
