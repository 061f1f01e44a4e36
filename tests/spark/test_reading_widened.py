"""Tables that loads made wider than their older base files, on every Spark."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from framework.engine.reading.table import open_table
from framework.errors import CorruptFileError
from framework.spark import read
from framework.spark.reading.adopted import whole_as_stored
from framework.vocabulary import PartitionType, SchemaEvolution, TableType, WriteOperation
from tests.support.writing import Lake, load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NARROW = (pa.int32(), pa.float32(), pa.decimal128(9, 2))
WIDE = (pa.int64(), pa.float64(), pa.decimal128(18, 2))
HUGE = 1 << 40


def _rows(ids: range, day: str, kinds: tuple[pa.DataType, ...], number: int) -> pa.Table:
    """Return rows of one day, with each kind of number."""
    whole, real, money = kinds
    count = len(ids)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "day": [day] * count,
            "n": pa.array([number] * count, whole),
            "x": pa.array([1.1] * count, real),
            "price": pa.array([Decimal("1.25")] * count, money),
            "pair": pa.array([{"n": number}] * count, pa.struct([("n", whole)])),
        }
    )


def _widened(folder: Path, kind: TableType) -> Lake:
    """Load narrow rows, then wide ones: of another day, and of some rows of the first."""
    lake = Lake(folder=folder, partition={"day": PartitionType.STRING}, type=kind)
    load(lake, WriteOperation.INSERT, _rows(range(4), "a", NARROW, 7))
    more = _rows(range(4, 6), "b", WIDE, HUGE)
    load(lake, WriteOperation.INSERT, more, evolution=SchemaEvolution.WIDEN)
    if kind is TableType.MERGE_ON_READ:
        load(lake, WriteOperation.UPSERT, _rows(range(1), "a", WIDE, HUGE))
    return lake


@pytest.mark.parametrize("kind", TableType)
def test_read_of_base_files_that_are_narrower_than_the_table_gives_its_types(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    """Spark before 4.0 does not widen by itself; below log files neither."""
    lake = _widened(tmp_path, kind)
    wide = {4, 5} | ({0} if kind is TableType.MERGE_ON_READ else set())
    found: dict[int, Any] = {
        row["id"]: (row["n"], row["x"], row["price"], row["y"])
        for row in read(spark, lake.location).selectExpr("*", "pair.n as y").collect()
    }
    price = Decimal("1.25")
    assert found == {
        number: (HUGE, 1.1, price, HUGE)
        if number in wide
        else (7, float(np.float32(1.1)), price, 7)
        for number in range(6)
    }


def test_base_file_without_a_footer_is_named_where_types_are_asked_of_it(tmp_path: Path) -> None:
    """An older Spark asks every footer of a table whose columns changed."""
    table = open_table(_widened(tmp_path, TableType.COPY_ON_WRITE).location)
    paths = sorted(map(str, tmp_path.glob("table/day=*/*.parquet")))
    groups = whole_as_stored(table, paths, "3.5")
    assert [columns["n"].dataType.typeName() for _, columns in groups] == ["integer", "long"]
    os.truncate(paths[0], 100)
    with pytest.raises(CorruptFileError) as caught:
        list(whole_as_stored(table, paths, "3.5"))
    assert (caught.value.condition, caught.value.where.file) == ("file/not-readable", paths[0])
