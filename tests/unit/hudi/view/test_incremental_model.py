"""Whatever happens to a table, the view that follows it answers as a listing does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from framework.hudi.view.stores.embedded_kv import EmbeddedKvStore
from framework.hudi.view.stores.port import MemoryStore
from framework.hudi.view.stores.spillable import SpillableStore
from tests.support.view_model import ACTIONS, Lab

pytestmark = pytest.mark.long

PLAYS = 10_000
SHARDS = 20
SAMPLED = 6
"""Shards that run in CI."""
QUICK_PLAYS = 200
STORE_PLAYS = 200
MANY_STORE_PLAYS = 400
QUICK_STORE_PLAYS = 20
SMALL_BYTES = 1_500
KV_BYTES = 1 << 18


def in_memory(folder: Path) -> Lab:
    """Return plays of views whose groups are in memory."""
    return Lab(checkpoint=folder / "view")


def in_bounded_memory(folder: Path) -> Lab:
    """Return plays of views that forget most of what they listed."""
    make_store = partial(MemoryStore, SMALL_BYTES)
    return Lab(make_store=make_store, forgets=True, checkpoint=folder / "view")


def in_a_file(folder: Path) -> Lab:
    """Return plays of views whose groups are mostly in a file."""
    number = count()

    def make_store() -> SpillableStore:
        """Return a store in a folder of its own."""
        mine = folder / f"file{next(number)}"
        mine.mkdir()
        return SpillableStore(SMALL_BYTES, str(mine))

    return Lab(make_store=make_store, checkpoint=folder / "view")


def in_rocksdb(folder: Path) -> Lab:
    """Return plays of views whose groups are in RocksDB."""
    number = count()

    def make_store() -> EmbeddedKvStore:
        """Return a store in a folder of its own."""
        mine = folder / f"kv{next(number)}"
        mine.mkdir()
        return EmbeddedKvStore(KV_BYTES, str(mine))

    return Lab(make_store=make_store, checkpoint=folder / "view")


KINDS = (in_memory, in_bounded_memory, in_a_file, in_rocksdb)


def play_all(lab: Lab, seeds: range) -> None:
    """Play all, and see that everything happened, and that views rarely had to begin anew."""
    for seed in seeds:
        lab.play(seed)
    missing = {name for name in ACTIONS if not lab.done[name]}
    assert not missing
    assert lab.disturbed < lab.plays / 2


def test_view_that_follows_a_table_answers_as_a_listing_does() -> None:
    """After each of some random lives, to questions of every kind."""
    play_all(Lab(), range(QUICK_PLAYS))


@pytest.mark.parametrize(
    "shard",
    [*range(SAMPLED), *(pytest.param(n, marks=pytest.mark.full) for n in range(SAMPLED, SHARDS))],
)
def test_view_that_follows_many_tables_answers_as_a_listing_does(shard: int) -> None:
    """After each of very many random lives, to questions of every kind."""
    size = PLAYS // SHARDS
    play_all(Lab(), range(QUICK_PLAYS + shard * size, QUICK_PLAYS + (shard + 1) * size))


@pytest.mark.parametrize("kind", KINDS)
def test_view_over_any_store_that_is_opened_again_answers_as_a_listing_does(
    kind: Callable[[Path], Lab], tmp_path: Path
) -> None:
    """For every store, also after reopening from an older checkpoint."""
    lab = kind(tmp_path)
    for seed in range(QUICK_STORE_PLAYS):
        lab.play(seed)
    assert lab.reopened > 0


@pytest.mark.parametrize(
    "plays", [STORE_PLAYS, pytest.param(MANY_STORE_PLAYS, marks=pytest.mark.full)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_views_over_any_store_that_are_opened_again_answer_as_a_listing_does(
    kind: Callable[[Path], Lab], tmp_path: Path, plays: int
) -> None:
    """After each of very many random lives."""
    lab = kind(tmp_path)
    play_all(lab, range(plays))
    assert lab.reopened > plays / 5
