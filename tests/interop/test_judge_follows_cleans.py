"""Cleans of ours and of Apache Hudi take turns on one table."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.engine.services.clean import observe_clean, run_clean
from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.services.relocation import observe_relocation, run_relocation
from framework.engine.tasks import InProcessTasks
from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.instant import DATA_ACTIONS, Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.clean import CleanPolicy
from framework.spark import read
from framework.vocabulary import KeyScope, PartitionType, TableType, WriteOperation
from tests.interop.cases import CASES, Case
from tests.interop.judge import Judge
from tests.interop.judge_calls import call
from tests.interop.turns import Turns
from tests.interop.upserts import upsert_for, write_batch, writer_options
from tests.support.storage_suite import tree
from tests.support.writing import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

WITHOUT_SHOW_CLEANS = "0.15.0"

CLEAN_SOON = {
    "hoodie.clean.automatic": "true",
    "hoodie.clean.async": "false",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.commits.retained": "1",
}
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}


def cleaned(turns: Turns, policy: CleanPolicy) -> str:
    """Clean the table ourselves, and return the instant; each planned file was there."""
    location = str(turns.location)
    if turns.lake.type is TableType.MERGE_ON_READ:
        run_compaction(observe_compaction(location), InProcessTasks(2))
    plan = observe_clean(location, policy)
    assert plan.files
    assert plan.listed == ()
    assert all((turns.location / each.path).exists() for each in plan.files)
    done = run_clean(plan)
    assert done is not None
    return done.instant


def data_instants(turns: Turns) -> list[str]:
    """Return the requested times of completed instants of data."""
    done = load_timeline(open_storage(str(turns.location))).completed
    return [each.requested_time for each in done if each.action in DATA_ACTIONS]


@pytest.mark.taking_turns
@pytest.mark.parametrize("kind", list(TableType))
def test_cleans_of_both_sides_take_turns(
    kind: TableType, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """Both read the same rows after each, the judge lists ours, and each writes and cleans on."""
    lake = Lake(
        folder=tmp_path,
        partition={"day": PartitionType.STRING},
        scope=KeyScope.PARTITION,
        type=kind,
        ordering="ts",
    )
    turns = Turns(lake=lake, judge=judge, spark=spark)
    clean_soon = CLEAN_SOON | (COMPACT if kind is TableType.MERGE_ON_READ else {})
    turns.ours(WriteOperation.INSERT, turns.some(range(12)))
    turns.ours(WriteOperation.UPSERT, turns.some([0, 1, 20]))
    turns.theirs(turns.some([0, 2, 21]))
    turns.ours(WriteOperation.INSERT_OVERWRITE, turns.some([2, 5]))
    turns.ours(WriteOperation.UPSERT, turns.some([0, 1, 2]))
    kept = data_instants(turns)[-1]
    before = read(spark, turns.location, as_of=kept).count()
    ours = cleaned(turns, CleanPolicy(keep_commits=2))
    turns.compare()
    assert read(spark, turns.location, as_of=kept).count() == before
    if judge.version != WITHOUT_SHOW_CLEANS:
        assert ours in str(call(judge, turns.location, "show_cleans"))
    for number in range(3):
        turns.theirs(turns.some([0, 1, 2, 30 + number]), **clean_soon)
    cleans = [
        each.requested_time
        for each in load_timeline(open_storage(str(turns.location))).completed
        if each.action is Action.CLEAN
    ]
    assert cleans[-1] > ours, "the judge has not cleaned"
    turns.ours(WriteOperation.UPSERT, turns.some([0, 1, 2, 40]))
    turns.ours(WriteOperation.DELETE, turns.some([3]))
    cleaned(turns, CleanPolicy(keep_versions=1))
    turns.compare()
    turns.theirs(turns.some([0, 1, 2, 50]), **clean_soon)
    turns.ours(WriteOperation.UPSERT, turns.some([4, 51]))


@pytest.mark.taking_turns
@pytest.mark.parametrize("name", ["hive", "merge-on-read"])
def test_clean_of_skeletons_is_read_and_written_on_by_the_judge(
    name: str, judge: Judge, table_copy: Callable[[Case], Path], tmp_path: Path
) -> None:
    """The source stays as it is, and the index without the deleted skeletons is read."""
    case = {each.name: each for each in CASES}[name]
    location = table_copy(case)
    upsert = upsert_for(case, index="SIMPLE")
    batch = write_batch(case, upsert, tmp_path / "batch.parquet")
    options = {
        **writer_options(case, "SIMPLE"),
        "hoodie.datasource.write.table.type": case.table_type.upper(),
    }
    columns = tuple(case.schema.names)
    judge.upsert(location, batch, options)
    before = judge.rows(location, columns)
    if case.table_type == TableType.MERGE_ON_READ:
        run_compaction(observe_compaction(str(location)), InProcessTasks(2))
    plan = observe_clean(str(location), CleanPolicy(keep_versions=1))
    assert plan.sources
    folder = plan.sources[0].removeprefix("file://").rpartition("/")[0]
    source = tree(LocalStorage(folder))
    listed = indexed(location)
    assert run_clean(plan) is not None
    assert 0 < len(indexed(location)) < len(listed)
    assert judge.rows(location, columns) == before
    judge.upsert(location, batch, {**options, **CLEAN_SOON})
    assert judge.rows(location, columns) == before
    assert tree(LocalStorage(folder)) == source


@pytest.mark.taking_turns
@pytest.mark.parametrize("name", ["hive", "merge-on-read"])
def test_relocated_source_is_read_and_written_on_by_the_judge(
    name: str, judge: Judge, table_copy: Callable[[Case], Path], tmp_path: Path
) -> None:
    """While nothing is at the old location."""
    case = {each.name: each for each in CASES}[name]
    location = table_copy(case)
    columns = tuple(case.schema.names)
    before = judge.rows(location, columns)
    index = BootstrapIndex.open(LocalStorage(str(location)))
    assert index is not None
    with index:
        old = Path(index.base_uri.removeprefix("file://"))
    new = tmp_path / "elsewhere"
    shutil.copytree(old, new)
    plan = observe_relocation(str(location), str(new), InProcessTasks(2))
    assert run_relocation(plan, InProcessTasks(2)) is not None
    upsert = upsert_for(case, index="SIMPLE")
    batch = write_batch(case, upsert, tmp_path / "batch.parquet")
    options = {
        **writer_options(case, "SIMPLE"),
        "hoodie.datasource.write.table.type": case.table_type.upper(),
    }
    away = old.rename(old.with_name(f"{old.name}-away"))
    try:
        assert judge.rows(location, columns) == before
        judge.upsert(location, batch, options)
        assert len(judge.rows(location, columns)) >= len(before)
    finally:
        away.rename(old)


def indexed(location: Path) -> list[str]:
    """Return the source files that the bootstrap index names."""
    index = BootstrapIndex.open(LocalStorage(str(location)))
    assert index is not None
    with index:
        return [each.uri for path in index.partitions() for each in index.mappings(path).values()]
