"""Records of commits, over random histories of undamaged tables."""

from __future__ import annotations

from random import Random
from uuid import uuid4

import pytest

from framework.hudi.storage.memory import MemoryStorage
from framework.hudi.timeline.timeline import load_timeline
from framework.hudi.view.listing_view import ListingView
from framework.hudi.view.recorded import RecordedFiles
from tests.support.view_services import SERVICES
from tests.support.view_table import ViewedTable
from tests.support.view_watching import CompletedStorage
from tests.support.view_writes import WRITES

LIVES = 3_000
SHARDS = 6
SAMPLED = 2
"""Shards that run in CI."""
QUICK_LIVES = 40
STEPS = 25
LOSING = {"restore", "savepoint", "roll back completed"}
"""After these rows may really be lost: undone past a clean, or built upon by another writer."""
ACTIONS = {name: act for name, act in (WRITES | SERVICES).items() if name not in LOSING}


def live(seed: int) -> int:
    """Play one life; compare after each action, and return how many files were compared."""
    rng = Random(seed)
    storage = MemoryStorage(uuid4().hex)
    table = ViewedTable(storage, rng)
    if rng.random() < 0.3:
        table.complete(table.adopt())
    compared = 0
    for _ in range(STEPS):
        while not ACTIONS[rng.choice(list(ACTIONS))](table):
            pass
        files = {path: dict(names) for path, names in table.truth.items()}
        compared += check(CompletedStorage(storage, files))
    storage.forget()
    return compared


def check(storage: CompletedStorage) -> int:
    """Compare what commits recorded with what counts; return how many slices were compared."""
    timeline = load_timeline(storage)
    recorded = RecordedFiles(storage, timeline)
    view = ListingView(storage, timeline)
    paths = list(view.partitions())
    slices = {path: view.latest_slices(path) for path in paths}
    found = [*view.unmarked, *recorded.lost_partitions(paths)]
    for path in paths:
        found += recorded.damages(path, slices[path])
    assert recorded.without_removed(found) == []
    return sum(map(len, slices.values()))


def test_undamaged_tables_match_their_commits() -> None:
    """Writes and services of several writers, archived and cleaned."""
    assert sum(map(live, range(QUICK_LIVES))) > QUICK_LIVES * STEPS


@pytest.mark.long
@pytest.mark.parametrize(
    "shard",
    [*range(SAMPLED), *(pytest.param(n, marks=pytest.mark.full) for n in range(SAMPLED, SHARDS))],
)
def test_many_undamaged_tables_match_their_commits(shard: int) -> None:
    """The same, with other seeds."""
    size = LIVES // SHARDS
    seeds = range(QUICK_LIVES + shard * size, QUICK_LIVES + (shard + 1) * size)
    assert sum(map(live, seeds)) > size * STEPS
