"""Loads into tables that Apache Hudi made, wrote for long, or bootstrapped itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.vocabulary import KeyScope, TableType, WriteOperation
from tests.interop.judge import KEEP_VERSION_6, Judge
from tests.interop.turns import SCHEMA, Turns
from tests.support.writing import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.taking_turns]

MADE = {
    "hoodie.table.name": "made",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "day",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "hoodie.datasource.write.hive_style_partitioning": "true",
}
ARCHIVE_SOON = {
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.commits.retained": "1",
}
BOOTSTRAP = {
    "hoodie.bootstrap.keygen.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "hoodie.bootstrap.parallelism": "2",
    "hoodie.bootstrap.mode.selector": (
        "org.apache.hudi.client.bootstrap.selector.MetadataOnlyBootstrapModeSelector"
    ),
}
KINDS = [
    TableType.COPY_ON_WRITE,
    pytest.param(TableType.MERGE_ON_READ, marks=pytest.mark.full),
]


def options_of(kind: TableType, **more: str) -> dict[str, str]:
    """Return the options under which the judge makes and writes a table."""
    return {**MADE, "hoodie.datasource.write.table.type": kind.upper(), **more}


@pytest.mark.parametrize("kind", KINDS)
def test_table_whose_first_instants_are_archived_is_loaded_into(
    kind: TableType, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """What was archived counts as completed: no row of it is lost, and none comes back."""
    lake = Lake(folder=tmp_path, scope=KeyScope.PARTITION, type=kind, ordering="ts")
    turns = Turns(lake=lake, judge=judge, spark=spark)
    options = options_of(kind, **ARCHIVE_SOON)
    turns.under(options, [*turns.some(range(30)), *turns.some([90], day="d9")])
    (first,) = (path.name.partition(".")[0] for path in _completed(turns.location))
    for number in range(7):
        turns.under(options, turns.some([number, 30 + number]))
    assert first not in {path.name.partition(".")[0] for path in _completed(turns.location)}
    assert list(turns.location.rglob(f"*_{first}.parquet")), "nothing is left of the first instant"
    turns.compare()
    turns.ours(WriteOperation.UPSERT, turns.some([0, 8, 29, 31, 50]))
    turns.ours(WriteOperation.DELETE, turns.some([1, 9, 32]))
    turns.ours(WriteOperation.INSERT, turns.some([60, 61]))
    turns.under(options, turns.some([0, 60, 70]))
    turns.compare()
    turns.ours(WriteOperation.UPSERT, turns.some([60, 10]))


@pytest.mark.parametrize("kind", KINDS)
def test_table_that_apache_hudi_bootstrapped_is_loaded_into(
    kind: TableType, judge: Judge, spark: SparkSession, tmp_path: Path
) -> None:
    """Its skeletons are looked into and merged with their sources as ours are."""
    lake = Lake(folder=tmp_path, scope=KeyScope.PARTITION, type=kind, ordering="ts")
    turns = Turns(lake=lake, judge=judge, spark=spark)
    rows = turns.some(range(18))
    for day in ("d0", "d1", "d2"):
        folder = tmp_path / "source" / f"day={day}"
        folder.mkdir(parents=True)
        mine = pa.Table.from_pylist([row for row in rows if row["day"] == day], SCHEMA)
        pq.write_table(mine.drop_columns(["day"]), folder / "0.parquet", store_schema=False)
    options = options_of(kind)
    base = {"hoodie.bootstrap.base.path": str(tmp_path / "source")}
    every = {**KEEP_VERSION_6, **options, **BOOTSTRAP, **base}
    judge.ask("bootstrap", location=str(turns.location), options=every)
    turns.rows = {(row["id"], row["day"]): row for row in rows}
    turns.compare()
    turns.ours(WriteOperation.UPSERT, turns.some([0, 3, 30]))
    turns.ours(WriteOperation.DELETE, turns.some([1, 6]))
    turns.under(options, turns.some([2, 30, 31]))
    turns.compare()
    turns.ours(WriteOperation.UPSERT, turns.some([2, 5, 31]))


def _completed(location: Path) -> list[Path]:
    """Return the completed data instants that are not archived."""
    hoodie = location / ".hoodie"
    return [*hoodie.glob("*.commit"), *hoodie.glob("*.deltacommit")]
