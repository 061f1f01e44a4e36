"""Loads of ours and writes of Apache Hudi take turns on one table; both read it the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.spark import read
from framework.vocabulary import KeyScope, PartitionType, TableType, WriteOperation
from tests.interop.canonical import canonical_rows
from tests.interop.printed import printed_options
from tests.support.writing import Lake, load

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.interop.judge import Judge

pytestmark = pytest.mark.interop

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("day", pa.string()),
        ("ts", pa.int64()),
        ("v", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
BY_DAY = {"day": PartitionType.STRING}
TABLES = {
    f"{kind}-{'by-day' if partition else 'whole'}-{scope}": (kind, partition, scope)
    for kind in TableType
    for partition, scope in ((BY_DAY, KeyScope.PARTITION), (BY_DAY, KeyScope.TABLE), ({}, "table"))
}
SAMPLE = {"copy_on_write-by-day-table", "merge_on_read-by-day-partition"}

Row = dict[str, Any]


@dataclass
class Turns:
    """A table and what it is to hold, by key; every row that comes is later than those before."""

    lake: Lake
    judge: Judge
    spark: SparkSession
    rows: dict[Any, Row] = field(default_factory=dict)
    turn: int = 0

    def some(self, ids: Iterable[int], *, day: str | None = None) -> list[Row]:
        """Return rows with these ids, each in its day or in `day`, with values of this turn."""
        self.turn += 1
        return [
            {
                "id": each,
                "day": day or f"d{each % 3}",
                "ts": self.turn,
                "v": f"turn {self.turn}",
                "tags": [f"t{each}", "all"],
                "at": self.turn * 1_000_000,
            }
            for each in ids
        ]

    def ours(self, operation: WriteOperation, rows: list[Row]) -> None:
        """Load rows ourselves; then the judge reads the table, and so do we."""
        load(self.lake, operation, pa.Table.from_pylist(rows, SCHEMA))
        if operation is WriteOperation.INSERT_OVERWRITE:
            days = {row["day"] for row in rows}
            self.rows = {key: row for key, row in self.rows.items() if row["day"] not in days}
        for row in rows:
            if operation is WriteOperation.DELETE:
                self.rows.pop(self._key(row), None)
            else:
                self.rows[self._key(row)] = row
        self._compare()

    def theirs(self, rows: list[Row], **options: str) -> None:
        """Let the judge upsert rows; then both read the table."""
        batch = self.lake.folder / f"theirs-{self.turn}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), batch)
        printed = printed_options(self.location)
        self.judge.upsert(self.location, batch, {**printed, **options})
        self.rows |= {self._key(row): row for row in rows}
        self._compare()

    @property
    def location(self) -> Path:
        """The table's."""
        return self.lake.folder / "table"

    def _key(self, row: Row) -> Any:
        whole = self.lake.scope is KeyScope.TABLE
        return row["id"] if whole else (row["id"], row["day"])

    def _compare(self) -> None:
        table = pa.Table.from_pylist(list(self.rows.values()), SCHEMA)
        expected = canonical_rows([tuple(row.values()) for row in table.to_pylist()])
        found = read(self.spark, self.location).select(*SCHEMA.names).collect()
        assert canonical_rows([tuple(row) for row in found]) == expected
        assert self.judge.rows(self.location, SCHEMA.names) == expected


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in SAMPLE else pytest.mark.full) for n in TABLES]
)
def test_loads_and_writes_of_apache_hudi_take_turns(
    name: str, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """Five rounds of ours and theirs: inserts, upserts, deletes, overwrites, compactions."""
    kind, partition, scope = TABLES[name]
    lake = Lake(
        folder=tmp_path, partition=partition, scope=KeyScope(scope), type=kind, ordering="ts"
    )
    turns = Turns(lake=lake, judge=judge, spark=spark)
    turns.ours(WriteOperation.INSERT, turns.some(range(30)))
    turns.theirs(turns.some([0, 4, 8, 30, 31]))
    turns.ours(WriteOperation.UPSERT, turns.some([0, 1, 8, 31, 32, 40]))
    turns.theirs(turns.some([1, 2, 40, 41]))
    turns.ours(WriteOperation.DELETE, turns.some([2, 3, 41, 99]))
    turns.theirs(turns.some([3, 5]), **(COMPACT if kind is TableType.MERGE_ON_READ else {}))
    if scope == KeyScope.TABLE and partition:
        turns.ours(WriteOperation.UPSERT, turns.some([6, 7], day="d9"))
    turns.ours(WriteOperation.UPSERT, turns.some([3, 5, 50]))
    if partition:
        turns.ours(WriteOperation.INSERT_OVERWRITE, turns.some([60, 63], day="d0"))
    turns.theirs(turns.some([60, 10, 70]))
    turns.ours(WriteOperation.BULK_INSERT, turns.some([80, 81, 82]))
    turns.ours(WriteOperation.DELETE, turns.some([80, 10]))


@pytest.mark.parametrize(
    "kind", [TableType.COPY_ON_WRITE, pytest.param(TableType.MERGE_ON_READ, marks=pytest.mark.full)]
)
def test_loads_with_automatic_keys_are_written_on(
    kind: TableType, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """Rows that we numbered are read by the judge, and keep their keys when it writes on."""
    lake = Lake(folder=tmp_path, record_key=(), scope=KeyScope.TABLE, type=kind, ordering="ts")
    turns = Turns(lake=lake, judge=judge, spark=spark)
    turns.ours(WriteOperation.INSERT, turns.some(range(6)))
    turns.ours(WriteOperation.BULK_INSERT, turns.some(range(6, 9)))
    keys = {row[1]: row[0] for row in judge.rows(turns.location, ["_hoodie_record_key", "id"])}
    assert len(set(keys.values())) == 9
    batch = tmp_path / "theirs.parquet"
    pq.write_table(pa.Table.from_pylist(turns.some([9]), SCHEMA), batch)
    insert = {**printed_options(turns.location), "hoodie.datasource.write.operation": "insert"}
    judge.ask("write", location=str(turns.location), batch=str(batch), options=insert)
    after = {row[1]: row[0] for row in judge.rows(turns.location, ["_hoodie_record_key", "id"])}
    assert {each: after[each] for each in keys} == keys
    assert len(set(after.values())) == 10
    changed = pa.Table.from_pylist(turns.some([2, 9]), SCHEMA)
    known = pa.array([after[2], after[9]])
    load(lake, WriteOperation.UPSERT, changed.append_column("_hoodie_record_key", known))
    found = {row[0]: row[1] for row in judge.rows(turns.location, ["id", "v"])}
    assert len(found) == 10
    assert found[2] == found[9] == f"turn {turns.turn}"
