"""Slices with log files: base files are scanned natively, and no row is returned twice."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import SourceDriftError
from framework.spark import read
from framework.spark.reading import merged, snapshot
from framework.vocabulary import KeyScope, TableType, WriteOperation
from tests.golden.tables.opening import golden_names, open_golden
from tests.support.writing import Lake, load, rows_of, run_spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

WITH_LOGS = [name for name in golden_names() if name.startswith("written-merge-on-read")]
ODD_DAYS = ("a b", "é+1", "x#y[1]", "{é}", "it's")


def plain(rows: Any) -> list[str]:
    """Return rows as sorted texts."""
    return sorted(str(sorted(row.items())) for row in rows)


def found(frame: DataFrame) -> list[str]:
    """Return the rows of a frame as sorted texts."""
    return plain(row.asDict(recursive=True) for row in frame.collect())


@pytest.fixture
def merged_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tasks merge whole slices, as they do where logs are large."""
    monkeypatch.setattr(snapshot, "merged_frames", partial(merged.merged_frames, most_bytes=-1))


@pytest.mark.parametrize("name", WITH_LOGS)
def test_slices_of_apache_hudi_are_the_same_merged_whole_and_scanned_below(
    spark: SparkSession, name: str, request: pytest.FixtureRequest
) -> None:
    """Rows, and all of their columns."""
    location = open_golden(name).location
    below = read(spark, location)
    request.getfixturevalue("merged_whole")
    whole = read(spark, location)
    assert "LeftAnti" in plan_of(below)
    assert "LeftAnti" not in plan_of(whole)
    assert found(below) == found(whole) != []


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A merge-on-read table over adopted files in folders of odd names, changed by two loads."""
    folder = tmp_path_factory.mktemp("odd names")
    for number, day in enumerate(ODD_DAYS):
        ids = range(number * 100, number * 100 + 20)
        rows = {"id": ids, "ts": [1] * 20, "v": ["raw"] * 20}
        write(folder / "raw" / day / "é 1.parquet", rows)
    changed = [number * 100 + 3 for number in range(len(ODD_DAYS))]
    new = {"id": [*changed, 900], "day": [*ODD_DAYS, "a b"], "ts": [2] * 6, "v": ["new"] * 6}
    write(folder / "upsert" / "1.parquet", new)
    write(folder / "delete" / "1.parquet", {"id": [105], "day": [ODD_DAYS[1]]})
    for operation in ("upsert", "upsert", "delete"):  # the first run adopts
        run_spec(a_spec(folder, operation), folder)
    return folder / "table"


def write(path: Path, columns: Mapping[str, Any]) -> None:
    """Write a Parquet file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def a_spec(folder: Path, operation: str) -> dict[str, Any]:
    """Return a spec that adopts `raw`, then loads from a folder named as the operation."""
    return {
        "version": 1,
        "table": {
            "name": "shop.orders",
            "location": str(folder / "table"),
            "type": "merge_on_read",
            "partition_by": {"day": "string"},
            "record_key": {"columns": ["id"], "unique_within": "partition"},
            "ordering": {"columns": ["ts"]},
        },
        "bootstrap": {"path": str(folder / "raw"), "layout": "positional"},
        "source": {"path": str(folder / operation)},
        "write": {"operation": operation},
    }


def test_rows_below_logs_come_once_whatever_their_folders_are_called(
    spark: SparkSession, adopted: Path
) -> None:
    """A changed row comes as it is last, a deleted one not at all, and filters reach the scan."""
    frame = read(spark, adopted)
    assert found(frame) == plain(rows_of(str(adopted)))
    assert frame.count() == len(ODD_DAYS) * 20
    assert frame.where("v = 'new'").count() == 6
    assert frame.where("day = 'a b'").select("id").distinct().count() == 21
    narrow = frame.where("ts = 1").select("id")
    assert "ReadSchema: struct<id:bigint,ts:bigint>" in plan_of(narrow)
    assert "PushedFilters: [IsNotNull(ts), EqualTo(ts,1)]" in plan_of(narrow)


def test_source_below_logs_that_changed_is_drift(spark: SparkSession, adopted: Path) -> None:
    """Adopted files are compared, also below log files."""
    source = next((adopted.parent / "raw" / "a b").iterdir())
    before = source.stat()
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    with pytest.raises(SourceDriftError):
        read(spark, adopted)
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("kind", [TableType.MERGE_ON_READ])
def test_logs_over_base_files_of_several_loads_are_merged(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    """Base files with whole rows, some below logs and some not, and a log written twice over."""
    lake = Lake(folder=tmp_path, scope=KeyScope.TABLE, type=kind, ordering="ts")

    def rows(ids: Iterable[int], day: str, ts: int) -> list[dict[str, Any]]:
        return [{"id": each, "day": day, "ts": ts, "v": f"{ts}"} for each in ids]

    load(lake, WriteOperation.INSERT, rows(range(9), "a", 1), rows(range(10, 19), "b", 1))
    load(lake, WriteOperation.UPSERT, rows([0, 1], "a", 2))
    load(lake, WriteOperation.UPSERT, rows([1, 2], "a", 3), rows([30], "c", 3))
    frame = read(spark, lake.location)
    assert found(frame) == plain(rows_of(lake.location))
    assert "MapInArrow" in plan_of(frame)
    totals = frame.groupBy("v").count().orderBy("v").collect()
    assert [tuple(row) for row in totals] == [("1", 15), ("2", 1), ("3", 3)]


def plan_of(frame: DataFrame) -> str:
    """Return the physical plan."""
    plan: Any = frame
    return str(plan._jdf.queryExecution().toString())  # noqa: SLF001  as `explain` does
