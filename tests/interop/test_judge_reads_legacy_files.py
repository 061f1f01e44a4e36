"""Tables of files in Spark's old calendar: the judge reads what Spark reads from the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.interop.canonical import canonical_rows
from tests.interop.judge import Judge, JudgeError
from tests.support.legacy import COLUMNS, JULIAN, STAMPS, spark_writes, write_legacy
from tests.support.writing import rows_of, run_spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.interop

MODES = ["metadata_only", "full_record"]
ZONES = ["UTC", "America/Los_Angeles", "Europe/Amsterdam", "Asia/Manila", "+02:00"]
SAMPLE = {"America/Los_Angeles TIMESTAMP_MICROS", "America/Los_Angeles INT96"}
MATRIX = [
    pytest.param(each, marks=() if each in SAMPLE else pytest.mark.full)
    for each in (f"{zone} {stamp}" for zone in ZONES for stamp in STAMPS)
]


def spec(folder: Path, **sections: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec of the table with one section more."""
    key = {"columns": ["id"], "unique_within": "table"}
    table = {"name": "judged.old", "location": str(folder / "table"), "record_key": key}
    return {"version": 1, "table": {**table, "ordering": "commit_time"}, **sections}


def adopt(folder: Path, mode: str) -> Path:
    """Adopt `source` and return the table."""
    bootstrap = {"path": str(folder / "source"), "layout": "none", "mode": mode}
    run_spec(spec(folder, bootstrap=bootstrap), folder)
    return folder / "table"


def upsert(folder: Path) -> None:
    """Load what is in `landing`."""
    source = {"path": str(folder / "landing")}
    run_spec(spec(folder, source=source, write={"operation": "upsert"}), folder)


def change_one(folder: Path, number: int) -> None:
    """Put a new version of one row of the table into `landing`."""
    rows = [row for row in rows_of(str(folder / "table")) if row["id"] == number]
    schema = pa.schema([(f.name, f.type) for f in _data_schema(folder)])
    table = pa.Table.from_pylist([{**row, "v": "after"} for row in rows], schema)
    (folder / "landing").mkdir()
    pq.write_table(table, folder / "landing" / "1.parquet", store_schema=False)


def _data_schema(folder: Path) -> pa.Schema:
    """Return the columns of the source, timestamps in microseconds and UTC."""
    first = next(iter(sorted((folder / "source").glob("*.parquet"))))
    schema = pq.ParquetFile(first, coerce_int96_timestamp_unit="us").schema_arrow
    return pa.schema([pa.field(f.name, _utc(f.type)) for f in schema.remove_metadata()])


def _utc(kind: Any) -> Any:
    """Return a type with its timestamps in microseconds and UTC."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC")
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _utc(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(_utc(kind.key_type), _utc(kind.item_type))
    return pa.list_(_utc(kind.value_type)) if pa.types.is_list(kind) else kind


def spark_reads(spark: SparkSession, folder: Path) -> list[list[object]]:
    """Return what Spark itself reads from the source."""
    frame = spark.read.parquet(str(folder / "source")).select(*COLUMNS)
    return canonical_rows([tuple(row) for row in frame.collect()])


def updated(rows: Sequence[Sequence[object]], number: int) -> list[list[object]]:
    """Return canonical rows of which one was updated."""
    return canonical_rows([*row[:-1], "after"] if row[0] == number else [*row] for row in rows)


@pytest.mark.taking_turns
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("written", MATRIX)
def test_judge_reads_legacy_files_as_spark_does(
    judge: Judge, spark: SparkSession, tmp_path: Path, mode: str, written: str
) -> None:
    """As adopted, after our upsert of one row of a file, and after another one of the result."""
    zone, stamp = written.split()
    spark_writes(spark, tmp_path / "source", zone=zone, stamp=stamp, settings={})
    expected = spark_reads(spark, tmp_path)
    location = adopt(tmp_path, mode)
    assert judge.rows(location, COLUMNS) == expected
    for number in (2, 3):
        change_one(tmp_path, number)
        upsert(tmp_path)
        expected = updated(expected, number)
        assert judge.rows(location, COLUMNS) == expected
        (tmp_path / "landing" / "1.parquet").unlink()
        (tmp_path / "landing").rmdir()


@pytest.mark.parametrize("mode", MODES)
def test_judge_reads_early_days_without_marks_as_the_gate_says(
    judge: Judge, tmp_path: Path, mode: str
) -> None:
    """Skeletons need a setting of Spark 3; files that we wrote do not."""
    days = pa.array([JULIAN, None], pa.date32())
    rows = pa.table({"id": [0, 1], "d": days})
    write_legacy(tmp_path / "source" / "a.parquet", rows, {})
    location = adopt(tmp_path, mode)
    expected = canonical_rows([tuple(row.values()) for row in rows.to_pylist()])
    if mode == "metadata_only":
        with pytest.raises(JudgeError, match="SparkUpgradeException"):
            judge.rows(location, ["id", "d"])
        return
    assert judge.rows(location, ["id", "d"]) == expected
