"""Random lives of tables, with loads and every table service, beside a dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from framework.vocabulary import KeyScope, TableType
from tests.support.lives import ACTIONS, Lives
from tests.support.load_model import Setting

pytestmark = pytest.mark.property

PENDING = ("schedule", "execute", "compact", "schedule", "retry")
UNDONE = (
    *("savepoint", "roll back", "load an undone run again", "load", "restore to savepoint"),
    *("drop savepoint", "restore", "load a published run"),
)
REWRITTEN = ("cluster small", "clean versions", "cluster linear", "cluster z-order", "clean hours")
KEPT = (
    *("materialize", "load", "clean commits", "die and recover", "archive", "restore too far"),
    *("fsck", "maintain by default", "maintain shortly", "drop"),
)
QUICK = 3
LONG = 60
FULL = 240
SHARDS = 8


def setting_of(kind: TableType, *, automatic: bool = False) -> Setting:
    """Return a partitioned table whose keys are unique within their partition."""
    return Setting(kind=kind, scope=KeyScope.PARTITION, partitioned=True, automatic=automatic)


MERGED = setting_of(TableType.MERGE_ON_READ)
COPIED = setting_of(TableType.COPY_ON_WRITE)
COUNTED = setting_of(TableType.MERGE_ON_READ, automatic=True)


@pytest.mark.parametrize(
    ("setting", "names"),
    [(MERGED, PENDING), (COUNTED, UNDONE), (MERGED, REWRITTEN), (COPIED, KEPT)],
    ids=["pending", "undone", "rewritten", "kept"],
)
def test_each_service_leaves_the_rows_that_a_dictionary_holds(
    setting: Setting, names: Sequence[str], tmp_path: Path
) -> None:
    """In an order in which each can be done, also for a view that is kept."""
    lives = Lives(folder=tmp_path)
    lives.live_through(1, setting, names)
    assert set(names) <= lives.done.keys()


def test_every_action_is_in_one_of_these_lives() -> None:
    """None is left out."""
    done = {*PENDING, *UNDONE, *REWRITTEN, *KEPT}
    assert done == ACTIONS.keys()


def test_services_in_any_order_leave_the_rows_that_a_dictionary_holds(tmp_path: Path) -> None:
    """A few random lives of every kind of table."""
    lives = Lives(folder=tmp_path)
    for seed in range(QUICK):
        lives.live(seed)
    assert lives.done.total() >= QUICK * lives.length / 2


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_services_in_many_orders_leave_the_rows_that_a_dictionary_holds(tmp_path: Path) -> None:
    """Every action happens, and refusals of undoing what later states need."""
    live_all(Lives(folder=tmp_path), range(QUICK, QUICK + LONG))


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_services_in_thousands_of_orders_leave_the_rows_that_a_dictionary_holds(
    tmp_path: Path, shard: int
) -> None:
    """Longer lives as well."""
    lives = Lives(folder=tmp_path, length=14 + 3 * shard)
    live_all(lives, range(1000 * (shard + 1), 1000 * (shard + 1) + FULL))


def live_all(lives: Lives, seeds: range) -> None:
    """Play all, and see that everything happened."""
    for seed in seeds:
        lives.live(seed)
    assert not {*ACTIONS, "adopt"} - lives.done.keys()
    assert {"rollback/savepointed", "rollback/compaction-pending", "rollback/cleaned"} <= (
        lives.refusals.keys()
    )
