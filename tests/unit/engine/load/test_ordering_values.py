"""Rows of a load against stored rows, by an ordering column of any type and any encoding."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from framework.vocabulary import TableType, WriteOperation
from tests.support.writing import Lake, load, rows_of

MANY, FEW = range(1000), range(990, 1010)

ORDERINGS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["2026-01-01", "2026-01-02", "2026-01-03"]),
    "binary": (pa.binary(), [b"a", b"b", b"c"]),
    "integer": (pa.int32(), [1, 2, 3]),
    "double": (pa.float64(), [0.5, 1.5, 2.5]),
    "decimal": (pa.decimal128(9, 2), [Decimal("0.50"), Decimal("1.50"), Decimal("2.50")]),
    "date": (pa.date32(), [date(2026, 1, day) for day in (1, 2, 3)]),
    "time": (pa.timestamp("us", "UTC"), [datetime(2026, 1, d, tzinfo=UTC) for d in (1, 2, 3)]),
    "boolean": (pa.bool_(), [False, True, True]),
}


def _rows(ids: range, kind: pa.DataType, value: Any, says: str) -> pa.Table:
    """Return rows of one day that all have one ordering value."""
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "day": pa.array(["d"] * len(ids)),
            "u": pa.array([value] * len(ids), kind),
            "v": pa.array([says] * len(ids)),
        }
    )


@pytest.mark.parametrize("table_type", TableType)
@pytest.mark.parametrize("name", ORDERINGS)
def test_upsert_by_an_ordering_column_keeps_the_greater_value(
    tmp_path: Path, name: str, table_type: TableType
) -> None:
    """One value in all of a file is stored as a dictionary, which the incoming rows are not."""
    kind, (first, second, third) = ORDERINGS[name]
    lake = Lake(folder=tmp_path, type=table_type, ordering="u")
    load(lake, WriteOperation.INSERT, _rows(MANY, kind, second, "stored"))
    load(lake, WriteOperation.UPSERT, _rows(FEW, kind, third, "later"))
    load(lake, WriteOperation.UPSERT, _rows(range(5), kind, first, "too early"))
    found = {row["id"]: row["v"] for row in rows_of(lake.location)}
    later = dict.fromkeys(FEW, "later")
    assert found == dict.fromkeys(MANY, "stored") | later


def test_upsert_by_text_with_nulls_on_both_sides_takes_null_as_least(tmp_path: Path) -> None:
    """A null in a dictionary is an index, not a value."""
    lake = Lake(folder=tmp_path, ordering="u")
    kind = pa.string()
    load(lake, WriteOperation.INSERT, _rows(range(500), kind, None, "stored"))
    load(lake, WriteOperation.UPSERT, _rows(range(100), kind, "a", "first"))
    load(lake, WriteOperation.UPSERT, _rows(range(50, 150), kind, None, "null"))
    found = {row["id"]: row["v"] for row in rows_of(lake.location)}
    assert found == (
        dict.fromkeys(range(500), "stored")
        | dict.fromkeys(range(100, 150), "null")
        | dict.fromkeys(range(100), "first")
    )
