"""Workers that are lost in the middle of loads: no row is lost, none comes twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from framework.engine.load import tag
from framework.engine.tasks import Tasks
from framework.errors import TaskError
from framework.hudi.storage.locations import open_storage
from framework.spark.tasks import SparkTasks
from framework.vocabulary import KeyScope, TableType, WriteOperation
from tests.spark.faults.unreported import LosingTasks
from tests.support.storage_suite import tree
from tests.support.writing import Lake, load, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = 60
TASKS = {
    *("new_files_task", "incoming_task", "gather_task", "tag_task", "classify_task"),
    *("compare_task", "group_task"),
}


@pytest.fixture(autouse=True)
def everything_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run on Spark what is otherwise done in the driver for so few rows."""
    monkeypatch.setattr(tag, "_NEAR_ROWS", 0)


def orders(first: int, count: int, day: str, ts: int) -> list[dict[str, Any]]:
    """Return rows."""
    return [{"id": n, "day": day, "ts": ts, "v": f"{n}.{ts}"} for n in range(first, first + count)]


LOADS = (
    (WriteOperation.INSERT, [orders(0, ROWS, "a", 1), orders(ROWS, ROWS, "b", 1)]),
    (WriteOperation.UPSERT, [orders(30, ROWS, "c", 2), orders(200, 5, "a", 2)]),
    (WriteOperation.DELETE, [orders(0, 7, "a", 3), orders(100, 3, "b", 3)]),
)


def play(lake: Lake, tasks: Tasks | None = None) -> list[dict[str, Any]]:
    """Load all into a table and return its rows, without table-specific columns."""
    for operation, parts in LOADS:
        account: Any = load(lake, operation, *parts, tasks=tasks).proof["account"]
        assert account["input"] == sum(map(len, parts))
    own = ("id", "day", "ts", "v", "_hoodie_record_key", "_hoodie_partition_path")
    return sorted(
        ({name: row[name] for name in own} for row in rows_of(lake.location)),
        key=lambda row: int(row["id"]),
    )


def a_lake(folder: Path, kind: TableType) -> Lake:
    """Return a table whose keys are unique in all of it."""
    folder.mkdir()
    return Lake(folder=folder, scope=KeyScope.TABLE, type=kind, ordering="ts")


@pytest.mark.parametrize(
    "kind", [TableType.MERGE_ON_READ, pytest.param(TableType.COPY_ON_WRITE, marks=pytest.mark.full)]
)
def test_attempts_that_die_unreported_leave_the_rows_of_their_second_attempts_alone(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    """Each task of each stage of each load is lost once; the table is as if none had been."""
    witness = tmp_path / "witness"
    witness.mkdir()
    lost = LosingTasks(SparkTasks(spark), witness)
    lake = a_lake(tmp_path / "faulty", kind)
    rows = play(lake, lost)
    assert rows == play(a_lake(tmp_path / "sound", kind))
    assert lost.lost.keys() == TASKS
    assert lost.lost["incoming_task"] >= len(LOADS) - 1
    assert not [path for path in tree(open_storage(lake.location)) if "staging" in path]


class _Refusing:
    """Tasks of which each one of a kind fails at every attempt."""

    def __init__(self, inner: Tasks, name: str) -> None:
        self._inner = inner
        self._name = name

    @property
    def parallelism(self) -> int:
        """As of the tasks inside."""
        return self._inner.parallelism

    def run(self, work: Any, descriptors: Sequence[str]) -> Iterator[str]:
        """Yield the results, or fail."""
        return self._inner.run(_die if work.__name__ == self._name else work, descriptors)


def _die(_: str) -> str:
    """Fail as a program with a fault does."""
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("kind", "name"),
    [(TableType.COPY_ON_WRITE, "incoming_task"), (TableType.MERGE_ON_READ, "group_task")],
)
def test_load_whose_tasks_all_fail_leaves_the_table_as_it_was(
    spark: SparkSession, tmp_path: Path, kind: TableType, name: str
) -> None:
    """Not a file more than before, and the next load goes through."""
    lake = a_lake(tmp_path / "lake", kind)
    (first, rows), (second, changed), _ = LOADS
    load(lake, first, *rows)
    before = tree(open_storage(lake.location))
    with pytest.raises(TaskError) as caught:
        load(lake, second, *changed, tasks=_Refusing(SparkTasks(spark), name))
    assert caught.value.condition == "task/failed"
    assert tree(open_storage(lake.location)) == before
    load(lake, second, *changed, tasks=SparkTasks(spark))
    assert len(rows_of(lake.location)) == 2 * ROWS + 5
