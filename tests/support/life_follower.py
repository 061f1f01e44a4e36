"""A view that follows a table's life by its timeline, compared with a new listing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.timeline.instant import InstantState
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.checkpoint import reopen, write_checkpoint
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.stores.port import GroupStore, MemoryStore
from tests.support.life_model import Life

__all__ = ["Follower", "Sightings"]


@dataclass(kw_only=True)
class Sightings:
    """What followers have seen.

    Attributes:
        make_store: makes the store of a view.
        checkpoint: where views are written to and opened from at random moments; None for never.
        instants: number of instants on followed timelines, by action and whether completed.
        compared: number of comparisons.
        reopened: number of times a view continued from a checkpoint.
    """

    make_store: Callable[[], GroupStore] = MemoryStore
    checkpoint: Path | None = None
    instants: Counter[tuple[str, bool]] = field(default_factory=Counter)
    compared: int = 0
    reopened: int = 0

    def follow(self, life: Life, rng: Random) -> Follower:
        """Return a follower of a life, which may be before its first instant."""
        return Follower(life, rng, self)


class Follower:
    """One view."""

    def __init__(self, life: Life, rng: Random, sightings: Sightings) -> None:
        self._life, self._rng, self._sightings = life, rng, sightings
        self._seen: set[tuple[str, str, bool]] = set()
        self._is_saved = False
        self._view = IncrementalView(life.storage, sightings.make_store())

    def close(self) -> None:
        """Forget the view."""
        self._view.close()

    def check(self) -> None:
        """Compare the view with a listing of the table as it is now."""
        storage, path = self._life.storage, self._sightings.checkpoint
        if path is not None and self._is_saved and self._rng.random() < 0.3:
            self._reopen(path)
        self._view.sync()
        timeline = load_timeline(storage)
        with BootstrapIndex.open(storage) or nullcontext() as index:
            listed = ListingView(storage, timeline, index)
            assert set(listed.partitions()) <= set(self._view.partitions())
            for each in self._queries():
                assert self._view.select(each) == listed.select(each), each
        self._sightings.compared += 1
        for instant in timeline.instants:
            self._see(instant.action.value, instant.requested_time, instant.state)
        if path is not None and self._rng.random() < 0.5:
            write_checkpoint(self._view, path)
            self._is_saved = True

    def _queries(self) -> list[Query]:
        """Return every kind of question, as of some instant."""
        times = [each.instant for each in self._life.states]
        instant = self._rng.choice([*times, None])
        chosen = frozenset(self._rng.sample(times, min(2, len(times))))
        pending = self._rng.random() < 0.5
        return [
            Query(selection=each, instant=instant, instants=chosen, include_pending=pending)
            for each in Selection
        ]

    def _reopen(self, path: Path) -> None:
        """Continue from a checkpoint, however old."""
        self._view.close()
        found = reopen(self._life.storage, self._sightings.make_store(), path)
        self._view = found.view
        self._sightings.reopened += found.refusal is None

    def _see(self, action: str, time: str, state: InstantState) -> None:
        """Count an instant once in each state."""
        key = action, time, state is InstantState.COMPLETED
        if key not in self._seen:
            self._seen.add(key)
            self._sightings.instants[action, key[2]] += 1
