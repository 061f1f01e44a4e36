"""Loads of ours and writes of Apache Hudi take turns on one table; both read it the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.vocabulary import KeyScope, PartitionType, TableType, WriteOperation
from tests.interop.judge import Judge
from tests.interop.printed import printed_options
from tests.interop.turns import SCHEMA, Turns
from tests.support.writing import Lake, load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
BY_DAY = {"day": PartitionType.STRING}
TABLES = {
    f"{kind}-{'by-day' if partition else 'whole'}-{scope}": (kind, partition, scope)
    for kind in TableType
    for partition, scope in ((BY_DAY, KeyScope.PARTITION), (BY_DAY, KeyScope.TABLE), ({}, "table"))
}
SAMPLE = {"copy_on_write-by-day-table", "merge_on_read-by-day-partition"}


@pytest.mark.taking_turns
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
