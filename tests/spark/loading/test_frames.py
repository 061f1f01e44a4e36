"""Opening an input: formats, columns of folders, odd paths, transforms, and nothing left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import orc
from pyspark import RDD
from pyspark.sql import SparkSession

from framework.spark.loading.frames import open_input
from tests.support.inputs import an_input, some_rows, write_rows

pytestmark = pytest.mark.spark

ODD = ("a b", "50%", "%20", "a#1", "[x]", "{y,z}", "é", "a*b", "c?")


@pytest.fixture
def caller(spark: SparkSession) -> SparkSession:
    """A session whose settings and views no other test sees."""
    return spark.newSession()


def _csv(folder: Path) -> dict[str, str]:
    (folder / "a.csv").write_text("id,v\n1,one\n2,two\n")
    return {"header": "true", "inferSchema": "true"}


def _json(folder: Path) -> dict[str, str]:
    lines = [json.dumps({"id": 1, "v": "one"}), json.dumps({"id": 2, "v": "two"})]
    (folder / "a.json").write_text("\n".join(lines))
    return {}


def _orc(folder: Path) -> dict[str, str]:
    orc.write_table(some_rows(1, 3), str(folder / "a.orc"))
    return {}


def _parquet(folder: Path) -> dict[str, str]:
    write_rows(folder / "a.parquet", 1, 3)
    return {}


@pytest.mark.parametrize("write", [_csv, _json, _orc, _parquet])
@pytest.mark.parametrize("by_files", [False, True])
def test_each_format_is_read_by_folder_and_by_files(
    spark: SparkSession, tmp_path: Path, write: Callable[[Path], dict[str, str]], *, by_files: bool
) -> None:
    """Options reach the reader; the same rows come either way."""
    options = write(tmp_path)
    name = write.__name__.removeprefix("_")
    files = (str(tmp_path / f"a.{name}"),) if by_files else None
    frame = open_input(spark, an_input(tmp_path, format=name, options=options, files=files))
    assert sorted(frame.columns) == ["id", "v"]
    assert sorted(row["id"] for row in frame.collect()) == [1, 2]


def test_schema_names_and_types_the_columns(spark: SparkSession, tmp_path: Path) -> None:
    """Its DDL beats what Spark would guess."""
    (tmp_path / "a.csv").write_text("1,2026-01-02\n")
    request = an_input(tmp_path, format="csv", schema="id DECIMAL(10,2), `on` DATE")
    assert open_input(spark, request).dtypes == [("id", "decimal(10,2)"), ("on", "date")]


def test_format_without_a_path_is_given_none(spark: SparkSession, tmp_path: Path) -> None:
    """What a format needs may be in its options alone, which it gets as they are."""
    write_rows(tmp_path / "a.parquet")
    request = an_input(None, options={"path": str(tmp_path)})
    assert open_input(spark, request).count() == 10


def test_named_files_of_partition_folders_keep_their_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The folders above a named file count, and other files do not."""
    for month in (1, 2, 3):
        write_rows(tmp_path / f"month={month}" / "a.parquet", month, month + 1)
    files = tuple(str(tmp_path / f"month={month}" / "a.parquet") for month in (1, 3))
    frame = open_input(spark, an_input(tmp_path, files=files))
    assert frame.columns == ["id", "v", "month"]
    assert sorted((row["id"], row["month"]) for row in frame.collect()) == [(1, 1), (3, 3)]
    typed = an_input(tmp_path, files=files, schema="id BIGINT, month STRING")
    assert dict(open_input(spark, typed).dtypes)["month"] == "string"


def test_source_that_is_one_file_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """A single file has no partition folders."""
    file = write_rows(tmp_path / "a.parquet")
    assert open_input(spark, an_input(file)).count() == 10
    assert open_input(spark, an_input(file, files=(str(file),))).count() == 10


@pytest.mark.parametrize("name", ODD)
def test_paths_are_taken_as_they_are_written(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """Nothing in a folder's or a file's name is a pattern or an escape."""
    folder = tmp_path / name
    file = write_rows(folder / f"k={name}" / f"{name}.parquet")
    for other in ("x", "y", "z", "axb", "cx", "%2520", "a"):
        write_rows(tmp_path / other / "k=other" / f"{other}.parquet")
    assert open_input(spark, an_input(folder)).count() == 10
    assert open_input(spark, an_input(folder, files=(str(file),))).count() == 10


def test_transforms_see_the_source_and_those_before_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The rows of the last one count; an end mark and remarks are no part of a query."""
    write_rows(tmp_path / "a.parquet")
    request = an_input(
        tmp_path,
        "select id, id % 2 as odd from source;",
        "-- those that are odd\nselect id from t1 where odd = 1\n;\n",
        "with whole as (select * from source) select t2.id, v from t2 join whole using (id)",
    )
    assert sorted(row["id"] for row in open_input(spark, request).collect()) == [1, 3, 5, 7, 9]


def test_views_stay_apart_from_those_of_the_caller(caller: SparkSession, tmp_path: Path) -> None:
    """The caller may have a `source` too; neither sees the other's views."""
    write_rows(tmp_path / "a.parquet")
    caller.sql("select 'mine' as v").createTempView("source")
    frame = open_input(caller, an_input(tmp_path, "select count(*) as c from source"))
    assert frame.collect()[0]["c"] == 10
    assert caller.table("source").collect()[0]["v"] == "mine"
    assert [view.name for view in caller.catalog.listTables()] == ["source"]
    again = open_input(caller, an_input(tmp_path, "select max(id) as m from source"))
    assert (again.collect()[0]["m"], frame.collect()[0]["c"]) == (9, 10)


def test_settings_and_functions_of_the_caller_count(caller: SparkSession, tmp_path: Path) -> None:
    """A time zone, say, and what was registered by name."""
    write_rows(tmp_path / "a.parquet", 0, 1)
    caller.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    caller.udf.register("loud", lambda text: text.upper())
    sql = "select current_timezone() as z, loud(v) as l from source"
    assert open_input(caller, an_input(tmp_path, sql)).collect() == [("Asia/Tokyo", "V0")]


def test_session_of_the_caller_stays_as_it_was(caller: SparkSession, tmp_path: Path) -> None:
    """Settings, active session, and what PySpark keeps outside of sessions."""
    write_rows(tmp_path / "a.parquet")
    to_frame, mark = RDD.toDF, "spark.sql.lakestrap.test"
    before = sorted(map(tuple, caller.sql("SET").collect()))
    open_input(caller, an_input(tmp_path, "select 1 as a"), settings={mark: "set"}).collect()
    assert RDD.toDF is to_frame
    assert sorted(map(tuple, caller.sql("SET").collect())) == before
    active = type(caller).getActiveSession()
    assert active is None or active.conf.get(mark, None) is None
