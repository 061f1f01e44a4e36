"""The port that runs pure functions where the data is, and the codec of what they exchange.

A task is a module-level function `(descriptor: str) -> str` over JSON texts of frozen dataclasses:
it reads and writes files by itself and returns a small status. Nothing is pickled but the
function's name. The adapter here runs tasks in this process; the one over Spark is in
`framework.spark.tasks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")

__all__ = ["InProcessTasks", "LimitedTasks", "Tasks", "decode", "encode"]


class Tasks(Protocol):
    """Runs a pure function over descriptors."""

    @property
    def parallelism(self) -> int:
        """How many tasks run at a time; at least 1."""
        ...

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Yield one status for each descriptor, as tasks complete, in no set order.

        Only statuses of successful tasks are yielded, each once. A `FrameworkError` raised by
        `work` is raised here as it was; any other failure becomes a `TaskError`.
        """
        ...


def encode(value: DataclassInstance) -> str:
    """Return a dataclass, with those in it, as one line of JSON (ADR 0033)."""
    return _ENCODER.encode(value).decode()


def decode(cls: type[T], text: str) -> T:
    """Return the `cls` that `encode` wrote; the types of its fields say what is made of them.

    Raises:
        ValueError: the text is no JSON, or of another type.
    """
    try:
        found: T = _decoder(cls).decode(text)  # type: ignore[arg-type]  # a class is hashable
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from error
    return found


def _plain(value: object) -> object:
    """Return what JSON can hold for a value that it cannot: a read-only mapping.

    Raises:
        NotImplementedError: it is something else.
    """
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise NotImplementedError(f"a {type(value).__name__} has no JSON")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)


@cache
def _decoder(cls: type) -> Any:
    """Return the decoder of a dataclass, which looks at its types once."""
    return msgspec.json.Decoder(cls)


class InProcessTasks:
    """Runs tasks on threads of this process; Arrow and numpy release the interpreter's lock."""

    def __init__(self, parallelism: int = 1) -> None:
        self._parallelism = max(1, parallelism)

    @property
    def parallelism(self) -> int:
        """Threads in use."""
        return self._parallelism

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Yield statuses as they complete; with one thread, in order and without a pool.

        A failure waits for the tasks under way, so that none writes into what is then undone; an
        interruption does not, since what they write from then on is never looked at.
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
    """Other tasks, of which at most so many run at a time: RFC-12's parallelism parameter."""

    def __init__(self, tasks: Tasks, parallelism: int) -> None:
        self._tasks = tasks
        self._parallelism = max(1, parallelism)

    @property
    def parallelism(self) -> int:
        """What the author asked for, also where it is more than there are cores."""
        return self._parallelism

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Hand the descriptors on, all at once or in waves of the limit."""
        wave = self._parallelism
        if wave >= self._tasks.parallelism:
            yield from self._tasks.run(work, descriptors)
            return
        for start in range(0, len(descriptors), wave):
            yield from self._tasks.run(work, descriptors[start : start + wave])
