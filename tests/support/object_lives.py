"""An object store for lives of tables, and its time: waits of a quarter of an hour take none."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import pytest

from framework.hudi.storage.memory_objects import MemoryObjectStorage
from framework.hudi.timeline.clock import ManualClock, SystemClock
from tests.support.dying_objects import DyingObjects

__all__ = ["ObjectStore", "an_object_store"]


@dataclass(frozen=True, kw_only=True)
class ObjectStore:
    """A store.

    Attributes:
        location: of its root.
        service: its objects; their time is the clock's.
        clock: of everything that uses it.
    """

    location: str
    service: DyingObjects
    clock: ManualClock


@contextmanager
def an_object_store() -> Iterator[ObjectStore]:
    """Yield an empty store; whoever waits for late requests advances its clock."""
    clock, service = ManualClock(SystemClock().now_ms()), DyingObjects()
    service.now_ns = lambda: clock.now_ms() * 1_000_000
    storage = MemoryObjectStorage(uuid4().hex, service)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", lambda s: clock.advance(int(s * 1000) + 1))
        yield ObjectStore(location=storage.location, service=service, clock=clock)
    storage.forget()
