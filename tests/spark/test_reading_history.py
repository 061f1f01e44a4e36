"""The past, windows of changes, and base files alone, on tables that Apache Hudi wrote."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import (
    CorruptFileError,
    PlanError,
    SourceDriftError,
    UnsupportedTableError,
)
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.timeline import load_timeline
from framework.spark import read, read_incremental, read_optimized
from framework.vocabulary import TableType, WriteOperation
from tests.golden.tables.opening import golden_names, open_golden
from tests.support.source_lakes import adopt, hive_lake
from tests.support.writing import Lake, load, run_spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

WRITTEN = [name for name in golden_names() if name.startswith("written")]
SEQNO = "_hoodie_commit_seqno"


def instants(location: Path) -> list[str]:
    """Return the two instants of a golden table, an insert of ids 0 to 5 and an upsert of 4 to 7.

    The upsert's ordering values are less: with 1.2.0 the records that were there stay.
    """
    timeline = load_timeline(open_storage(str(location)))
    first, second = (each.requested_time for each in timeline.completed)
    return [first, second]


def ids(frame: DataFrame) -> list[int]:
    """Return the ids of all rows, sorted."""
    return sorted(row.id for row in frame.select("id").collect())


@pytest.mark.parametrize("name", WRITTEN)
def test_read_as_of_an_instant_gives_the_rows_of_that_time(spark: SparkSession, name: str) -> None:
    """Also by the second, and by a time of day in the table's own zone."""
    location = open_golden(name).location
    first, second = instants(location)
    when = (
        f"{second[:4]}-{second[4:6]}-{second[6:8]} {second[8:10]}:{second[10:12]}:{second[12:14]}"
    )
    before = list(range(6))
    assert ids(read(spark, location, as_of=first)) == before
    assert ids(read(spark, location, as_of=str(int(second) - 1))) == before
    assert ids(read(spark, location, as_of=second)) == ids(read(spark, location))
    assert ids(read(spark, location, as_of=second[:14])) == ids(read(spark, location))
    assert ids(read(spark, location, as_of=f"{when}.{second[14:]}")) == ids(read(spark, location))


def test_read_as_of_a_time_before_the_table_is_refused(spark: SparkSession) -> None:
    """It is no empty table."""
    with pytest.raises(UnsupportedTableError) as caught:
        read(spark, open_golden(WRITTEN[0]).location, as_of="1999-12-31")
    assert caught.value.condition == "read/before-table"


@pytest.mark.parametrize("name", WRITTEN)
def test_read_incremental_gives_what_was_written_in_the_window(
    spark: SparkSession, name: str
) -> None:
    """The beginning is not included, the end is; without either it is all."""
    golden = open_golden(name)
    location = golden.location
    first, second = instants(location)
    place = golden.columns.index("id")
    new = sorted(int(str(row[place])) for row in golden.rows if row[0] == second)
    assert set(new) >= {6, 7}
    assert ids(read_incremental(spark, location)) == ids(read(spark, location))
    assert ids(read_incremental(spark, location, end=first)) == list(range(6))
    assert ids(read_incremental(spark, location, first)) == new
    assert ids(read_incremental(spark, location, first, second)) == new
    assert ids(read_incremental(spark, location, second)) == []
    partition = "day=2024-02-28"
    assert ids(read_incremental(spark, location, first, partition=partition)) == [6, 7]


def test_read_incremental_takes_a_commit_in_parts(spark: SparkSession, tmp_path: Path) -> None:
    """By sequence numbers, whose numbers are compared, not their text."""
    table = adopt(hive_lake(), tmp_path)
    rows = read(spark, table).select(SEQNO).collect()
    found = sorted((row[0] for row in rows), key=lambda text: [int(p) for p in text.split("_")])
    assert len(found) > 20
    for start in range(0, len(found), 7):
        begin = found[start - 1] if start else None
        part = found[start : start + 7]
        window = read_incremental(spark, table, begin, part[-1])
        assert {row[0] for row in window.select(SEQNO).collect()} == set(part)


def test_read_incremental_of_a_window_that_ends_first_is_refused(spark: SparkSession) -> None:
    """Else it would be empty, and look as if nothing had happened."""
    location = open_golden(WRITTEN[0]).location
    first, second = instants(location)
    with pytest.raises(PlanError) as caught:
        read_incremental(spark, location, second, first)
    assert caught.value.condition == "read/window-ends-first"


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize(
    "query", [read, read_optimized, read_incremental], ids=["all", "base", "new"]
)
def test_queries_of_one_table_have_the_same_columns(
    spark: SparkSession, name: str, query: Callable[[SparkSession, Path], DataFrame]
) -> None:
    """So that they can be put together."""
    location = open_golden(name).location
    assert query(spark, location).schema == read(spark, location).schema


def test_read_optimized_ignores_log_files(spark: SparkSession, tmp_path: Path) -> None:
    """A damaged one is not looked at, in contrast to `read`."""
    table = adopt(hive_lake(), tmp_path)
    base = next((table / "month=2").glob("*.parquet")).name.partition("_")[0]
    (table / "month=2" / f".{base}_00000000000001.log.1_1-0-1").write_bytes(b"no block")
    assert read_optimized(spark, table).count() > 0
    with pytest.raises(Exception, match="log/damaged"):
        read(spark, table).count()


@pytest.mark.parametrize("ordering", [None, "n"])
@pytest.mark.parametrize("starts", ["rows", "skeletons"])
def test_read_incremental_scans_nothing_below_logs_that_came_later(
    spark: SparkSession, tmp_path: Path, starts: str, ordering: str | None
) -> None:
    """A log row that loses against the base file's does not come; base rows are not looked at."""
    lake = Lake(folder=tmp_path, type=TableType.MERGE_ON_READ, ordering=ordering)
    first = [{"id": number, "day": "a", "n": 5} for number in range(20)]
    if starts == "rows":
        load(lake, WriteOperation.INSERT, first)
    else:
        adopt_for(lake, first)
    begin = max(instants_of(lake))
    changed = [{"id": 3, "day": "a", "n": 9}, {"id": 4, "day": "a", "n": 1}]
    load(lake, WriteOperation.UPSERT, changed)
    window = read_incremental(spark, lake.location, begin)
    expected = [3] if ordering else [3, 4]
    assert ids(window) == expected
    assert window.inputFiles() == []
    assert read_incremental(spark, lake.location).inputFiles() != []
    inside = f"{begin}_0_17"
    assert {18, 19, *expected} <= set(ids(read_incremental(spark, lake.location, inside)))


def adopt_for(lake: Lake, rows: list[dict[str, Any]]) -> None:
    """Make the table of a lake by adopting rows of one day."""
    folder = lake.folder / "source" / "day=a"
    folder.mkdir(parents=True)
    table = pa.Table.from_pylist(rows).drop_columns(["day"])
    pq.write_table(table, folder / "0.parquet", store_schema=False)
    declared = {
        "name": "a.loaded",
        "location": lake.location,
        "type": lake.type.value,
        "partition_by": {"day": "string"},
        "record_key": {"columns": ["id"], "unique_within": "partition"},
        "ordering": {"columns": [lake.ordering]} if lake.ordering else "commit_time",
    }
    bootstrap = {"path": str(folder.parent), "layout": "hive"}
    run_spec({"version": 1, "table": declared, "bootstrap": bootstrap}, lake.folder)


def instants_of(lake: Lake) -> list[str]:
    """Return the completed instants of a table."""
    timeline = load_timeline(open_storage(lake.location))
    return [each.requested_time for each in timeline.completed]


@pytest.mark.parametrize("harm", ["source", "index"])
def test_read_incremental_refuses_damage_below_unscanned_logs_too(
    spark: SparkSession, tmp_path: Path, harm: str
) -> None:
    """Ordering values decide which log rows stay, so a changed source or a lost index counts."""
    lake = Lake(folder=tmp_path, type=TableType.MERGE_ON_READ, ordering="n")
    adopt_for(lake, [{"id": number, "day": "a", "n": 5} for number in range(20)])
    begin = max(instants_of(lake))
    load(lake, WriteOperation.UPSERT, [{"id": 3, "day": "a", "n": 1}])
    assert ids(read_incremental(spark, lake.location, begin)) == []
    if harm == "source":
        source = tmp_path / "source" / "day=a" / "0.parquet"
        rows = pq.read_table(source, partitioning=None)
        pq.write_table(rows.slice(1), source, store_schema=False)
        expected: type[Exception] = SourceDriftError
    else:
        shutil.rmtree(tmp_path / "table" / ".hoodie" / ".aux")
        expected = CorruptFileError
    with pytest.raises(expected):
        read_incremental(spark, lake.location, begin).collect()
