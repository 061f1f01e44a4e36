"""Compactions that one side plans and the other executes, with delta commits of both between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.engine.services.compaction import (
    observe_compaction,
    observe_pending_compaction,
    run_pending_compaction,
    schedule_compaction,
)
from framework.engine.tasks import InProcessTasks
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.timeline import load_timeline
from framework.vocabulary import KeyScope, PartitionType, TableType, WriteOperation
from tests.interop.cases import CASES, Case
from tests.interop.judge import Judge
from tests.interop.judge_calls import call_printed
from tests.interop.turns import Turns
from tests.interop.upserts import upsert_for, write_batch, writer_options
from tests.support.writing import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.taking_turns]

BESIDE = {"hoodie.compact.inline": "false"}
"""Without it a batch write of Apache Hudi executes every pending compaction."""
AFTER_ONE = "hoodie.compact.inline.max.delta.commits=1"


def plan_by_judge(judge: Judge, location: Path) -> str:
    """Let the judge schedule a compaction; return its instant."""
    call_printed(judge, location, "run_compaction", op="schedule", options=AFTER_ONE)
    (pending,) = load_timeline(open_storage(str(location))).pending
    return pending.requested_time


def execute(location: Path) -> str:
    """Execute the pending compaction ourselves; return its instant."""
    plan = observe_pending_compaction(str(location))
    assert plan is not None
    return run_pending_compaction(plan, InProcessTasks(2)).instant


def plan_by_us(location: Path) -> str:
    """Schedule a compaction ourselves; return its instant."""
    done = schedule_compaction(observe_compaction(str(location)))
    assert done is not None
    return done.instant


@pytest.fixture
def turns(judge: Judge, spark: SparkSession, tmp_path: Path) -> Turns:
    """Return a merge-on-read table with log files of both sides."""
    lake = Lake(
        folder=tmp_path,
        partition={"day": PartitionType.STRING},
        scope=KeyScope.PARTITION,
        type=TableType.MERGE_ON_READ,
        ordering="ts",
    )
    turns = Turns(lake=lake, judge=judge, spark=spark)
    turns.ours(WriteOperation.INSERT, turns.some(range(12)))
    turns.ours(WriteOperation.UPSERT, turns.some([0, 1, 2]))
    turns.theirs(turns.some([1, 3, 5]))
    return turns


def test_plan_of_the_judge_is_executed_by_us_after_delta_commits_of_both(
    judge: Judge, turns: Turns
) -> None:
    """Log files of the new slices are kept, and both read and write on."""
    instant = plan_by_judge(judge, turns.location)
    turns.compare()
    turns.theirs(turns.some([0, 3, 6]), **BESIDE)
    turns.ours(WriteOperation.UPSERT, turns.some([1, 3]))
    turns.ours(WriteOperation.DELETE, turns.some([4]))
    turns.theirs(turns.some([2, 3]), **BESIDE)
    assert execute(turns.location) == instant
    turns.compare()
    assert instant in str(call_printed(judge, turns.location, "show_compaction"))
    turns.theirs(turns.some([0, 4, 7]))
    turns.ours(WriteOperation.UPSERT, turns.some([0, 1, 8]))
    assert plan_by_judge(judge, turns.location) == execute(turns.location)
    turns.compare()


def test_plan_of_ours_is_executed_by_the_judge_after_delta_commits_of_both(
    judge: Judge, turns: Turns
) -> None:
    """The judge lists our plan as pending, executes it, and both read and write on."""
    instant = plan_by_us(turns.location)
    listed = call_printed(judge, turns.location, "show_compaction")
    assert [instant, "REQUESTED"] in [[row[0], row[-1]] for row in listed], listed
    turns.compare()
    turns.ours(WriteOperation.UPSERT, turns.some([0, 3]))
    turns.theirs(turns.some([1, 3, 6]), **BESIDE)
    turns.ours(WriteOperation.DELETE, turns.some([5]))
    call_printed(judge, turns.location, "run_compaction", op="run", timestamp=int(instant))
    assert load_timeline(open_storage(str(turns.location))).pending == ()
    turns.compare()
    turns.ours(WriteOperation.UPSERT, turns.some([0, 5, 9]))
    turns.theirs(turns.some([0, 2]))


def test_plan_over_skeletons_is_executed_by_the_other_side(
    judge: Judge, table_copy: Callable[[Case], Path], tmp_path: Path
) -> None:
    """The judge plans and we execute, then we plan and the judge executes."""
    case = {each.name: each for each in CASES}["merge-on-read"]
    location = table_copy(case)
    batch = write_batch(case, upsert_for(case, index="SIMPLE"), tmp_path / "batch.parquet")
    options = {
        **writer_options(case, "SIMPLE"),
        "hoodie.datasource.write.table.type": case.table_type.upper(),
        **BESIDE,
    }
    judge.upsert(location, batch, options)
    columns = tuple(case.schema.names)
    before = judge.rows(location, columns)
    instant = plan_by_judge(judge, location)
    judge.upsert(location, batch, options)
    plan = observe_pending_compaction(str(location))
    assert plan is not None
    assert any(each.bootstrap for each in plan.slices)
    assert execute(location) == instant
    assert judge.rows(location, columns) == before
    planned = plan_by_us(location)
    judge.upsert(location, batch, options)
    call_printed(judge, location, "run_compaction", op="run", timestamp=int(planned))
    assert judge.rows(location, columns) == before
    judge.upsert(location, batch, options)
    assert judge.rows(location, columns) == before
