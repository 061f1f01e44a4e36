"""A deterministic network between processes and an object store: each schedule comes from a seed.

Each actor is a process with a thread of its own, but only one thread runs at a time: every request
waits until the scheduler picks it. Requests are delayed, refused, repeated and reordered, answers
are lost, processes pause and die, and time passes only here. So the same seed gives the same run.

Bounds, as ADR 0049 states them: a pause may last as long as it likes before any request, except
between a process's last check and its creation or deletion of a data file, which takes at most
`GAP_MS`; and a request that was sent arrives within `REQUEST_MS`.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final, TypeVar

import pytest

from framework.hudi.commit import lease
from framework.hudi.commit.fence import QUIET_MS
from framework.hudi.storage.memory_objects import (
    MemoryObjects,
    MemoryObjectStorage,
    NoAnswerError,
    Request,
)
from framework.hudi.timeline.clock import ManualClock
from tests.support.fault_storage import Killed

if TYPE_CHECKING:
    from _thread import LockType

__all__ = ["GAP_MS", "REQUEST_MS", "Actor", "Client", "Network", "many_processes"]

GAP_MS: Final = 20_000
REQUEST_MS: Final = 60_000
SKEW_MS: Final = 5_000
PAUSES_MS: Final = (5_000, 250_000, QUIET_MS + 60_000, 2 * QUIET_MS)

T = TypeVar("T")


@contextmanager
def many_processes(seed: int) -> Iterator[None]:
    """Within the block, random names come from a seed, and threads are processes.

    A process guards its lease by one lock, which others do not share; none renews it in the
    background here.
    """
    source = random.Random(f"names {seed}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", source.randbytes)
        patch.setattr(lease, "_LOCK", nullcontext())
        yield


def _baton() -> LockType:
    """Return a lock that is taken: one thread waits for it, another releases it."""
    found = Lock()
    found.acquire()
    return found


@dataclass(eq=False)
class Actor:
    """A process.

    Attributes:
        name: in the trace.
        network: its only connection to anything.
        main: its program; gets its storage and its clock.
        clock: the network's, with an error of its own.
        wake_ms: when its next request arrives at the earliest.
        must_ms: when it has to arrive at the latest; None if it may be paused.
    """

    name: str
    network: Network
    main: Callable[[Client, ManualClock], None]
    clock: ManualClock
    wake_ms: int = 0
    must_ms: int | None = None
    dead: bool = False
    done: bool = False
    error: BaseException | None = None
    asks: tuple[Request, str] | None = None
    go: LockType = field(default_factory=_baton)

    def start(self) -> None:
        """Run up to the first request."""
        Thread(target=self._run, name=self.name, daemon=True).start()
        self.network.turn.acquire()

    def _run(self) -> None:
        """Run the program to its end."""
        try:
            self.main(Client(self), self.clock)
        except BaseException as error:  # noqa: BLE001 - the scheduler's thread looks at it
            self.error = error
        self.done = True
        self.network.turn.release()


class _SkewedClock(ManualClock):
    """A clock that is always off by the same."""

    def __init__(self, clock: ManualClock, off_ms: int) -> None:
        super().__init__()
        self._clock, self._off_ms = clock, off_ms

    def now_ms(self) -> int:
        """Return the wrong time."""
        return self._clock.now_ms() + self._off_ms


class Client(MemoryObjectStorage):
    """The storage of one actor."""

    def __init__(self, actor: Actor) -> None:
        super().__init__("network", actor.network.service)
        self._actor = actor

    def sleep(self, ms: int) -> None:
        """Wait."""
        self._actor.network.sleep(self._actor, ms)

    def send(self, kind: Request, key: str, work: Callable[[], T]) -> T:
        """Send a request through the network."""
        return self._actor.network.request(self._actor, kind, key, work)


_CHANGES: Final = frozenset({Request.PUT, Request.DELETE, Request.COMPLETE, Request.BEGIN})


class Network:
    """Actors, the store they share, and the requests under way.

    Attributes:
        service: the store.
        clock: the right time.
        trouble: probability that a request is refused, repeated, late, or loses its answer.
        check: called after each request that changed something.
        is_bounded: whether a request for this key must follow its check within `GAP_MS`.
    """

    def __init__(
        self, seed: int, service: MemoryObjects, *, is_bounded: Callable[[str], bool]
    ) -> None:
        self.random = random.Random(seed)
        self.clock = ManualClock()
        self.service = service
        service.now_ns = lambda: self.clock.now_ms() * 1_000_000
        self.trouble = self.random.choice((0.0, 0.02, 0.1))
        self.pause = self.random.choice((0.005, 0.02, 0.05))
        self.death = self.random.choice((0.0, 0.002, 0.01))
        self.check: Callable[[], None] = lambda: None
        self.is_bounded = is_bounded
        self.turn = _baton()
        self.actors: list[Actor] = []
        self.requests = 0
        self._under_way: list[tuple[int, Callable[[], object]]] = []
        self._trace = hashlib.sha256()
        self._fault: BaseException | None = None

    @property
    def trace(self) -> str:
        """Hash of all requests in their order."""
        return self._trace.hexdigest()

    def add(self, name: str, main: Callable[[Client, ManualClock], None]) -> Actor:
        """Add a process."""
        off_ms = self.random.randint(-SKEW_MS, SKEW_MS)
        actor = Actor(name, self, main, _SkewedClock(self.clock, off_ms))
        self.actors.append(actor)
        return actor

    def run(self) -> None:
        """Run all processes to their ends, and deliver what is under way."""
        for actor in self.actors:
            actor.start()
        while waiting := [each for each in self.actors if not each.done]:
            self._step(waiting)
        self._deliver_until(None)

    def request(self, actor: Actor, kind: Request, key: str, work: Callable[[], T]) -> T:
        """Do a request of an actor when the scheduler lets it; called on the actor's thread."""
        actor.asks = (kind, key)
        bounded = kind is Request.DELETE or (kind is Request.PUT and self.is_bounded(key))
        actor.must_ms = self.clock.now_ms() + GAP_MS if bounded else None
        self.turn.release()
        actor.go.acquire()
        if actor.dead:
            raise Killed
        self.requests += 1
        self._trace.update(f"{actor.name} {kind} {key}\n".encode())
        trouble = self.random.random() < self.trouble
        fate = self.random.choice(("refused", "late", "lost", "repeated")) if trouble else ""
        if fate == "late" and kind in _CHANGES:
            self._send_later(work)
        if fate in {"refused", "late"}:
            raise NoAnswerError
        result = work()
        if kind in _CHANGES:
            self.check()
        if fate == "repeated" and kind in _CHANGES:
            self._send_later(work)
        if fate == "lost":
            raise NoAnswerError
        return result

    def sleep(self, actor: Actor, ms: int) -> None:
        """Let an actor wait; called on its thread."""
        actor.must_ms = None
        actor.wake_ms = self.clock.now_ms() + ms
        self.turn.release()
        actor.go.acquire()
        if actor.dead:
            raise Killed

    def _send_later(self, work: Callable[[], object]) -> None:
        arrives = self.clock.now_ms() + self.random.randint(1, REQUEST_MS)
        self._under_way.append((arrives, work))

    def _step(self, waiting: list[Actor]) -> None:
        """Let one process do its next request, or let it pause or die, or let time pass."""
        now = self.clock.now_ms()
        ready = [each for each in waiting if each.wake_ms <= now]
        if not ready:
            self._pass_time(min(each.wake_ms for each in waiting))
            return
        actor = self.random.choice(ready)
        chance = self.random.random()
        if chance < self.death and not actor.name.startswith("last"):
            actor.dead = True
        elif chance < self.death + self.pause:
            most = self.random.choice(PAUSES_MS)
            until = now + self.random.randint(1, most)
            actor.wake_ms = until if actor.must_ms is None else min(until, actor.must_ms)
            return
        self._let(actor)
        self._pass_time(self.clock.now_ms() + self.random.randint(0, 200))

    def _let(self, actor: Actor) -> None:
        """Let a process run up to its next request."""
        actor.must_ms = None
        actor.go.release()
        self.turn.acquire()

    def _pass_time(self, until: int) -> None:
        """Advance the clock; what is bounded happens before its time is over."""
        while True:
            bounded = [
                each
                for each in self.actors
                if not each.done and each.must_ms is not None and each.must_ms < until
            ]
            first = min(bounded, key=lambda each: each.must_ms or 0, default=None)
            if first is None or first.must_ms is None:
                break
            self._deliver_until(first.must_ms)
            self._let(first)
        self._deliver_until(until)

    def _deliver_until(self, until: int | None) -> None:
        """Deliver what arrives up to a time, or all, in the order of arrival."""
        while self._under_way:
            arrives, work = min(self._under_way, key=lambda each: each[0])
            if until is not None and arrives > until:
                break
            self._under_way.remove((arrives, work))
            self._advance(arrives)
            self._trace.update(b"late\n")
            work()
            self.check()
        if until is not None:
            self._advance(until)

    def _advance(self, to: int) -> None:
        self.clock.advance(max(0, to - self.clock.now_ms()))
