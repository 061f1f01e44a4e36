"""Quarantined rows go for good, under the lease, and only those that were meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.engine.quarantine.datasets import drop
from framework.engine.services.drop import Dropping, observe_drop, run_drop
from framework.errors import LeaseHeldError
from framework.hudi.commit.lease import Owner, acquire, current_lease
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.clock import SystemClock
from tests.support.quarantine import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A shop with two data sets."""
    shop = Shop(folder=tmp_path)
    for name, first in (("a", 1), ("b", 11)):
        shop.land(name, {first: 1, first + 1: None})
        shop.run()
    assert len(shop.waiting()) == 2
    return shop


def test_drop_removes_the_chosen_and_no_other(shop: Shop) -> None:
    """The lease is given back, and the rows of the table stay."""
    first, second = shop.waiting()
    assert drop(str(shop.table), [first], SystemClock()) == (first,)
    assert shop.waiting() == (second,)
    assert current_lease(open_storage(str(shop.table))) is None
    assert [each.name for each in (shop.table / ".hoodie" / ".lakestrap").iterdir()] == ["state"]
    assert shop.rows() == {1: 1, 11: 1}


def test_drop_of_rows_deleted_meanwhile_reports_the_rest(shop: Shop) -> None:
    """Another process released or dropped it."""
    first, second = shop.waiting()
    drop(str(shop.table), [first], SystemClock())
    assert drop(str(shop.table), [first, second], SystemClock()) == (second,)
    assert shop.lying() == set()
    assert drop(str(shop.table), [], SystemClock()) == ()


def test_drop_beside_a_run_is_refused(shop: Shop) -> None:
    """It may be a release that reads these very rows."""
    before = shop.waiting()
    acquire(open_storage(str(shop.table)), Owner.here(new_write_id()), SystemClock())
    with pytest.raises(LeaseHeldError):
        drop(str(shop.table), before, SystemClock())
    assert shop.waiting() == before


@pytest.mark.parametrize("going", [0, 2])
def test_quarantined_rows_outlive_a_dropped_table_unless_they_are_to_go(
    shop: Shop, going: int
) -> None:
    """They are beside the table, not in it."""
    run_drop(observe_drop(str(shop.table)), Dropping(quarantined=shop.waiting()[:going]))
    assert not shop.table.exists()
    assert bool(shop.lying()) is (going == 0)
