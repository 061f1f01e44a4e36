"""What Spark writes in its old calendar: our tables of it hold what Spark reads from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.spark import read
from tests.interop.canonical import canonical_rows
from tests.support.legacy import COLUMNS, JULIAN, STAMPS, spark_writes, write_legacy
from tests.support.writing import rows_of, run_spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ZONES = ["America/Los_Angeles", "UTC", "Europe/Amsterdam", "+02:00"]
SAMPLE = {(ZONES[0], "INT96"), (ZONES[1], "TIMESTAMP_MILLIS"), (ZONES[2], "TIMESTAMP_MICROS")}
MATRIX = [
    pytest.param(zone, stamp, marks=() if (zone, stamp) in SAMPLE else pytest.mark.full)
    for zone in ZONES
    for stamp in STAMPS
]
REBASE = "spark.sql.parquet.{}RebaseModeInRead"


def spec(folder: Path, mode: str) -> dict[str, Any]:
    """Return a spec that adopts `source` and then loads what is in `landing`."""
    key = {"columns": ["id"], "unique_within": "table"}
    table = {"name": "a.old", "location": str(folder / "table"), "record_key": key}
    bootstrap = {"path": str(folder / "source"), "layout": "none", "mode": mode}
    return {"version": 1, "table": {**table, "ordering": "commit_time"}, "bootstrap": bootstrap}


def loading(folder: Path) -> dict[str, Any]:
    """Return a spec that upserts what is in `landing`."""
    document = spec(folder, "full_record")
    del document["bootstrap"]
    source = {"source": {"path": str(folder / "landing")}}
    return {**document, **source, "write": {"operation": "upsert"}}


def collected(frame: DataFrame) -> list[list[object]]:
    """Return the rows of a frame in canonical form."""
    return canonical_rows([tuple(row) for row in frame.select(*COLUMNS).collect()])


def stored(folder: Path) -> list[list[object]]:
    """Return the rows of a table as tasks without Spark read them."""
    rows = rows_of(str(folder / "table"))
    return canonical_rows([tuple(row[name] for name in COLUMNS) for row in rows])


def updated(rows: Sequence[Sequence[object]], number: int) -> list[list[object]]:
    """Return canonical rows of which one was updated."""
    return canonical_rows([*row[:-1], "after"] if row[0] == number else [*row] for row in rows)


def change_one(spark: SparkSession, folder: Path, number: int) -> None:
    """Put a new version of a row into `landing`, as Spark reads it from the source."""
    frame = spark.read.parquet(str(folder / "source")).where(f"id = {number}")
    session = frame.sparkSession.newSession()
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
    values = frame.selectExpr(*COLUMNS[:-1], "'after' as v")
    again = session.createDataFrame(values.collect(), values.schema)
    again.write.parquet(str(folder / "landing"))


@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
@pytest.mark.parametrize(("zone", "stamp"), MATRIX)
def test_table_of_legacy_files_of_spark_holds_what_spark_reads(
    spark: SparkSession, tmp_path: Path, mode: str, zone: str, stamp: str
) -> None:
    """Before and after an upsert that changes one row of a file and leaves the others alone."""
    spark_writes(spark, tmp_path / "source", zone=zone, stamp=stamp, settings={})
    expected = collected(spark.read.parquet(str(tmp_path / "source")))
    run_spec(spec(tmp_path, mode), tmp_path)
    assert stored(tmp_path) == expected
    assert collected(read(spark, tmp_path / "table")) == expected
    change_one(spark, tmp_path, 2)
    run_spec(loading(tmp_path), tmp_path)
    assert stored(tmp_path) == updated(expected, 2)
    assert collected(read(spark, tmp_path / "table")) == updated(expected, 2)


@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
@pytest.mark.parametrize("setting", ["EXCEPTION", "LEGACY"])
def test_read_of_early_days_without_marks_is_the_same_under_any_setting(
    spark: SparkSession, tmp_path: Path, mode: str, setting: str
) -> None:
    """Files of other writers are Gregorian, in tasks and in Spark's own scan alike."""
    days = pa.array([JULIAN, None], pa.date32())
    moments = days.cast(pa.timestamp("us", tz="UTC"))
    rows = pa.table({"id": [0, 1], "d": days, "t": moments})
    write_legacy(tmp_path / "source" / "a.parquet", rows, {})
    run_spec(spec(tmp_path, mode), tmp_path)
    session = spark.newSession()
    for kind in ("datetime", "int96"):
        session.conf.set(REBASE.format(kind), setting)
    found = read(session, tmp_path / "table").where("id = 0").first()
    assert found is not None
    assert found["d"] == JULIAN
    assert found["t"].date() == JULIAN
    if mode == "full_record":
        (file,) = (tmp_path / "table").glob("*.parquet")
        days = session.read.parquet(str(file)).where("id = 0").select("d").collect()
        assert [row["d"] for row in days] == [JULIAN]
        assert pq.read_table(file)["d"].to_pylist() == [JULIAN, None]
