"""Small tables, and a service over them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from framework.timeline_service.host import Served
from tests.support.scenes import a_document, a_scene, adopt
from tests.support.served_page import WrittenTable, a_file, a_served
from tests.support.sources import ids

FIRST = "20261101000000000"
SECOND = "20261102000000000"


@pytest.fixture
def orders(tmp_path: Path) -> WrittenTable:
    """Three groups, of which the second commit writes one anew."""
    table = WrittenTable(folder=tmp_path / "orders")
    table.name("sales.orders")
    table.commit(FIRST, [a_file(n, FIRST) for n in range(3)], operation="BULK_INSERT")
    table.commit(SECOND, [a_file(1, SECOND, rows=15, size=1700, previous=FIRST)])
    return table


@pytest.fixture
def served(orders: WrittenTable) -> Iterator[Served]:
    """The table `orders`, served by token."""
    with a_served(orders.folder) as found:
        yield found


@pytest.fixture
def adopted(tmp_path: Path) -> Path:
    """A bootstrapped table: `p=1` of skeletons, `p=2` rewritten in full."""
    rules = [{"partition": "p=2", "mode": "full_record", "reason": "still being corrected"}]
    scene = a_scene(
        tmp_path / "adopted",
        {"p=1/a.parquet": ids(1, 2), "p=1/b.parquet": ids(5), "p=2/a.parquet": ids(3, 4)},
        a_document(rules=rules),
    )
    adopt(scene)
    return scene.location
