"""Apache Hudi rolls back what a dead load of ours left in a table, and no row of it ever shows."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from framework.engine import runner
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.vocabulary import KeyScope, TableType, WriteOperation
from tests.interop.judge import Judge
from tests.interop.printed import printed_options
from tests.interop.turns import SCHEMA, Row, Turns
from tests.support.fault_storage import FaultStorage
from tests.support.writing import Lake, load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

FORK = multiprocessing.get_context("fork")
DEAD = 9
COMPLETED = (".commit", ".deltacommit", ".replacecommit")


@pytest.mark.taking_turns
@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        (TableType.COPY_ON_WRITE, WriteOperation.UPSERT),
        (TableType.MERGE_ON_READ, WriteOperation.UPSERT),
        pytest.param(
            TableType.COPY_ON_WRITE, WriteOperation.INSERT_OVERWRITE, marks=pytest.mark.full
        ),
        pytest.param(TableType.MERGE_ON_READ, WriteOperation.DELETE, marks=pytest.mark.full),
    ],
)
def test_next_write_by_the_judge_removes_a_dead_load(
    kind: TableType, operation: WriteOperation, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """A load dies just before it publishes; both read what was there, and then what is written."""
    lake = Lake(folder=tmp_path, scope=KeyScope.PARTITION, type=kind, ordering="ts")
    turns = Turns(lake=lake, judge=judge, spark=spark)
    turns.ours(WriteOperation.INSERT, turns.some(range(12)))
    turns.ours(WriteOperation.UPSERT, turns.some([0, 1]))
    known = dict(turns.rows)
    before = files(turns.location)
    die_before_publishing(lake, operation, turns.some([0, 3, 4, 40]))
    left = files(turns.location) - before
    assert [path for path in left if not path.startswith(".hoodie")], "the load left no file"
    turns.rows = known
    turns.compare()
    turns.under(printed_options(turns.location), turns.some([2, 50]))
    turns.compare()
    turns.ours(WriteOperation.UPSERT, turns.some([0, 3, 50]))
    gone = {path for path in left if path.endswith(".parquet")}
    assert not gone & files(turns.location)


def die_before_publishing(lake: Lake, operation: WriteOperation, rows: list[Row]) -> None:
    """Load in a process that dies at the last step at which nothing is published."""
    table, kept = lake.folder / "table", lake.folder / "kept"
    shutil.copytree(table, kept)
    steps = _steps(lake, operation, rows)
    for at in range(steps, 0, -1):
        shutil.rmtree(table)
        shutil.copytree(kept, table)
        known = completed(table)
        process = FORK.Process(target=_load_and_die, args=(lake, operation, rows, at))
        process.start()
        process.join()
        assert process.exitcode == DEAD
        if completed(table) == known:
            return
    raise AssertionError("every step was after the commit")


def _steps(lake: Lake, operation: WriteOperation, rows: list[Row]) -> int:
    """Return how many steps the load has, and leave it done."""
    counted: list[FaultStorage] = []
    original: Any = vars(runner)["open_storage"]

    def opening(location: str) -> Storage:
        counted.append(FaultStorage(open_storage(location)))
        return counted[-1]

    runner.open_storage = opening  # type: ignore[attr-defined]  # what the run opens
    try:
        load(lake, operation, pa.Table.from_pylist(rows, SCHEMA))
    finally:
        runner.open_storage = original  # type: ignore[attr-defined]
    return counted[0].steps


def _load_and_die(lake: Lake, operation: WriteOperation, rows: list[Row], at: int) -> None:
    """Load, and die before a step."""

    def die(step: int) -> None:
        if step == at:
            os._exit(DEAD)

    def opening(location: str) -> Storage:
        return FaultStorage(open_storage(location), hook=die)

    runner.open_storage = opening  # type: ignore[attr-defined]  # what the run opens
    load(lake, operation, pa.Table.from_pylist(rows, SCHEMA))


def completed(table: Path) -> set[str]:
    """Return the completed instants."""
    return {path.name for path in (table / ".hoodie").iterdir() if path.name.endswith(COMPLETED)}


def files(table: Path) -> set[str]:
    """Return every file of a table."""
    return {str(path.relative_to(table)) for path in table.rglob("*") if path.is_file()}
