"""A look at an input: types in words, rows as JSON, and what would differ another time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.errors import PlanError, TaskError
from framework.spark.loading.preview import PreviewColumn, preview_rows
from tests.support.inputs import an_input, write_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_preview_shows_types_rows_and_nondeterministic_expressions(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Rows are JSON by column, nulls among them, times in UTC whatever the session's zone."""
    write_rows(tmp_path / "a.parquet")
    caller = spark.newSession()
    caller.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    sql = """
        select id, cast(null as string) as n, timestamp'2026-01-02 03:04:05Z' as at,
               array(cast(1.5 as decimal(10,2))) as l, rand() < 2 as r
        from source order by id
    """
    found = preview_rows(caller, an_input(tmp_path, sql), 2)
    assert found.columns == (
        PreviewColumn(name="id", type="bigint"),
        PreviewColumn(name="n", type="string"),
        PreviewColumn(name="at", type="timestamp"),
        PreviewColumn(name="l", type="array<decimal(10,2)>"),
        PreviewColumn(name="r", type="boolean"),
    )
    assert json.loads(found.rows[1]) == {
        "id": 1,
        "n": None,
        "at": "2026-01-02T03:04:05.000Z",
        "l": [1.5],
        "r": True,
    }
    assert (len(found.rows), found.has_more) == (2, True)
    assert found.nondeterministic == ("rand",)


def test_preview_of_few_rows_has_them_all(spark: SparkSession, tmp_path: Path) -> None:
    """Also none at all."""
    write_rows(tmp_path / "a.parquet")
    for sql, rows in (("select * from source", 10), ("select * from source where id < 0", 0)):
        found = preview_rows(spark, an_input(tmp_path, sql))
        assert (len(found.rows), found.has_more) == (rows, False)
        assert found.nondeterministic == ()


def test_preview_refuses_what_could_not_be_loaded(spark: SparkSession, tmp_path: Path) -> None:
    """The sooner the better, with the same words."""
    write_rows(tmp_path / "a.parquet")
    with pytest.raises(PlanError) as caught:
        preview_rows(spark, an_input(tmp_path, "select id, interval 1 day as gap from source"))
    assert caught.value.condition == "input/unsupported-type"
    assert "`gap`" in caught.value.message


def test_preview_of_rows_that_cannot_be_computed_is_a_task_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As it would be when they are loaded."""
    write_rows(tmp_path / "a.parquet")
    sql = "select if(id < 0, 0, cast(raise_error('broken by hand') as int)) as x from source"
    with pytest.raises(TaskError) as caught:
        preview_rows(spark, an_input(tmp_path, sql))
    assert "broken by hand" in str(caught.value)
