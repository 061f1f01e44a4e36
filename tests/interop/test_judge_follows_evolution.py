"""Tables whose columns and fields grew, and that lost some to null, read by Apache Hudi."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.spark import read
from framework.vocabulary import (
    KeyScope,
    MissingColumns,
    PartitionType,
    SchemaEvolution,
    TableType,
    WriteOperation,
)
from tests.interop.canonical import canonical_rows
from tests.interop.judge import Judge
from tests.interop.printed import printed_options
from tests.support.writing import Lake, load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

OLD = pa.struct([("a", pa.int64())])
NEW = pa.struct([("a", pa.int64()), ("b", pa.string())])


def a_schema(part: pa.DataType, number: pa.DataType, *more: pa.Field) -> pa.Schema:
    """Return columns with a struct, a list and a map of it; keys and partitions are numbers."""
    nested = [("s", part), ("l", pa.list_(part)), ("m", pa.map_(pa.string(), part))]
    return pa.schema([("id", number), ("month", number), ("ts", pa.int64()), *nested, *more])


BEFORE = a_schema(OLD, pa.int32())
AFTER = a_schema(NEW, pa.int64(), pa.field("note", pa.string()))


def a_row(number: int, ts: int, *, b: str | None = None, note: str | None = None) -> dict[str, Any]:
    """Return a row whose parts all have these values."""
    part = {"a": ts, "b": b}
    nested = {"s": part, "l": [part], "m": [("k", part)]}
    return {"id": number, "month": number % 3, "ts": ts, **nested, "note": note}


@pytest.mark.taking_turns
@pytest.mark.parametrize("kind", TableType)
def test_evolved_table_is_read_and_written_by_apache_hudi(
    kind: TableType, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """New fields and columns, then files without them, with wider keys; then the judge's own."""
    lake = Lake(
        folder=tmp_path,
        partition={"month": PartitionType.INT},
        scope=KeyScope.TABLE,
        type=kind,
        ordering="ts",
    )
    rows = {number: a_row(number, 1) for number in range(6)}
    load(lake, WriteOperation.INSERT, pa.Table.from_pylist(list(rows.values()), BEFORE))
    new = {number: a_row(number, 2, b="x", note="n") for number in (1, 2, 4, 7)}
    grown = pa.Table.from_pylist(list(new.values()), AFTER)
    load(lake, WriteOperation.UPSERT, grown, evolution=SchemaEvolution.ADD_COLUMNS)
    rows |= new
    compare(judge, spark, lake, rows)
    less = {number: a_row(number, 3) for number in (2, 5, 8)}
    short = pa.Table.from_pylist(list(less.values()), BEFORE)
    load(lake, WriteOperation.UPSERT, short, missing=MissingColumns.SET_NULL)
    rows |= less
    compare(judge, spark, lake, rows)
    rows |= theirs(judge, lake, {number: a_row(number, 4, b="y") for number in (1, 3)})
    compare(judge, spark, lake, rows)


def theirs(judge: Judge, lake: Lake, rows: dict[int, Any]) -> dict[int, Any]:
    """Let the judge upsert rows without the column `note`, which it sets null as we do."""
    batch = lake.folder / "theirs.parquet"
    schema = a_schema(NEW, pa.int32())
    pq.write_table(pa.Table.from_pylist(list(rows.values()), schema), batch)
    options = printed_options(location_of(lake))
    sets_null = {"hoodie.write.set.null.for.missing.columns": "true"}
    judge.upsert(location_of(lake), batch, {**options, **sets_null})
    return rows


def location_of(lake: Lake) -> Path:
    """Return the folder of the table."""
    return lake.folder / "table"


def compare(judge: Judge, spark: SparkSession, lake: Lake, rows: dict[int, Any]) -> None:
    """Both readers find the rows, and keys and partitions in the types that they had at first."""
    table = pa.Table.from_pylist(list(rows.values()), AFTER)
    expected = canonical_rows(
        [tuple({**row, "m": dict(row["m"])}.values()) for row in table.to_pylist()]
    )
    frame = read(spark, location_of(lake)).select(*AFTER.names)
    assert canonical_rows([tuple(row) for row in frame.collect()]) == expected
    assert judge.rows(location_of(lake), AFTER.names) == expected
    assert [kind for _, kind in frame.dtypes][:2] == ["int", "int"]
