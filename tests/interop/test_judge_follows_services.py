"""Rollbacks, savepoints and restores of ours and of Apache Hudi take turns on one table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.engine.services.compaction import observe_compaction, run_compaction
from framework.engine.services.savepoint import create_savepoint, delete_savepoint, savepoints
from framework.engine.services.undo import plan_restore, plan_rollback, run_undo
from framework.engine.tasks import InProcessTasks
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.vocabulary import KeyScope, PartitionType, TableType, WriteOperation
from tests.interop.cases import CASES, Case
from tests.interop.judge import Judge
from tests.interop.judge_calls import call
from tests.interop.turns import Turns
from tests.interop.upserts import upsert_for, write_batch, writer_options
from tests.support.writing import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}


@pytest.mark.taking_turns
@pytest.mark.parametrize("kind", list(TableType))
def test_rollbacks_and_restores_of_both_sides_take_turns(
    kind: TableType, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """Both read the same rows after each, the judge lists ours, and each writes on."""
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
    kept = dict(turns.rows)
    turns.ours(WriteOperation.UPSERT, turns.some([0, 1, 20]))
    ours = run_undo(plan_rollback(location), Action.ROLLBACK)
    turns.rows = dict(kept)
    turns.compare()
    assert ours in str(call(judge, turns.location, "show_rollbacks"))
    turns.theirs(turns.some([2, 3, 21]))
    held = dict(turns.rows)
    savepoint = create_savepoint(location, comment="judged").instant
    assert savepoint in str(call(judge, turns.location, "show_savepoints"))
    turns.ours(WriteOperation.UPSERT, turns.some([2, 4, 22]))
    turns.ours(WriteOperation.DELETE, turns.some([5]))
    run_undo(plan_restore(location, savepoint), Action.RESTORE)
    turns.rows = dict(held)
    turns.compare()
    turns.theirs(turns.some([6, 23]))
    turns.ours(WriteOperation.UPSERT, turns.some([7, 24]))
    call(judge, turns.location, "rollback_to_savepoint", instant_time=savepoint)
    turns.rows = dict(held)
    turns.compare()
    delete_savepoint(location, savepoint)
    assert savepoints(load_timeline(open_storage(location))) == ()
    turns.ours(WriteOperation.UPSERT, turns.some([8, 25]))
    turns.theirs(turns.some([8, 26]))


@pytest.mark.taking_turns
@pytest.mark.parametrize("scope", [KeyScope.PARTITION, KeyScope.TABLE])
def test_compactions_of_both_sides_take_turns(
    scope: KeyScope, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """Over logs of both, and both read, list and write on after each."""
    lake = Lake(
        folder=tmp_path,
        partition={"day": PartitionType.STRING},
        scope=scope,
        type=TableType.MERGE_ON_READ,
        ordering="ts",
    )
    turns = Turns(lake=lake, judge=judge, spark=spark)
    location = str(turns.location)
    turns.ours(WriteOperation.INSERT, turns.some(range(12)))
    for _ in range(2):
        turns.ours(WriteOperation.UPSERT, turns.some([0, 1, 2]))
        turns.theirs(turns.some([1, 3, 5]))
        turns.ours(WriteOperation.DELETE, turns.some([4]))
        plan = observe_compaction(location)
        assert plan.logs > 2
        done = run_compaction(plan, InProcessTasks(2))
        assert done is not None
        turns.compare()
        assert done.instant in str(call(judge, turns.location, "show_compaction"))
        turns.theirs(turns.some([0, 4, 6]))
        turns.ours(WriteOperation.UPSERT, turns.some([7, 4]))
        turns.theirs(turns.some([8]), **COMPACT)


@pytest.mark.taking_turns
def test_compaction_of_skeletons_is_read_and_written_on_by_the_judge(
    judge: Judge, table_copy: Callable[[Case], Path], tmp_path: Path
) -> None:
    """A slice of skeleton, source and logs becomes an ordinary base file."""
    case = {each.name: each for each in CASES}["merge-on-read"]
    location = table_copy(case)
    upsert = upsert_for(case, index="SIMPLE")
    batch = write_batch(case, upsert, tmp_path / "batch.parquet")
    options = {
        **writer_options(case, "SIMPLE"),
        "hoodie.datasource.write.table.type": case.table_type.upper(),
    }
    judge.upsert(location, batch, options)
    columns = tuple(case.schema.names)
    before = judge.rows(location, columns)
    plan = observe_compaction(str(location))
    assert any(each.bootstrap for each in plan.slices)
    assert run_compaction(plan, InProcessTasks(2)) is not None
    assert judge.rows(location, columns) == before
    judge.upsert(location, batch, options)
    assert judge.rows(location, columns) == before
