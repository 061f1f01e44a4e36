"""Columns that cannot be part of a Hudi table, and files that do not fit each other."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import CorruptFileError, PlanError
from framework.plan.render.text import text_lines
from tests.support.scenes import Scene, a_document, a_scene, adopt, plan, refusal
from tests.support.sources import a_source, ids
from tests.support.stitching import pieces_of, read_table

NOON = dt.datetime(2024, 5, 6, 12, 30, 1, 123456, tzinfo=dt.UTC)
UNREADABLE = {
    "schema/nanosecond-timestamp": pa.array([NOON], pa.timestamp("ns", tz="UTC")),
    "schema/time": pa.array([dt.time(1, 2)], pa.time64("us")),
    "schema/float16": pa.array([1.5], pa.float16()),
    "schema/unsigned-integer": pa.array([1], pa.uint32()),
    "schema/decimal-too-wide": pa.array([Decimal(1)], pa.decimal256(50, 0)),
}
CONVERTED = {
    "schema/nanosecond-timestamp": NOON,
    "schema/float16": 1.5,
    "schema/unsigned-integer": 1,
}
WIDENED = [
    (pa.array([255], pa.uint8()), pa.int16()),
    (pa.array([65535], pa.uint16()), pa.int32()),
    (pa.array([2**32 - 1], pa.uint32()), pa.int64()),
    (pa.array([2**64 - 1], pa.uint64()), pa.decimal128(20, 0)),
]


@pytest.mark.parametrize("condition", UNREADABLE)
def test_column_that_readers_cannot_use_is_refused(tmp_path: Path, condition: str) -> None:
    """Spark would fail on it, or read other values, long after the bootstrap."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, v=UNREADABLE[condition])})
    error = _refused(scene, condition)
    assert "'v'" in error.message
    assert ("full_record" in error.remedy) == (condition in CONVERTED)


@pytest.mark.parametrize("condition", UNREADABLE)
def test_column_that_readers_cannot_use_is_refused_inside_nested_types(
    tmp_path: Path, condition: str
) -> None:
    """A list of structs hides nothing."""
    values = UNREADABLE[condition]
    struct = pa.StructArray.from_arrays([values], names=["inner"])
    nested = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), struct)
    error = _refused(a_scene(tmp_path, {"p=1/a.parquet": ids(1, v=nested)}), condition)
    assert "v.element.inner" in error.message


@pytest.mark.parametrize("condition", CONVERTED)
def test_column_that_readers_cannot_use_is_converted_by_full_record(
    tmp_path: Path, condition: str
) -> None:
    """What the refusal advises works, and loses no digit."""
    files = {"p=1/a.parquet": ids(1, v=UNREADABLE[condition])}
    scene = a_scene(tmp_path, files, a_document(mode="full_record"))
    (row,) = _full_rows(scene)
    assert row["v"] == CONVERTED[condition]


@pytest.mark.parametrize(("values", "kind"), WIDENED, ids=[str(kind) for _, kind in WIDENED])
def test_unsigned_integers_keep_their_greatest_value_by_full_record(
    tmp_path: Path, values: Any, kind: Any
) -> None:
    """Each becomes a signed type that holds all of it."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, v=values)}, a_document(mode="full_record"))
    (row,) = _full_rows(scene)
    assert row["v"] == values[0].as_py()
    (base,) = scene.location.glob("p=1/*.parquet")
    assert pq.read_schema(base).field("v").type == kind


def test_nanoseconds_that_would_be_lost_stop_a_full_record_run(tmp_path: Path) -> None:
    """A digit below the microsecond has no place; it is never cut in silence."""
    values = pa.array([1_000_000_001], pa.timestamp("ns"))
    files = {"p=1/a.parquet": ids(1, v=values)}
    scene = a_scene(tmp_path, files, a_document(mode="full_record"))
    error = refusal(scene, "source/value-does-not-fit").error
    assert isinstance(error, CorruptFileError)
    assert error.exit_code == 5
    assert error.where.file == f"{scene.source}/p=1/a.parquet"


@pytest.mark.parametrize(
    "name", ["a b", "a-b", "a.b", "1a", "é", "a`b", 'a"b', "", "a,b", "a:b", "🚀"]
)
def test_name_that_avro_forbids_is_refused(tmp_path: Path, name: str) -> None:
    """The commit's schema is Avro's."""
    error = _refused(
        a_scene(tmp_path, {"p=1/a.parquet": ids(1, **{name: [1]})}), "schema/name-not-avro"
    )
    assert f"'{name}'" in error.message


def test_nested_name_that_avro_forbids_is_refused(tmp_path: Path) -> None:
    """A struct's fields are names in the schema too."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, v=[{"a b": 1}])})
    assert "v.a b" in _refused(scene, "schema/name-not-avro").message


@pytest.mark.parametrize("other", ["ID", "Id"])
def test_names_that_differ_by_case_only_are_refused(tmp_path: Path, other: str) -> None:
    """Spark takes them for one column."""
    _refused(a_scene(tmp_path, {"p=1/a.parquet": ids(1, **{other: [1]})}), "schema/same-but-case")


def test_names_that_differ_by_case_only_between_files_are_refused(tmp_path: Path) -> None:
    """A file with `v` and one with `V` are two columns here and one for Spark; both are named."""
    files = {"p=1/a.parquet": ids(1, v=[1]), "p=2/b.parquet": ids(2, V=[1])}
    error = _refused(a_scene(tmp_path, files), "schema/same-but-case")
    assert "'v'" in error.message
    assert "p=1/a.parquet" in error.message
    assert "'V'" in error.message
    assert "p=2/b.parquet" in error.message


def test_name_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    """It is ambiguous which of the two is meant."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1)})
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ["id", "v", "v"])
    pq.write_table(twice, scene.source / "p=1" / "a.parquet", store_schema=False)
    _refused(scene, "schema/duplicate-name")


@pytest.mark.parametrize("name", ["_hoodie_commit_time", "_hoodie_is_deleted", "_HOODIE_x"])
def test_column_with_a_name_of_hudis_own_is_refused(tmp_path: Path, name: str) -> None:
    """The files of another Hudi table are no plain source."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, **{name: ["x"]})})
    assert name in _refused(scene, "schema/meta-column").message


def test_file_without_a_column_is_refused(tmp_path: Path) -> None:
    """A Parquet file may have no column at all; a table may not."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": pa.table({})})
    refused = refusal(scene, "schema/no-columns")
    assert refused.error.exit_code == 1


@pytest.mark.parametrize("other", [["x"], [1.5], [{"a": 1}], [[1]], [b"x"], [True]])
def test_types_that_cannot_be_one_are_refused_with_both_files(
    tmp_path: Path, other: list[Any]
) -> None:
    """One example file of each side is named, whichever comes first."""
    files = {"p=1/a.parquet": ids(1, v=[7]), "p=2/b.parquet": ids(2, v=other)}
    error = _refused(a_scene(tmp_path, files), "schema/conflict")
    assert "p=1/a.parquet" in error.message
    assert "p=2/b.parquet" in error.message
    assert "'v'" in error.message


def test_conflict_in_a_skipped_partition_is_none(tmp_path: Path) -> None:
    """What is left out has no say: the refusal's advice works."""
    files = {"p=1/a.parquet": ids(1, v=[7]), "p=2/b.parquet": ids(2, v=["x"])}
    rules = [{"partition": "p=2", "mode": "skip"}]
    scene = a_scene(tmp_path, files, a_document(rules=rules))
    adopt(scene)
    rows = read_table(scene, pieces_of(scene, {"p=2": "skip"}))
    assert [row["v"] for row in rows] == [7]


def test_faults_of_many_kinds_are_reported_at_once(tmp_path: Path) -> None:
    """One run reports all faults of the source."""
    rows = ids(1, V=[1], v=[1], t=UNREADABLE["schema/time"], **{"a b": [1]})
    scene = a_scene(tmp_path, {"p=01/a.parquet": rows}, a_document(key=("nope",)))
    rules = {each.rule for each in refusal(scene, "key/column-missing").findings}
    assert rules == {
        "key/column-missing",
        "partition/value-changes",
        "schema/name-not-avro",
        "schema/same-but-case",
        "schema/time",
    }


def test_int96_timestamps_are_adopted_with_a_warning_that_names_their_partition(
    tmp_path: Path,
) -> None:
    """They can be read, but no Hudi job can rewrite them: the plan says so."""
    scene = _int96_scene(tmp_path, "metadata_only")
    found = plan(scene).plan
    notes = {note.condition: note for note in found.notes}
    assert notes["source/int96"].level == "warning"
    assert "p=1" in notes["source/int96"].message
    assert any("INT96" in str(line) for line in text_lines(found))
    adopt(scene)
    assert len(read_table(scene, pieces_of(scene))) == 2


def test_int96_timestamps_are_converted_by_full_record(tmp_path: Path) -> None:
    """The base file has microseconds, which everybody rewrites; nothing is to warn of."""
    scene = _int96_scene(tmp_path, "full_record")
    assert "source/int96" not in {note.condition for note in plan(scene).plan.notes}
    rows = _full_rows(scene)
    assert [row["at"] for row in rows] == [NOON, None]
    (base,) = scene.location.glob("p=1/*.parquet")
    column = pq.read_metadata(base).schema
    physical = {column.column(at).path: column.column(at).physical_type for at in range(7)}
    assert physical["at"] == "INT64"


def _int96_scene(folder: Path, mode: str) -> Scene:
    """Return a source with INT96 timestamps, as old Spark and Impala write them."""
    times = pa.array([NOON, None], pa.timestamp("us", tz="UTC"))
    scene = a_scene(folder, {}, a_document(mode=mode))
    files = {"p=1/a.parquet": ids(1, 2, at=times)}
    a_source(scene.source, files, use_deprecated_int96_timestamps=True)
    assert "INT96" in str(pq.read_metadata(scene.source / "p=1" / "a.parquet").schema.column(1))
    return scene


def _refused(scene: Scene, condition: str) -> PlanError:
    """Return a fault of the source's schema, reported at its path in the spec."""
    error = refusal(scene, condition).error
    assert isinstance(error, PlanError)
    assert error.condition == condition
    assert error.exit_code == 1
    assert error.where.file == str(scene.spec)
    assert error.where.line
    return error


def _full_rows(scene: Scene) -> list[dict[str, Any]]:
    """Adopt a source in full and return the table's rows."""
    result = adopt(scene)
    assert result is not None
    assert result.instant is not None
    pieces = pieces_of(scene, {"p=1": "full_record"})
    return read_table(scene, pieces, instant=result.instant)
