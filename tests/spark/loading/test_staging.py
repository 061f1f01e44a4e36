"""Pinned inputs: the frame's rows, types and order, once, under names that stay."""

from __future__ import annotations

import datetime as dt
import os
import signal
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from framework.errors import PlanError, StorageError, TaskError
from framework.plan.load import InputRequest
from framework.spark.loading.frames import open_input
from framework.spark.loading.staging import StagedInput, stage_input
from tests.support.inputs import an_input, write_rows

pytestmark = pytest.mark.spark

FOUR_PARTS = "select /*+ REPARTITION_BY_RANGE(4, id) */ * from source"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with 1,000 rows in two files."""
    folder = tmp_path / "source"
    write_rows(folder / "a.parquet", 0, 500)
    write_rows(folder / "b.parquet", 500, 1000)
    return folder


@pytest.fixture
def staged(tmp_path: Path) -> str:
    """Where to stage: odd, and below folders that are not there."""
    return str(tmp_path / "run é" / "a%20[b] #1")


def _names(folder: str | Path) -> list[str]:
    """Return the names in a folder, sorted."""
    return sorted(path.name for path in Path(folder).iterdir())


def _rows(found: StagedInput) -> list[dict[str, Any]]:
    """Return all rows, file by file."""
    tables = [pq.read_table(pa.OSFile(file.path)) for file in found.files]
    return [row for table in tables for row in table.to_pylist()]


def test_staged_files_have_stable_names_in_the_order_of_rows(
    spark: SparkSession, source: Path, staged: str
) -> None:
    """The folder holds them and nothing else; rows and bytes are theirs."""
    found = stage_input(spark, an_input(source, FOUR_PARTS), staged)
    names = [f"part-{at:05d}.parquet" for at in range(4)]
    assert [file.path for file in found.files] == [f"{staged}/{name}" for name in names]
    assert _names(staged) == names
    assert [file.size_bytes for file in found.files] == [
        Path(file.path).stat().st_size for file in found.files
    ]
    assert (found.rows, found.nondeterministic) == (1000, ())
    assert found.size_bytes == sum(file.size_bytes for file in found.files)
    ids = [pq.read_table(pa.OSFile(file.path))["id"].to_pylist() for file in found.files]
    assert [len(each) for each in ids] == [file.rows for file in found.files]
    assert all(max(low) < min(high) for low, high in pairwise(ids))


def test_tasks_without_rows_leave_no_gap(spark: SparkSession, source: Path, staged: str) -> None:
    """Names count files, not tasks."""
    sql = "select /*+ REPARTITION(16, k) */ * from (select *, id % 3 as k from source)"
    found = stage_input(spark, an_input(source, sql), staged)
    assert 1 <= len(found.files) <= 3
    assert [Path(file.path).name for file in found.files] == _names(staged)
    assert Path(found.files[-1].path).name == f"part-{len(found.files) - 1:05d}.parquet"
    assert found.rows == 1000


@pytest.mark.parametrize("condition", ["false", "id < 0", "rand() > 2"])
def test_input_without_rows_has_a_schema_and_no_file(
    spark: SparkSession, source: Path, staged: str, condition: str
) -> None:
    """Whether Spark knows so before it looks, or finds out."""
    sql = f"select * from source where {condition}"  # noqa: S608 - the test's own words
    found = stage_input(spark, an_input(source, sql), staged)
    assert (found.files, found.rows, found.size_bytes) == ((), 0, 0)
    assert found.schema.names == ["id", "v"]
    assert _names(staged) == []


TYPES = {
    "b": "true",
    "i1": "cast(1 as tinyint)",
    "i2": "cast(2 as smallint)",
    "i4": "4",
    "i8": "8L",
    "f4": "cast(1.5 as float)",
    "f8": "2.5D",
    "d": "cast(1.25 as decimal(20,2))",
    "s": "'x'",
    "c": "cast('ab' as char(2))",
    "vc": "cast('ab' as varchar(9))",
    "x": "x'00ff'",
    "day": "date'0001-01-01'",
    "at": "timestamp'0001-01-01 00:00:00.000001Z'",
    "wall": "timestamp_ntz'1500-02-28 00:00:00'",
    "l": "array(1, null)",
    "m": "map('k', 1)",
    "st": "named_struct('b', 1, 'a', 'x')",
}


def test_types_and_their_order_are_those_of_the_frame(
    spark: SparkSession, source: Path, staged: str
) -> None:
    """Times are INT64 microseconds, and the year 1 is that of today's calendar."""
    chosen = ", ".join(f"{sql} as {name}" for name, sql in TYPES.items())
    sql = f"select {chosen} from source limit 1"  # noqa: S608 - the test's own words
    found = stage_input(spark, an_input(source, sql), staged)
    assert found.schema.names == list(TYPES)
    types = [str(kind) for kind in found.schema.types]
    assert ", ".join(types[:8]) == (
        "bool, int8, int16, int32, int64, float, double, decimal128(20, 2)"
    )
    assert ", ".join(types[8:15]) == (
        "string, string, string, binary, date32[day], timestamp[us, tz=UTC], timestamp[us]"
    )
    (row,) = _rows(found)
    assert (row["day"], row["wall"]) == (dt.date(1, 1, 1), dt.datetime(1500, 2, 28))  # noqa: DTZ001 - no zone is the point
    assert row["at"] == dt.datetime(1, 1, 1, microsecond=1, tzinfo=dt.UTC)
    assert (row["l"], row["m"], row["st"]) == ([1, None], [("k", 1)], {"b": 1, "a": "x"})
    columns = pq.ParquetFile(pa.OSFile(found.files[0].path)).schema
    physical = {columns.column(at).path: columns.column(at).physical_type for at in range(15)}
    assert (physical["at"], physical["wall"]) == ("INT64", "INT64")


def test_settings_of_the_caller_neither_count_nor_change(
    spark: SparkSession, source: Path, staged: str
) -> None:
    """What would make other files is set for this one job alone."""
    caller = spark.newSession()
    theirs = {
        "spark.sql.parquet.outputTimestampType": "INT96",
        "spark.sql.parquet.compression.codec": "gzip",
        "spark.sql.parquet.writeLegacyFormat": "true",
        "mapreduce.fileoutputcommitter.algorithm.version": "2",
        "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    }
    for key, value in theirs.items():
        caller.conf.set(key, value)
    before = sorted(map(tuple, caller.sql("SET").collect()))
    sql = "select id, timestamp'2026-01-02 03:04:05Z' as at from source"
    found = stage_input(caller, an_input(source, sql), staged)
    group = pq.ParquetFile(pa.OSFile(found.files[0].path)).metadata.row_group(0)
    assert (group.column(1).physical_type, group.column(1).compression) == ("INT64", "SNAPPY")
    assert sorted(map(tuple, caller.sql("SET").collect())) == before
    assert caller.catalog.listTables() == []


def test_staged_input_stays_while_its_plan_would_not(
    spark: SparkSession, source: Path, staged: str
) -> None:
    """Computed again a random value is another one; in the files it is the same."""
    caller = spark.newSession()
    caller.udf.register("draw", udf(lambda: str(uuid4())).asNondeterministic())
    request = an_input(source, "select id, rand() as r, draw() as d from source")
    frame, other = open_input(caller, request), open_input(caller, request)
    once, twice, anew = ({tuple(row) for row in each.collect()} for each in (frame, frame, other))
    assert once.isdisjoint(twice)
    assert {r for _, r, _ in once}.isdisjoint({r for _, r, _ in anew})
    found = stage_input(caller, request, staged)
    assert found.nondeterministic == ("draw", "rand")
    assert _rows(found) == _rows(found)
    pinned = an_input(Path(staged), files=tuple(file.path for file in found.files))
    again = {tuple(row) for row in open_input(caller, pinned).collect()}
    assert again == {tuple(row.values()) for row in _rows(found)}


def test_killed_task_leaves_no_file_and_no_row(
    spark: SparkSession, source: Path, staged: str, tmp_path: Path
) -> None:
    """Its next attempt writes everything, and only that is there."""
    trace, caller = tmp_path / "trace", spark.newSession()

    def die_once(value: int) -> int:
        if value == 900 and not trace.exists():
            trace.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    caller.udf.register("die_once", die_once, "bigint")
    sql = "select /*+ REPARTITION_BY_RANGE(2, id) */ * from (select id from source)"
    request = an_input(source, sql, "select die_once(id) as id from t1")
    found = stage_input(caller, request, staged)
    assert trace.exists()
    assert sorted(row["id"] for row in _rows(found)) == list(range(1000))
    assert _names(staged) == [Path(file.path).name for file in found.files]


@pytest.mark.parametrize(
    ("sql", "path"),
    [
        ("null", "x"),
        ("interval 1 day", "x"),
        ("interval 1 month", "x"),
        ("make_interval(1)", "x"),
        ("named_struct('a', 1, 'b', null)", "x.b"),
        ("array(map('k', null))", "x.element.value"),
    ],
)
def test_type_that_no_table_holds_is_refused_with_its_column(
    spark: SparkSession, source: Path, staged: str, sql: str, path: str
) -> None:
    """Also where Spark would write something in its place; nothing is written."""
    whole = f"select id, {sql} as x, null as y from source"  # noqa: S608 - the test's own words
    error = _refused(spark, an_input(source, whole), staged)
    assert error.condition == "input/unsupported-type"
    assert f"`{path}` (" in error.message
    assert "`y` (void)" in error.message
    assert "`id`" not in error.message
    assert not Path(staged).exists()


@pytest.mark.parametrize(
    ("sql", "condition"),
    [
        ("select id, v as id from source", "schema/duplicate-name"),
        ("select id, v as ID from source", "schema/same-but-case"),
    ],
)
def test_columns_of_one_name_are_refused(
    spark: SparkSession, source: Path, staged: str, sql: str, condition: str
) -> None:
    """Spark would not write them."""
    assert _refused(spark, an_input(source, sql), staged).condition == condition


def test_columns_that_parquet_refuses_are_reported(
    spark: SparkSession, source: Path, staged: str
) -> None:
    """What only Spark's writer knows comes with its words."""
    request = an_input(source, format="json", schema="id BIGINT, s STRUCT<>")
    error = _refused(spark, request, staged)
    assert error.condition == "input/unsupported-type"
    assert "Spark cannot write" in error.message


def _refused(spark: SparkSession, request: InputRequest, folder: str) -> PlanError:
    """Return the error of staging an input."""
    with pytest.raises(PlanError) as caught:
        stage_input(spark, request, folder)
    assert caught.value.remedy
    return caught.value


def test_rows_that_cannot_be_computed_are_a_task_error(
    spark: SparkSession, source: Path, staged: str
) -> None:
    """With what was said where it happened."""
    sql = "select if(id < 0, 0, cast(raise_error('broken by hand') as int)) as x from source"
    with pytest.raises(TaskError) as caught:
        stage_input(spark, an_input(source, sql), staged)
    assert caught.value.condition == "task/failed"
    assert "broken by hand" in str(caught.value)


def test_folder_with_something_in_it_is_refused(
    spark: SparkSession, source: Path, tmp_path: Path
) -> None:
    """An empty one is used; a file in its place is none."""
    found = stage_input(spark, an_input(source), str(_made(tmp_path / "empty")))
    assert found.rows == 1000
    full = _made(tmp_path / "full")
    (full / "x").touch()
    for folder in (full, full / "x"):
        with pytest.raises(StorageError) as caught:
            stage_input(spark, an_input(source), str(folder))
        assert (caught.value.condition, caught.value.where.file) == ("storage/exists", str(folder))
    assert _names(full) == ["x"]


def _made(folder: Path) -> Path:
    """Return the folder, which is there now."""
    folder.mkdir()
    return folder


def test_interruption_ends_the_job_before_it_is_raised(
    spark: SparkSession, source: Path, staged: str, tmp_path: Path
) -> None:
    """No task writes into a folder that the caller is about to remove."""
    begun, caller = tmp_path / "begun", spark.newSession()

    def slow(value: int) -> int:
        begun.touch()
        time.sleep(0.05)
        return value

    def interrupt() -> None:
        while not begun.exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGUSR1)

    caller.udf.register("slow", slow, "bigint")
    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    other = threading.Thread(target=interrupt)
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            stage_input(caller, an_input(source, "select slow(id) as id from source"), staged)
    finally:
        signal.signal(signal.SIGUSR1, before)
        other.join()
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    assert not list(Path(staged).glob("*.parquet"))
    assert spark.range(3).count() == 3
