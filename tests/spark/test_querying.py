"""SQL over one table: by its name, typed errors, rows as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.errors import CorruptFileError, PlanError
from framework.spark.sql_query import query
from tests.golden.tables.opening import open_golden
from tests.support.commands import run_pipeline
from tests.support.source_lakes import adopt, hive_lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TABLE = str(open_golden("written-merge-on-read-1.2.0").location)


@pytest.mark.parametrize("name", ["golden", "this"])
def test_query_names_the_table_by_its_name_or_this(spark: SparkSession, name: str) -> None:
    """Rows are JSON by column, nulls among them, times in UTC."""
    columns = "id, null as n, timestamp'2026-01-02 03:04:05' as t"
    sql = f"select {columns} from {name} order by id"  # noqa: S608 - the test's own words
    found = query(spark, TABLE, sql, limit=2)
    assert found.columns == ("id", "n", "t")
    assert json.loads(found.rows[1]) == {"id": 1, "n": None, "t": "2026-01-02T03:04:05.000Z"}
    assert (len(found.rows), found.has_more) == (2, True)


def test_query_with_columns_of_one_name_numbers_them(spark: SparkSession) -> None:
    """JSON objects have each name once."""
    found = query(spark, TABLE, "select id, id + 1 as id, 0 as id_2 from this", limit=1)
    assert found.columns == ("id", "id_2", "id_2_2")
    assert list(json.loads(found.rows[0]).values()) == [0, 1, 0]


def test_query_as_of_a_moment_sees_the_past(spark: SparkSession) -> None:
    """The upsert of two new records came later."""
    instant = "20261121042810194"
    now = query(spark, TABLE, "select count(*) c from this", limit=1)
    then = query(spark, TABLE, "select count(*) c from this", as_of=instant, limit=1)
    assert [json.loads(rows[0])["c"] for rows in (now.rows, then.rows)] == [8, 6]


@pytest.mark.parametrize("sql", ["selec 1", "select nothing from this", "select * from other"])
def test_query_that_spark_does_not_take_is_refused(spark: SparkSession, sql: str) -> None:
    """With Spark's words, without its plan, and the names that there are."""
    with pytest.raises(PlanError) as caught:
        query(spark, TABLE, sql, limit=1)
    assert caught.value.condition == "sql/wrong"
    assert "\n" not in caught.value.message
    assert "golden" in str(caught.value)


def test_query_that_meets_a_damaged_log_says_so(spark: SparkSession, tmp_path: Path) -> None:
    """A fault of a task comes back as the error that it was."""
    table = adopt(hive_lake(), tmp_path)
    base = next((table / "month=2").glob("*.parquet")).name.partition("_")[0]
    log = table / "month=2" / f".{base}_00000000000001.log.1_1-0-1"
    log.write_bytes(b"no block")
    with pytest.raises(CorruptFileError) as caught:
        query(spark, str(table), "select count(*) from this", limit=1)
    assert caught.value.condition == "log/damaged"
    assert caught.value.where.file == str(log)


def test_command_shows_rows_in_columns_and_as_json() -> None:
    """Numbers are right-aligned; omitted rows are reported on stderr."""
    sql = "select id, v from this order by id"
    found = run_pipeline("sql", TABLE, sql, "--limit", "2", "--master", "local[1]")
    assert (found.code, found.out.splitlines()) == (
        0,
        ["id  v", " 0  v0-of-6", " 1  v1-of-6"],
    )
    assert "more than 2 rows" in found.err
    found = run_pipeline("sql", TABLE, f"{sql} limit 1", "--format", "json")
    assert [json.loads(line) for line in found.out.splitlines()] == [{"id": 0, "v": "v0-of-6"}]
    assert found.err == ""
