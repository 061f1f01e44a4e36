"""Key and partition columns that come in a wider type than the table's: checked by value."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from framework.errors import CorruptFileError, PlanError
from framework.vocabulary import KeyScope, PartitionType, SchemaEvolution, TableType, WriteOperation
from tests.support.writing import Lake, load, rows_of

MAX = (1 << 31) - 1


def rows(ids: dict[int, int], *, key: pa.DataType, month: pa.DataType) -> pa.Table:
    """Return rows by id, each with its month."""
    return pa.table(
        {
            "id": pa.array([Decimal(n) if pa.types.is_decimal(key) else n for n in ids], key),
            "month": pa.array(ids.values(), month),
            "v": [f"v{n}" for n in ids],
        }
    )


def a_lake(folder: Path, **more: Any) -> Lake:
    """Return a lake that is partitioned by `month: int`."""
    lake = Lake(folder=folder, partition={"month": PartitionType.INT}, scope=KeyScope.TABLE)
    return replace(lake, **more)


def upsert(lake: Lake, *parts: pa.Table, **changes: Any) -> None:
    """Upsert parts, a file each."""
    load(lake, WriteOperation.UPSERT, *parts, **changes)


def months_of(lake: Lake) -> dict[int, tuple[int, str]]:
    """Return month and partition path by id."""
    return {
        int(row["id"]): (row["month"], row["_hoodie_partition_path"])
        for row in rows_of(lake.location)
    }


@pytest.mark.parametrize("kind", TableType)
@pytest.mark.parametrize("evolution", SchemaEvolution)
@pytest.mark.parametrize(
    ("there", "comes"),
    [(pa.int32(), pa.int64()), (pa.decimal128(5, 0), pa.decimal128(20, 0))],
    ids=["integers", "decimals"],
)
def test_load_of_wider_keys_and_partitions_updates_the_same_rows(
    tmp_path: Path, kind: TableType, evolution: SchemaEvolution, there: Any, comes: Any
) -> None:
    """Each value is the same in the table's type, so it is the same key and the same folder."""
    lake = a_lake(tmp_path, type=kind)
    upsert(lake, rows({1: 1, 2: 2}, key=there, month=pa.int32()))
    wide = rows({2: 2, 3: MAX}, key=comes, month=pa.int64())
    upsert(lake, wide, evolution=evolution)
    expected = {1: (1, "month=1"), 2: (2, "month=2"), 3: (MAX, f"month={MAX}")}
    assert months_of(lake) == expected


@pytest.mark.parametrize(
    ("begins", "ids", "row"),
    [
        (True, {5: 1, 6: MAX + 1, 7: 1 << 40}, 1),
        (False, {5: 1, 6: MAX + 1, 7: 1 << 40}, 1),
        (False, {MAX + 1: 1}, 0),
    ],
    ids=["new table", "month", "id"],
)
def test_load_of_a_value_that_does_not_fit_is_refused_with_its_row(
    tmp_path: Path, ids: dict[int, int], row: int, *, begins: bool
) -> None:
    """The error names the file and the first such row; nothing is published."""
    lake = a_lake(tmp_path)
    if not begins:
        upsert(lake, rows({1: 1}, key=pa.int32(), month=pa.int32()))
    good = rows({2: 2}, key=pa.int64(), month=pa.int64())
    with pytest.raises(CorruptFileError) as caught:
        upsert(lake, good, rows(ids, key=pa.int64(), month=pa.int64()))
    assert caught.value.condition == "input/value-does-not-fit"
    assert f"row {row}, counted from 0" in caught.value.message
    assert (caught.value.where.file or "").endswith(f"{2 - begins:05}.parquet")
    assert begins or months_of(lake) == {1: (1, "month=1")}


def test_load_of_other_wider_columns_still_needs_widen(tmp_path: Path) -> None:
    """Columns that are no keys are not narrowed, whatever values they have."""
    lake = a_lake(tmp_path, record_key=("v",))
    upsert(lake, rows({1: 1}, key=pa.int32(), month=pa.int32()))
    with pytest.raises(PlanError, match="'id' is int64, which is wider") as caught:
        upsert(lake, rows({1: 1}, key=pa.int64(), month=pa.int64()))
    assert "schema_evolution: widen" in caught.value.remedy


@pytest.mark.parametrize("comes", [pa.string(), pa.float64()])
def test_load_of_another_partition_type_says_how_to_cast_it(tmp_path: Path, comes: Any) -> None:
    """Once the table is there its declaration cannot change, so the remedy is a cast."""
    lake = a_lake(tmp_path)
    upsert(lake, rows({1: 1}, key=pa.int32(), month=pa.int32()))
    other = pa.table({"id": [1], "month": pa.array([1]).cast(comes), "v": ["x"]})
    with pytest.raises(PlanError) as caught:
        upsert(lake, other)
    assert caught.value.condition == "partition/type-differs"
    assert "CAST(month AS int) AS month" in caught.value.remedy
    assert (caught.value.where.file or "").endswith("00001.parquet")


def test_first_load_of_another_partition_type_says_to_declare_it(tmp_path: Path) -> None:
    """Before there is a table, the declaration is what to correct."""
    with pytest.raises(PlanError) as caught:
        upsert(a_lake(tmp_path), pa.table({"id": [1], "month": ["1"], "v": ["x"]}))
    assert caught.value.remedy == "Declare the type that the files have."
