"""Table services on Spark: the same tasks, the same files of rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.services.materialize import observe_materialize, run_materialize
from framework.engine.tasks import InProcessTasks
from framework.plan.services.clustering import ClusterRequest
from framework.spark.tasks import SparkTasks
from tests.support.commands import run_pipeline
from tests.support.orders import Shop
from tests.support.writing import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FILE_NAME = "_hoodie_file_name"


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Return a merge-on-read table of skeletons with log files."""
    shop = Shop(tmp_path, "merge_on_read", adopts=True)
    shop.run()
    shop.lands("one", ("d1-1", "d1", 1), ("d2-1", "d2", 1))
    return shop


def all_rows(shop: Shop) -> list[dict[str, object]]:
    """Return the rows with all meta columns but the names of files, by key."""
    rows = rows_of(str(shop.location))
    kept = [{name: row[name] for name in row if name != FILE_NAME} for row in rows]
    return sorted(kept, key=lambda row: str(row["_hoodie_record_key"]))


def test_compaction_on_spark_writes_what_one_in_process_writes(
    spark: SparkSession, shop: Shop, tmp_path: Path
) -> None:
    """Rows and meta columns are equal, and so are the numbers of files and rows."""
    other = shop.copied(tmp_path / "copy")
    before = all_rows(shop)
    ours = run_compaction(observe_compaction(str(shop.location)), InProcessTasks(2))
    theirs = run_compaction(observe_compaction(str(other.location)), SparkTasks(spark))
    assert ours is not None
    assert theirs is not None
    assert (theirs.files, theirs.rows) == (ours.files, ours.rows) == (2, 2)
    assert all_rows(other) == all_rows(shop) == before


def test_clustering_on_spark_writes_what_one_in_process_writes(
    spark: SparkSession, shop: Shop, tmp_path: Path
) -> None:
    """Skeletons with log files become new groups, with equal rows."""
    other = shop.copied(tmp_path / "copy")
    before, request = all_rows(shop), ClusterRequest(by=("id",))
    ours = run_clustering(observe_clustering(str(shop.location), request), InProcessTasks(2))
    theirs = run_clustering(observe_clustering(str(other.location), request), SparkTasks(spark))
    assert ours is not None
    assert theirs is not None
    assert (theirs.files, theirs.rows) == (ours.files, ours.rows) == (2, 2)
    assert all_rows(other) == all_rows(shop) == before


def test_materialize_on_spark_writes_what_one_in_process_writes(
    spark: SparkSession, shop: Shop, tmp_path: Path
) -> None:
    """No skeleton is left on either side."""
    other = shop.copied(tmp_path / "copy")
    before = all_rows(shop)
    ours = run_materialize(observe_materialize(str(shop.location)), InProcessTasks(2))
    theirs = run_materialize(observe_materialize(str(other.location)), SparkTasks(spark))
    assert ours is not None
    assert theirs is not None
    assert (theirs.files, theirs.rows) == (ours.files, ours.rows) == (2, 2)
    assert observe_materialize(str(other.location)).slices == ()
    assert all_rows(other) == all_rows(shop) == before


@pytest.mark.parametrize(
    "options", [("cluster", "--by", "id"), pytest.param(("materialize",), marks=pytest.mark.full)]
)
def test_rewriting_command_with_a_master_writes_all_rows(
    shop: Shop, options: tuple[str, ...]
) -> None:
    """The session is started and stopped; rows are as before."""
    before = all_rows(shop)
    done = run_pipeline(
        *options,
        shop.location,
        *("--format", "json", "--master", "local[2]", "--conf", "spark.ui.enabled=false"),
    )
    assert done.code == 0, done.err
    document = json.loads(done.out.splitlines()[-1])
    assert (document["files"], document["rows"]) == (2, 2)
    assert all_rows(shop) == before


def test_compact_command_with_a_master_starts_and_stops_a_session(shop: Shop) -> None:
    """The result is as without Spark."""
    done = run_pipeline(
        *("compact", shop.location, "--format", "json"),
        *("--master", "local[2]", "--conf", "spark.ui.enabled=false"),
    )
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert (document["files"], document["rows"]) == (2, 2)
    assert observe_compaction(str(shop.location)).slices == ()
