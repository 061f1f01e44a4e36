"""A view that follows a table on which the real table services work answers as a listing does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from framework.hudi.view.stores.embedded_kv import EmbeddedKvStore
from framework.hudi.view.stores.port import GroupStore, MemoryStore
from framework.hudi.view.stores.spillable import SpillableStore
from framework.vocabulary import KeyScope, TableType
from tests.support.life_follower import Sightings
from tests.support.lives import Lives
from tests.support.load_model import Setting

pytestmark = [pytest.mark.property, pytest.mark.long]

COMPLETED = ("clean", "commit", "deltacommit", "replacecommit", "restore", "rollback", "savepoint")
PENDING = "compaction"
MERGED = Setting(
    kind=TableType.MERGE_ON_READ, scope=KeyScope.PARTITION, partitioned=True, automatic=False
)
SERVICES = (
    *("schedule", "load", "savepoint", "execute", "load", "cluster linear", "roll back"),
    *("load", "compact", "drop savepoint", "restore", "clean versions", "archive"),
    *("maintain shortly", "die and recover", "drop", "load"),
)
SMALL_BYTES = 1_500
KV_BYTES = 1 << 18
LONG = 12


def in_memory(_: Path) -> Callable[[], GroupStore]:
    """Return a maker of stores in memory."""
    return MemoryStore


def in_bounded_memory(_: Path) -> Callable[[], GroupStore]:
    """Return a maker of stores that evict most of what was listed."""
    return partial(MemoryStore, SMALL_BYTES)


def in_a_file(folder: Path) -> Callable[[], GroupStore]:
    """Return a maker of stores that are mostly in a file."""
    number = count()

    def make() -> SpillableStore:
        """Return a store in a folder of its own."""
        mine = folder / f"file{next(number)}"
        mine.mkdir()
        return SpillableStore(SMALL_BYTES, str(mine))

    return make


def in_rocksdb(folder: Path) -> Callable[[], GroupStore]:
    """Return a maker of stores in RocksDB."""
    number = count()

    def make() -> EmbeddedKvStore:
        """Return a store in a folder of its own."""
        mine = folder / f"kv{next(number)}"
        mine.mkdir()
        return EmbeddedKvStore(KV_BYTES, str(mine))

    return make


KINDS = (in_memory, in_bounded_memory, in_a_file, in_rocksdb)


@pytest.mark.parametrize("kind", KINDS)
def test_view_that_follows_each_service_answers_as_a_listing_does(
    kind: Callable[[Path], Callable[[], GroupStore]], tmp_path: Path
) -> None:
    """After each instant of each service, pending and completed, and after a drop."""
    seen = Sightings(make_store=kind(tmp_path), checkpoint=tmp_path / "view")
    lives = Lives(folder=tmp_path, sightings=seen)
    lives.live_through(1, MERGED, SERVICES)
    assert {*SERVICES} <= lives.done.keys()
    check_all_seen(seen)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", KINDS)
def test_views_that_follow_services_in_many_orders_answer_as_a_listing_does(
    kind: Callable[[Path], Callable[[], GroupStore]], tmp_path: Path
) -> None:
    """Random lives, also after reopening from an older checkpoint."""
    seen = Sightings(make_store=kind(tmp_path), checkpoint=tmp_path / "view")
    lives = Lives(folder=tmp_path, sightings=seen)
    for seed in range(LONG):
        lives.live(10_000 + seed)
    check_all_seen(seen)
    assert seen.reopened > LONG


def check_all_seen(seen: Sightings) -> None:
    """Every kind of instant that services make was on a followed timeline."""
    missing = [each for each in COMPLETED if not seen.instants[each, True]]
    assert not missing
    assert seen.instants[PENDING, False]
    assert seen.compared > 0
    assert seen.reopened > 0
