"""Rows that Spark quarantined, released on Spark: by the engine, and by the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine.prepare import PlanningContext, Request
from framework.engine.quarantine.datasets import waiting
from framework.engine.quarantine.rows import rows_of
from framework.engine.release import finish_release, prepare_release
from framework.engine.runner import RunResult
from framework.engine.runner import run as execute_spec
from framework.hudi.timeline.clock import SystemClock
from framework.spark import read, run
from framework.spark.checking.checker import SparkChecker
from framework.spark.tasks import SparkTasks
from tests.support.commands import run_pipeline
from tests.support.quarantine import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MILLISECONDS = pa.timestamp("ms")


def release(spark: SparkSession, spec: Path, table: Path, scratch: Path) -> RunResult:
    """Release the oldest data set."""
    tasks = SparkTasks(spark)
    planning = PlanningContext(tasks=tasks, scratch=scratch)
    plan = prepare_release(Request(path=spec), waiting(str(table))[0], planning).plan
    done = execute_spec(plan, tasks, checker=SparkChecker(spark))
    finish_release(str(table), SystemClock())
    return done


def waiting_rows(table: Path) -> list[tuple[Any, ...]]:
    """Return id, checks, first file and row of each row that waits."""
    found = rows_of(waiting(str(table)))
    return [(row.values["id"], row.rules, row.file.split("/")[-1], row.row) for row in found]


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_released_rows_get_in_and_bad_ones_keep_where_they_came_from(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    """A release brings one of two rows, a second one after it none."""
    shop = Shop(folder=tmp_path, kind=kind, least=3)
    shop.land("a", {1: 5, 2: None, 3: 1, 4: 9})
    assert run(spark, shop.spec).instant
    both, low = ("known", "large"), ("large",)
    assert sorted(waiting_rows(shop.table)) == [(2, both, "a.parquet", 1), (3, low, "a.parquet", 2)]
    mild = Shop(folder=tmp_path, kind=kind, least=0)
    done = release(spark, mild.spec, shop.table, tmp_path)
    assert {row.id: row.n for row in read(spark, shop.table).collect()} == {1: 5, 3: 1, 4: 9}
    assert waiting_rows(shop.table) == [(2, both, "a.parquet", 1)]
    assert [each.instant for each in waiting(str(shop.table))] == [done.instant]
    assert run(spark, mild.spec).instant is None


def test_rows_of_a_bootstrap_are_released_into_its_partitions(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Columns of folders, milliseconds and nested values come back as they were."""
    source, table = tmp_path / "raw", tmp_path / "table"
    rows = pa.table(
        {
            "id": [1, 2, 3],
            "at": pa.array([1, 2, 10**12], MILLISECONDS),
            "tags": [[{"k": "a"}], None, []],
            "Word": ["x", "y", "z"],
        }
    )
    for month in (1, 2):
        folder = source / f"month={month}"
        folder.mkdir(parents=True)
        ids = pa.array([each + 10 * month for each in (1, 2, 3)])
        pq.write_table(rows.set_column(0, "id", ids), folder / "a.parquet")
    spec = tmp_path / "raw.pipeline.yml"

    def write(where: str) -> None:
        check = {"name": "held", "expect": "id < 12", "where": where, "on_fail": "quarantine"}
        document = {
            "version": 1,
            "table": {
                "name": "a.raw",
                "location": str(table),
                "type": "copy_on_write",
                "partition_by": {"month": "int"},
                "record_key": {"columns": ["id"], "unique_within": "table"},
            },
            "bootstrap": {"path": str(source), "layout": "hive", "mode": "metadata_only"},
            "quality": {"checks": [check]},
        }
        spec.write_text(json.dumps(document))

    write("month = 1")
    run(spark, spec)
    assert sorted(each[0] for each in waiting_rows(table)) == [12, 13]
    write("month = 1 and id = 13")
    release(spark, spec, table, tmp_path)
    found = {row.id: row for row in read(spark, table).collect()}
    assert sorted(found) == [11, 12, 21, 22, 23]
    assert (found[12].month, found[12]["Word"], found[12].tags) == (1, "y", None)
    assert found[12].at == found[22].at
    assert waiting_rows(table) == [(13, ("held",), "a.parquet", 2)]


def test_command_releases_one_instant_after_the_other(tmp_path: Path) -> None:
    """What fails as before stays and does not keep others from their turn; then exit 3."""
    on_spark = ("--master", "local[2]", "--conf", "spark.ui.enabled=false")
    shop = Shop(folder=tmp_path, least=3)
    shop.land("a", {1: None, 2: 5})
    shop.run()
    shop.land("b", {3: 1, 4: 9})
    ran = run_pipeline("run", shop.spec, *on_spark)
    assert ran.code == 0, ran.err
    first, second = (each.instant for each in shop.waiting())
    show = f"see `run-pipeline quarantine show {shop.spec}`"
    assert ran.out.splitlines()[1] == f"  1 row quarantined in {shop.table}.quarantine; {show}"
    mild = Shop(folder=tmp_path, least=0)
    words = ("--format", "json", "--log-format", "json")
    done = run_pipeline("quarantine", "release", mild.spec, *on_spark, *words)
    assert done.code == 3, done.err
    error, released = map(json.loads, done.out.splitlines())
    assert error["error"]["condition"] == "quarantine/all-fail"
    assert (released["released"], released["proof"]["fate"]["published"]) == (second, 1)
    assert [each.instant for each in shop.waiting()] == [first]
    assert shop.rows() == {2: 5, 3: 1, 4: 9}
