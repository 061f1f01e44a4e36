"""Loads on Spark whose files have other columns or types than the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import CorruptFileError, PlanError
from framework.spark import read, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PART = pa.struct([("a", pa.int64()), ("b", pa.string())])
LESS = pa.struct([("a", pa.int64())])


def a_spec(folder: Path, sql: str | None = "SELECT * FROM source", **write: str) -> Path:
    """Write a spec that upserts Parquet files by `month: int`, through a transform if any."""
    document: dict[str, Any] = {
        "version": 1,
        "table": {
            "name": "shop.orders",
            "location": str(folder / "table"),
            "partition_by": {"month": "int"},
            "record_key": {"columns": ["id"], "unique_within": "table"},
            "ordering": "commit_time",
        },
        "source": {"path": str(folder / "landing")},
        "write": {"operation": "upsert", **write},
    }
    if sql is not None:
        document["transforms"] = [{"name": "all", "sql": sql}]
    path = folder / "orders.pipeline.yml"
    path.write_text(json.dumps(document))
    return path


def land(folder: Path, name: str, *, month: pa.Array, part: pa.DataType = PART) -> None:
    """Write a file with a row for each month."""
    (folder / "landing").mkdir(exist_ok=True)
    ids = list(range(len(month)))
    values = [{"a": each, "b": "x"} for each in ids]
    table = {"id": pa.array(ids, pa.int64()), "month": month, "c": pa.array(values, part)}
    pq.write_table(pa.table(table), folder / "landing" / name)


def rows(spark: SparkSession, folder: Path) -> set[tuple[int, int, str | None]]:
    """Return id, month and the field `c.b` of each row."""
    found = read(spark, folder / "table").selectExpr("id", "month", "c.b").collect()
    return {(row.id, row.month, row.b) for row in found}


@pytest.mark.parametrize("sql", [None, "SELECT * FROM source"], ids=["as-it-is", "transformed"])
def test_load_without_a_field_is_refused_until_the_remedy_is_followed(
    spark: SparkSession, tmp_path: Path, sql: str | None
) -> None:
    """The stored value stays; with what the error says to set, it is null."""
    land(tmp_path, "a.parquet", month=pa.array([1, 2], pa.int32()))
    run(spark, a_spec(tmp_path, sql))
    land(tmp_path, "b.parquet", month=pa.array([1], pa.int32()), part=LESS)
    with pytest.raises(PlanError, match=r"column 'c\.b' is missing") as caught:
        run(spark, a_spec(tmp_path, sql))
    assert caught.value.condition == "input/schema-differs"
    assert "write.missing_columns: set_null" in caught.value.remedy
    assert rows(spark, tmp_path) == {(0, 1, "x"), (1, 2, "x")}
    run(spark, a_spec(tmp_path, sql, missing_columns="set_null"))
    assert rows(spark, tmp_path) == {(0, 1, None), (1, 2, "x")}


@pytest.mark.parametrize("sql", [None, "SELECT * FROM source"], ids=["as-it-is", "transformed"])
def test_load_of_wider_partitions_is_checked_by_value(
    spark: SparkSession, tmp_path: Path, sql: str | None
) -> None:
    """What fits is loaded; what does not is refused by its row."""
    land(tmp_path, "a.parquet", month=pa.array([1, 2], pa.int32()))
    run(spark, a_spec(tmp_path, sql))
    land(tmp_path, "b.parquet", month=pa.array([2], pa.int64()))
    run(spark, a_spec(tmp_path, sql))
    assert rows(spark, tmp_path) == {(0, 2, "x"), (1, 2, "x")}
    land(tmp_path, "c.parquet", month=pa.array([3, 1 << 40], pa.int64()))
    with pytest.raises(CorruptFileError, match="row 1, counted from 0") as caught:
        run(spark, a_spec(tmp_path, sql))
    assert caught.value.condition == "input/value-does-not-fit"


def test_load_of_another_partition_type_follows_its_remedy(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The cast that the error has, put into a transform, loads the file."""
    land(tmp_path, "a.parquet", month=pa.array([1, 2], pa.int32()))
    run(spark, a_spec(tmp_path))
    land(tmp_path, "b.parquet", month=pa.array(["7"]))
    with pytest.raises(PlanError) as caught:
        run(spark, a_spec(tmp_path))
    assert caught.value.condition == "partition/type-differs"
    cast = caught.value.remedy.split("`")[1]
    run(spark, a_spec(tmp_path, f"SELECT id, c, {cast} FROM source"))  # noqa: S608  the error's own words
    assert rows(spark, tmp_path) == {(0, 7, "x"), (1, 2, "x")}
