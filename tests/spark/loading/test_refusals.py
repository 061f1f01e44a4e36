"""Inputs that Spark does not take: each with its condition, Spark's words and a remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from framework.errors import PlanError, SourceDriftError
from framework.plan.load import Transform
from framework.spark.loading.frames import open_input
from tests.support.inputs import an_input, write_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def _refused(spark: SparkSession, path: Path, *sql: str, **more: Any) -> PlanError:
    """Return the error of opening an input."""
    with pytest.raises(PlanError) as caught:
        open_input(spark, an_input(path, *sql, **more))
    error = caught.value
    assert error.where.file
    assert error.remedy
    assert "\n" not in error.message
    assert "JVM" not in error.message
    return error


@pytest.mark.parametrize("name", ["nonsense", "org.example.Nonsense", "avro"])
def test_format_that_spark_lacks_is_refused(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Whether unknown at all or of a package that is not there."""
    error = _refused(spark, tmp_path, format=name)
    assert error.condition == "input/unknown-format"
    assert f"`{name}`" in error.message


@pytest.mark.parametrize("schema", ["id", "id BIGINT,", "id NONSENSE", "a b c", "id CHAR("])
def test_schema_that_is_none_is_refused(spark: SparkSession, tmp_path: Path, schema: str) -> None:
    """Before anything is looked for."""
    assert _refused(spark, tmp_path, schema=schema).condition == "input/bad-schema"


def _absent(folder: Path) -> dict[str, Any]:
    folder.rmdir()
    return {}


def _hidden_file(folder: Path) -> dict[str, Any]:
    files = [write_rows(folder / "a.parquet"), write_rows(folder / "_b.parquet")]
    return {"files": tuple(map(str, files)), "schema": "id BIGINT"}


def _nothing(_: Path) -> dict[str, Any]:
    return {}


def _no_parquet(folder: Path) -> dict[str, Any]:
    (folder / "a.parquet").write_text("no Parquet at all, though long enough")
    return {}


def _beside_partitions(folder: Path) -> dict[str, Any]:
    write_rows(folder / "month=1" / "a.parquet")
    write_rows(folder / "day=1" / "a.parquet")
    return {}


def _bad_option(folder: Path) -> dict[str, Any]:
    (folder / "a.csv").write_text("1\n")
    return {"format": "csv", "options": {"header": "maybe"}}


@pytest.mark.parametrize(
    "make",
    [
        _absent,
        _hidden_file,
        _nothing,
        _no_parquet,
        _beside_partitions,
        _bad_option,
    ],
)
def test_source_that_cannot_be_opened_is_refused(
    spark: SparkSession, tmp_path: Path, make: Callable[[Path], dict[str, Any]]
) -> None:
    """Nothing of it is taken for no rows."""
    folder = tmp_path / "source"
    folder.mkdir()
    assert _refused(spark, folder, **make(folder)).condition == "input/not-readable"


def test_file_that_was_deleted_after_its_listing_is_drift(
    spark: SparkSession, tmp_path: Path
) -> None:
    """By name, and the next run lists anew."""
    files = (str(write_rows(tmp_path / "a.parquet")), str(tmp_path / "b.parquet"))
    with pytest.raises(SourceDriftError) as caught:
        open_input(spark, an_input(tmp_path, files=files))
    assert (caught.value.condition, caught.value.where.file) == ("input/drift", files[1])


def test_hidden_file_is_named_unless_options_choose(spark: SparkSession, tmp_path: Path) -> None:
    """Spark passes over it in silence; an option that filters does so on purpose."""
    files = (str(write_rows(tmp_path / "a.parquet")), str(write_rows(tmp_path / ".b.parquet")))
    assert _refused(spark, tmp_path, files=files).where.file == files[1]
    chosen = an_input(tmp_path, files=files, options={"PathGlobFilter": "a*"})
    assert open_input(spark, chosen).count() == 10


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "selec 1",
        "select nothing from source",
        "select * from later",
        "select 1 as a; select 2 as b",
        "select 1 as a; drop view source",
        "drop view source",
        "set spark.sql.ansi.enabled=false",
        "create table made_by_mistake as select 1 as a",
        "create temp view v as select 1 as a",
        "with a as (select 1 as x) insert into made_by_mistake select * from a",
        "from source insert into made_by_mistake select *",
        "cache table source",
    ],
)
def test_transform_that_is_no_query_of_what_is_there_is_refused(
    spark: SparkSession, tmp_path: Path, sql: str
) -> None:
    """Commands are refused before they run."""
    write_rows(tmp_path / "a.parquet")
    error = _refused(spark, tmp_path, "select * from source", sql)
    assert error.condition in {"input/bad-sql", "sql/not-allowed"}
    assert "`t2`" in error.message
    assert "`source`, `t1`" in error.remedy
    assert not spark.catalog.tableExists("made_by_mistake")


@pytest.mark.parametrize("name", ["source", "SOURCE", "one"])
def test_transform_whose_name_is_taken_is_refused(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """A view is never another one from one transform to the next."""
    write_rows(tmp_path / "a.parquet")
    both = tuple(Transform(name=each, sql="select 1 as a") for each in ("one", name))
    error = _refused(spark, tmp_path, transforms=both)
    assert error.condition == "input/bad-sql"
    assert f"`{name}`" in error.message
