"""Snapshots: what `read` returns is what the source and the skeletons hold, value by value."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import spark_partition_id

from framework.hudi.table.layout import META_COLUMNS
from framework.spark import read
from tests.support.source_lakes import LAKES, SourceLake, adopt, hive_lake, things
from tests.support.tables import changed_settings, disown

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the table of a lake by its name, adopted when it is first asked for."""
    tables: dict[str, Path] = {}

    def table_of(name: str) -> Path:
        if name not in tables:
            tables[name] = adopt(LAKES[name](), tmp_path_factory.mktemp(name))
        return tables[name]

    return table_of


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    """Return rows as dictionaries, nested ones too, by sequence number where there is one."""
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    return sorted(rows, key=lambda row: str(row.get("_hoodie_commit_seqno") or row))


def stored_rows(table: Path) -> list[dict[str, Any]]:
    """Return the meta columns of a table's files, read without Spark."""
    found: list[dict[str, Any]] = []
    for file in table.rglob("*_00000000000001.parquet"):
        found += pq.read_table(file, partitioning=None, columns=[*META_COLUMNS]).to_pylist()
    return sorted(found, key=lambda row: str(row["_hoodie_commit_seqno"]))


@pytest.mark.parametrize("name", LAKES)
def test_derived_meta_columns_equal_stored_skeletons(
    spark: SparkSession, adopted: Callable[[str], Path], name: str
) -> None:
    """Each meta column of each row is what the skeleton's bytes say."""
    table = adopted(name)
    stored = stored_rows(table)
    assert stored
    assert rows_of(read(spark, table).select(*META_COLUMNS)) == stored


@pytest.mark.parametrize("name", LAKES)
def test_data_columns_equal_source_files(
    spark: SparkSession, adopted: Callable[[str], Path], name: str
) -> None:
    """Each row has its source file's values, beside the meta columns of the same row."""
    frame = read(spark, adopted(name))
    expected = {
        f"00000000000001_{number}_{at}": row
        for number, (_, rows) in enumerate(LAKES[name]().in_order)
        for at, row in enumerate(rows.to_pylist())
    }
    rows = {row["_hoodie_commit_seqno"]: row for row in rows_of(frame)}
    assert rows.keys() == expected.keys()
    for seqno, row in expected.items():
        shown = {column: _as_collected(value) for column, value in row.items()}
        assert {column: rows[seqno][column] for column in row} == shown


def _as_collected(value: object) -> object:
    """Return a value as PySpark shows it: instants in this machine's time, without a zone."""
    if isinstance(value, datetime) and value.tzinfo:
        return value.astimezone().replace(tzinfo=None)
    return value


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("hive", {"month": "int"}),
        ("yearly", {"year": "bigint", "day": "date"}),
        ("positional", {"place": "string", "open": "boolean"}),
    ],
)
def test_partition_columns_are_typed_and_come_from_the_path(
    spark: SparkSession, adopted: Callable[[str], Path], name: str, types: dict[str, str]
) -> None:
    """A partition column has its declared type, and its text is that of the folder."""
    frame = read(spark, adopted(name))
    assert {f.name: f.dataType.simpleString() for f in frame.schema if f.name in types} == types
    for row in rows_of(frame.select("_hoodie_partition_path", *types)):
        levels = row["_hoodie_partition_path"].split("/")
        for level, column in zip(levels, types, strict=True):
            text = level.rpartition("=")[2]
            shown = str(row[column]).lower() if isinstance(row[column], bool) else str(row[column])
            assert text == ("__HIVE_DEFAULT_PARTITION__" if row[column] is None else shown)


@pytest.mark.parametrize("name", ["plain", "hive", "positional", "odd", "mixed"])
def test_foreign_skeletons_are_read_to_the_same_rows(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """Without our facts, as after Apache Hudi's own bootstrap, skeletons are read, not derived."""
    table = adopt(LAKES[name](), tmp_path)
    derived = rows_of(read(spark, table))
    disown(table)
    frame = read(spark, table)
    assert "Join" in frame._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001 - the plan is what is tested
    assert rows_of(frame) == derived


@pytest.mark.parametrize("foreign", [False, True])
def test_small_splits_keep_rows_and_meta_columns_together(
    spark: SparkSession, tmp_path: Path, *, foreign: bool
) -> None:
    """A file of many row groups that is cut into many splits gives the same rows."""
    rows = things(0, 20_000)
    table = adopt(SourceLake(files={"a.parquet": rows}, row_group_size=1_000), tmp_path)
    if foreign:
        disown(table)
    with changed_settings(spark, {"spark.sql.files.maxPartitionBytes": "16kb"}):
        frame = read(spark, table)
        assert frame.rdd.getNumPartitions() > 3 or foreign
        found = rows_of(frame.select("_hoodie_commit_seqno", "_hoodie_record_key", "id"))
    assert len(found) == 20_000
    for row in found:
        assert row["_hoodie_record_key"] == str(row["id"])
        assert row["_hoodie_commit_seqno"] == f"00000000000001_0_{row['id']}"


@pytest.mark.parametrize("per_split", [1, 3, 100])
def test_files_per_split_packs_whole_files(
    spark: SparkSession, adopted: Callable[[str], Path], per_split: int
) -> None:
    """Each task gets so many files, the last one perhaps fewer."""
    frame = read(spark, adopted("hive"), files_per_split=per_split)
    rows = frame.withColumn("task", spark_partition_id()).select("task", "_hoodie_file_name")
    files: dict[int, set[str]] = {}
    for row in rows.distinct().collect():
        files.setdefault(row["task"], set()).add(row["_hoodie_file_name"])
    sizes = sorted(map(len, files.values()), reverse=True)
    assert sum(sizes) == 8
    assert set(sizes[:-1]) <= {per_split}
    assert sizes[-1] <= per_split


def test_settings_of_the_session_stay_as_they_were(
    spark: SparkSession, adopted: Callable[[str], Path]
) -> None:
    """Reading leaves no setting behind in the caller's session."""
    before = sorted(map(tuple, spark.sql("SET -v").collect()))
    read(spark, adopted("positional"), files_per_split=1).count()
    assert sorted(map(tuple, spark.sql("SET -v").collect())) == before


def test_frame_belongs_to_the_callers_session(
    spark: SparkSession, adopted: Callable[[str], Path]
) -> None:
    """A view of it is seen by SQL, and it joins with the caller's frames."""
    frame = read(spark, adopted("hive"))
    frame.createOrReplaceTempView("things_read")
    found = spark.sql("select count(*) from things_read where month = 10 and n is not null")
    assert found.collect()[0][0] == frame.where("month = 10").where("n is not null").count() > 0
    ids = spark.range(5).withColumnRenamed("id", "wanted")
    assert frame.join(ids, frame["id"] == ids["wanted"]).count() == 5


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.parquet.enableVectorizedReader": "false"},
        {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
        {"spark.sql.ansi.enabled": "true"},
        {"spark.sql.ansi.enabled": "false"},
        {"spark.sql.autoBroadcastJoinThreshold": "-1"},
        {"spark.sql.adaptive.enabled": "false"},
        {"spark.sql.caseSensitive": "true"},
        {"spark.sql.sources.useV1SourceList": ""},
        {"spark.sql.execution.arrow.pyspark.enabled": "true"},
    ],
    ids=lambda settings: ",".join(f"{k[10:]}={v}" for k, v in settings.items()),
)
def test_rows_do_not_depend_on_settings(
    spark: SparkSession, adopted: Callable[[str], Path], settings: dict[str, str]
) -> None:
    """Readers of rows or batches, with or without generated code, see the same."""
    with changed_settings(spark, settings):
        found = rows_of(read(spark, adopted("hive")))
    assert found == rows_of(read(spark, adopted("hive")))


def test_wide_files_are_read_row_by_row_alike(spark: SparkSession, tmp_path: Path) -> None:
    """More columns than Spark reads in batches give the same rows."""
    wide = pa.table({"id": [1, 2, 3]} | {f"c{at}": [at, None, -at] for at in range(220)})
    table = adopt(SourceLake(files={"a.parquet": wide}), tmp_path)
    found = rows_of(read(spark, table))
    assert [{name: row[name] for name in wide.column_names} for row in found] == wide.to_pylist()
    assert [row["_hoodie_record_key"] for row in found] == ["1", "2", "3"]


def test_relative_location_starts_at_the_working_folder(
    spark: SparkSession, adopted: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As any path that a user types."""
    location = adopted("plain")
    monkeypatch.chdir(location.parent)
    assert read(spark, location.name).count() == 13


def test_table_without_files_has_its_columns(spark: SparkSession, tmp_path: Path) -> None:
    """A table of which only empty files were adopted has no rows and all columns."""
    table = adopt(SourceLake(files={"a.parquet": things(0, 0)}), tmp_path)
    frame = read(spark, table)
    assert frame.columns == [*META_COLUMNS, "id", "n", "name"]
    assert frame.count() == 0


def test_merge_on_read_table_without_logs_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """A merge-on-read table whose slices have base files only reads like the other type."""
    lake = hive_lake()
    merged = SourceLake(
        files=lake.files,
        partition_by=lake.partition_by,
        layout=lake.layout,
        table_type="merge_on_read",
    )
    table = adopt(merged, tmp_path)
    assert rows_of(read(spark, table).select(*META_COLUMNS)) == stored_rows(table)
