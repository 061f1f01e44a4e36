"""Files of one source that do not have the same columns, which Spark would read in silence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from framework.errors import PlanError
from framework.plan.load import InputRequest
from framework.spark.loading.frames import open_input
from framework.vocabulary import MissingColumns
from tests.support.inputs import an_input

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PART = pa.struct([("a", pa.int64()), ("b", pa.string())])
LESS = pa.struct([("a", pa.int64())])
CASES: dict[str, tuple[pa.DataType, Any, pa.DataType, Any, str]] = {
    "struct": (PART, {"a": 1, "b": "x"}, LESS, {"a": 2}, "c.b"),
    "list": (pa.list_(PART), [{"a": 1, "b": "x"}], pa.list_(LESS), [{"a": 2}], "c.element.b"),
    "map": (
        *(pa.map_(pa.string(), PART), [("k", {"a": 1, "b": "x"})]),
        *(pa.map_(pa.string(), LESS), [("k", {"a": 2})]),
        "c.value.b",
    ),
}
WRITERS: dict[str, Callable[..., None]] = {"parquet": pq.write_table, "orc": orc.write_table}


def a_request(
    folder: Path, tables: dict[str, pa.Table], kind: str = "parquet", **more: Any
) -> InputRequest:
    """Write files and return a request for them by name, through a transform."""
    files = []
    for name, table in tables.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        WRITERS[kind](table, str(path))
        files.append(str(path))
    sql = () if more.get("has_folders") else ("SELECT * FROM source",)
    return an_input(folder, *sql, format=kind, files=tuple(files), **more)


def two(case: str) -> dict[str, pa.Table]:
    """Return a file with all fields, and one that lacks a field."""
    kind, value, short, less, _ = CASES[case]
    full = pa.table({"id": pa.array([1], pa.int64()), "c": pa.array([value], kind)})
    return {
        "a": full,
        "b": pa.table({"id": pa.array([2], pa.int64()), "c": pa.array([less], short)}),
    }


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("turned", [False, True])
def test_file_without_a_field_is_refused_or_set_null(
    spark: SparkSession, tmp_path: Path, kind: str, case: str, *, turned: bool
) -> None:
    """In any order of files; with `set_null` no field of the others is lost."""
    tables = two(case)
    if turned:
        tables = {"a": tables["b"], "b": tables["a"]}
    request = a_request(tmp_path, tables, kind)
    with pytest.raises(PlanError, match=f"'{CASES[case][-1]}' is missing") as caught:
        open_input(spark, request)
    assert caught.value.condition == "input/schema-differs"
    assert caught.value.where.file == str(tmp_path / ("a" if turned else "b"))
    assert "write.missing_columns: set_null" in caught.value.remedy
    frame = open_input(spark, replace(request, missing=MissingColumns.SET_NULL))
    assert '"b":"x"' in "".join(frame.toJSON().collect())
    assert frame.count() == 2


def test_columns_of_the_schema_that_no_file_has_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What the spec declares is asked of each file; names are compared as Spark compares them."""
    table = pa.table({"Id": pa.array([1], pa.int64())})
    request = a_request(tmp_path, {"a": table}, schema="id BIGINT, v STRING")
    with pytest.raises(PlanError, match="column 'v' is missing"):
        open_input(spark, request)
    assert open_input(spark, replace(request, schema="id BIGINT")).collect()[0].id == 1


def test_columns_of_folders_are_not_missing_from_files(spark: SparkSession, tmp_path: Path) -> None:
    """They come from the path, also where a schema declares them."""
    table = pa.table({"id": pa.array([1], pa.int64())})
    request = a_request(tmp_path, {"Day=5/a": table, "Day=6/b": table}, has_folders=True)
    for schema in (None, "id BIGINT, Day INT"):
        frame = open_input(spark, replace(request, schema=schema))
        assert {row.Day for row in frame.collect()} == {5, 6}


def test_columns_that_are_needed_are_never_set_null(spark: SparkSession, tmp_path: Path) -> None:
    """Transforms may fill them; where there are none, a file without the key is refused."""
    tables = two("struct")
    tables["b"] = tables["b"].drop_columns(["id"])
    request = a_request(tmp_path, tables, missing=MissingColumns.SET_NULL, needed=("ID",))
    assert open_input(spark, request).count() == 2
    with pytest.raises(PlanError, match="column 'id' is missing"):
        open_input(spark, replace(request, transforms=()))


def test_files_with_the_same_columns_are_read_as_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    """An option of the spec for merging stays what it is."""
    full = two("struct")["a"]
    request = a_request(tmp_path, {"a": full, "b": full}, options={"MergeSchema": "false"})
    assert open_input(spark, request).count() == 2


def test_csv_files_with_other_headers_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Spark takes columns by their place otherwise, and swaps values."""
    (tmp_path / "a.csv").write_text("id,v\n1,10\n")
    (tmp_path / "b.csv").write_text("v,id\n20,2\n")
    files = tuple(str(tmp_path / name) for name in ("a.csv", "b.csv"))
    options = {"header": "true"}
    request = an_input(
        tmp_path, format="csv", files=files, options=options, schema="id BIGINT, v BIGINT"
    )
    with pytest.raises(Exception, match="CSV header does not conform"):
        open_input(spark, request).collect()
    loose = replace(request, options={**options, "EnforceSchema": "true"})
    assert {(row.id, row.v) for row in open_input(spark, loose).collect()} == {(1, 10), (20, 2)}
