"""Apache Hudi reads and writes on after materialize and clustering, and services the table."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.engine.reading.table import open_table
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.services.materialize import observe_materialize, run_materialize
from framework.engine.services.source_use import observe_sources
from framework.engine.services.undo import plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.clustering import ClusterRequest
from framework.plan.services.source_use import SourceState
from framework.spark import read_incremental
from framework.vocabulary import KeyScope, PartitionType, RowOrder, TableType, WriteOperation
from tests.interop.cases import CASES, Case
from tests.interop.judge import Judge
from tests.interop.judge_calls import call
from tests.interop.support import adopt_case
from tests.interop.turns import Turns
from tests.interop.upserts import upsert_for, write_batch, writer_options
from tests.support.writing import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

ADOPTED = {"copy_on_write": "hive", "merge_on_read": "merge-on-read"}
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
CLEAN = {
    "hoodie.clean.automatic": "true",
    "hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS",
    "hoodie.cleaner.fileversions.retained": "1",
    "hoodie.cleaner.incremental.mode": "false",
}
CLUSTER = {
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": "1",
    "hoodie.clustering.plan.strategy.sort.columns": "ts",
}


def _clustered(location: Path | str, request: ClusterRequest) -> str:
    """Cluster a table and return the instant."""
    done = run_clustering(observe_clustering(str(location), request), InProcessTasks(2))
    assert done is not None
    return done.instant


def _materialized(location: Path) -> str:
    """Materialize a table and return the instant."""
    done = run_materialize(observe_materialize(str(location)), InProcessTasks(2))
    assert done is not None
    return done.batches[-1].instant


REWRITES: dict[str, Callable[[Path], str]] = {
    "materialize": _materialized,
    "cluster": lambda location: _clustered(location, ClusterRequest()),
}


@pytest.mark.taking_turns
@pytest.mark.parametrize("service", REWRITES)
@pytest.mark.parametrize("kind", ADOPTED)
def test_rewritten_skeletons_are_read_and_written_on_by_the_judge(
    service: str,
    kind: str,
    judge: Judge,
    table_copy: Callable[[Case], Path],
    tmp_path: Path,
) -> None:
    """Over logs of the judge's; it lists our instant, finds nothing new in it, and continues."""
    case = {each.name: each for each in CASES}[ADOPTED[kind]]
    location = table_copy(case)
    columns = tuple(case.schema.names)
    batch = write_batch(case, upsert_for(case, index="SIMPLE"), tmp_path / "batch.parquet")
    options = {**writer_options(case, "SIMPLE"), "hoodie.datasource.write.table.type": kind.upper()}
    judge.upsert(location, batch, options)
    before = judge.rows(location, columns)
    newest = max(str(row[0]) for row in judge.rows(location, ["_hoodie_commit_time"]))
    instant = REWRITES[service](location)
    assert judge.rows(location, columns) == before
    assert instant in str(call(judge, location, "show_commits"))
    since = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": newest,
    }
    assert judge.ask("read", location=str(location), columns=[], options=since)["count"] == 0
    judge.upsert(location, batch, options)
    assert judge.rows(location, columns) == before
    assert not observe_materialize(str(location)).batches


@pytest.mark.taking_turns
@pytest.mark.parametrize("service", REWRITES)
@pytest.mark.parametrize("kind", ADOPTED)
def test_source_is_free_once_the_judge_has_cleaned(
    service: str, kind: str, judge: Judge, tmp_path: Path
) -> None:
    """No source is safe before; then all are, and both go on without any."""
    case = {each.name: each for each in CASES}[ADOPTED[kind]]
    location = adopt_case(case, tmp_path)
    columns = tuple(case.schema.names)
    REWRITES[service](location)
    states = {each.state for each in observe_sources(open_table(str(location)))}
    assert states == {SourceState.OLDER}
    upsert = upsert_for(case, index="SIMPLE")
    batch = write_batch(case, upsert, tmp_path / "batch.parquet")
    options = {**writer_options(case, "SIMPLE"), **CLEAN}
    for _ in range(2):
        options["hoodie.datasource.write.table.type"] = kind.upper()
        judge.upsert(location, batch, options)
    states = {each.state for each in observe_sources(open_table(str(location)))}
    assert states == {SourceState.SAFE}
    rows = judge.rows(location, columns)
    shutil.rmtree(tmp_path / "source")
    assert judge.rows(location, columns) == rows
    judge.upsert(location, batch, options)
    assert judge.rows(location, columns) == rows


@pytest.mark.taking_turns
@pytest.mark.parametrize("kind", list(TableType))
def test_clusterings_of_both_sides_take_turns(
    kind: TableType, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """Over files and logs of both, and both read, list, service and write on after each."""
    lake = Lake(
        folder=tmp_path,
        partition={"day": PartitionType.STRING},
        scope=KeyScope.PARTITION,
        type=kind,
        ordering="ts",
    )
    turns = Turns(lake=lake, judge=judge, spark=spark)
    location = str(turns.location)
    turns.ours(WriteOperation.INSERT, turns.some(range(12)))
    turns.ours(WriteOperation.BULK_INSERT, turns.some(range(20, 26)))
    turns.theirs(turns.some([0, 1, 2, 20, 30]))
    newest = load_timeline(open_storage(location)).completed[-1].requested_time
    merged = _clustered(location, ClusterRequest())
    turns.compare()
    assert read_incremental(spark, location, newest).count() == 0
    assert merged in str(call(judge, turns.location, "show_clustering"))
    turns.theirs(turns.some([0, 3, 21, 31]))
    turns.ours(WriteOperation.UPSERT, turns.some([1, 4, 22, 32]))
    turns.theirs(turns.some([5]), **CLUSTER)
    turns.ours(WriteOperation.DELETE, turns.some([6]))
    by = ClusterRequest(by=("v", "id"), order=RowOrder.Z_ORDER)
    order = _clustered(location, by)
    turns.compare()
    assert order in str(call(judge, turns.location, "show_clustering"))
    run_undo(plan_rollback(location), Action.ROLLBACK)
    turns.compare()
    _clustered(location, by)
    turns.theirs(turns.some([7, 33]), **(COMPACT if kind is TableType.MERGE_ON_READ else CLUSTER))
    turns.ours(WriteOperation.UPSERT, turns.some([7, 8]))
    if kind is TableType.MERGE_ON_READ:
        assert run_compaction(observe_compaction(location), InProcessTasks(2)) is not None
        turns.compare()
    turns.theirs(turns.some([9, 10]))
