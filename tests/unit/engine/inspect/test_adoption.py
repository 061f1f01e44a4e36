"""Source files whose groups a clean deleted are still part of the table for `status`."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.engine.inspect.status import table_status
from framework.engine.services.archival import observe_archival, run_archival
from framework.engine.services.clean import observe_clean, run_clean
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.tasks import InProcessTasks
from framework.hudi.storage.local import LocalStorage
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.archival import ArchivalLimits
from framework.plan.services.clean import CleanPolicy
from framework.plan.services.clustering import ClusterRequest
from tests.support.orders import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Return a table with one partition of each mode, clustered and cleaned."""
    shop = Shop(tmp_path, "copy_on_write", adopts=True)
    rules = [{"partition": "day=d2", "mode": "full_record"}]
    shop.document["bootstrap"]["rules"] = rules
    shop.run()
    shop.lands("1", ("d1-1", "d1", 1), ("d2-1", "d2", 1))
    run_clustering(
        observe_clustering(str(shop.location), ClusterRequest(by=("id",))), InProcessTasks(1)
    )
    run_clean(observe_clean(str(shop.location), CleanPolicy(keep_versions=1)))
    return shop


def grown(shop: Shop) -> list[str]:
    """Return the dangers of the table."""
    return [each.condition for each in table_status(str(shop.location)).dangers]


def test_files_of_cleaned_groups_are_not_new(shop: Shop) -> None:
    """Nor missing, once they are deleted; a file that is new is reported."""
    assert grown(shop) == []
    (shop.folder / "source/day=d2/a.parquet").unlink()
    assert grown(shop) == []
    shop.comes_to_source("day=d2/b.parquet", ("d2-9", "d2", 9))
    assert grown(shop) == ["source/grown"]


def test_files_of_cleaned_groups_are_not_new_once_the_bootstrap_is_archived(shop: Shop) -> None:
    """Its archived record names the groups too."""
    for number in range(4):
        shop.lands(f"more-{number}", ("d1-1", "d1", number))
    run_clean(observe_clean(str(shop.location), CleanPolicy(keep_commits=1)))
    limits = ArchivalLimits(keep_min=2, keep_max=3)
    run_archival(observe_archival(str(shop.location), limits))
    assert not load_timeline(LocalStorage(str(shop.location))).find("00000000000001")
    assert grown(shop) == []
    shop.comes_to_source("day=d1/b.parquet", ("d1-9", "d1", 9))
    assert grown(shop) == ["source/grown"]
