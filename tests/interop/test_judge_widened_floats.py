"""FLOAT in files, DOUBLE in the table: what we read, and what Apache Hudi reads (ADR 0020)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from framework.spark import read
from framework.vocabulary import PartitionType, SchemaEvolution, TableType, WriteOperation
from tests.interop.judge import Judge, JudgeError
from tests.support.source_lakes import SourceLake, adopt
from tests.support.writing import Lake, load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

TEXTS = ("1.1", "0.1", "-2.7")
SHORTEST = {number: float(text) for number, text in enumerate(TEXTS)}
EXACT = {number: float(np.float32(text)) for number, text in enumerate(TEXTS)}


def _rows(first: int, kind: pa.DataType, day: str) -> pa.Table:
    """Return three rows of one day with values that no binary number has exactly."""
    return pa.table(
        {
            "id": pa.array(range(first, first + 3), pa.int64()),
            "day": [day] * 3,
            "x": pa.array(map(float, TEXTS), kind),
        }
    )


def _nested(rows: pa.Table) -> pa.Table:
    """Return the rows with the value in a struct."""
    inner = pa.StructArray.from_arrays([rows["x"].combine_chunks()], names=["y"])
    return rows.set_column(2, "x", inner)


def _adopted(tmp_path: Path, *, nested: bool) -> str:
    """Adopt a file with FLOAT and one with DOUBLE, by skeletons."""
    made = [_rows(0, pa.float32(), "a"), _rows(3, pa.float64(), "b")]
    first, second = [(_nested(m) if nested else m).drop_columns(["day"]) for m in made]
    files = {"day=a/1.parquet": first, "day=b/2.parquet": second}
    lake = SourceLake(files=files, partition_by={"day": "string"}, layout="hive", key=("id",))
    return str(adopt(lake, tmp_path))


def _loaded(tmp_path: Path, kind: TableType) -> str:
    """Load FLOAT, then DOUBLE into another partition, by `schema_evolution: widen`."""
    lake = Lake(folder=tmp_path, partition={"day": PartitionType.STRING}, type=kind)
    load(lake, WriteOperation.INSERT, _rows(0, pa.float32(), "a"))
    more = _rows(3, pa.float64(), "b")
    load(lake, WriteOperation.INSERT, more, evolution=SchemaEvolution.WIDEN)
    return lake.location


@pytest.mark.parametrize("how", ["adopted", *TableType])
def test_float_in_a_double_column_is_the_stored_number_here_and_a_decimal_for_the_judge(
    how: str, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """The difference that the plan names `float-read-as-double`."""
    if how == "adopted":
        location = _adopted(tmp_path, nested=False)
    else:
        location = _loaded(tmp_path, TableType(how))
    wide = {number + 3: value for number, value in SHORTEST.items()}
    ours = dict(tuple(row) for row in read(spark, location).select("id", "x").collect())
    assert ours == EXACT | wide
    theirs = {row[0]: row[1] for row in judge.rows(Path(location), ["id", "x"])}
    assert theirs == SHORTEST | wide


def test_nested_float_in_a_double_column_is_read_by_the_judge_since_1_1(
    judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """Releases before fail, as the plan says: `nested-field-in-a-narrower-type`."""
    location = _adopted(tmp_path, nested=True)
    rows = read(spark, location).selectExpr("id", "x.y").collect()
    assert {row[0]: row[1] for row in rows if row[0] < 3} == EXACT
    if judge.version == "0.15.0":
        with pytest.raises(JudgeError, match="Nested types with type changes"):
            judge.rows(Path(location), ["id", "x"])
        return
    rows_of_judge: list[Any] = judge.rows(Path(location), ["id", "x"])
    found = {number: x["y"] for number, x in rows_of_judge}
    assert found == SHORTEST | {number + 3: value for number, value in SHORTEST.items()}
