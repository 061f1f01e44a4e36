"""Record keys that are not there, not unique, null, or not the same text for every writer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from framework.engine.audit.report import SAMPLES
from framework.errors import AuditFailedError, PlanError
from tests.support.scenes import Scene, a_document, a_scene, adopt, refusal, snapshot, with_spec
from tests.support.sources import ids
from tests.support.stitching import pieces_of, read_table

NO_STABLE_TEXT: Mapping[str, pa.Array] = {
    "float": pa.array([1.5], pa.float32()),
    "double": pa.array([1.5]),
    "timestamp": pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC)], pa.timestamp("us", tz="UTC")),
    "naive timestamp": pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("us")),  # noqa: DTZ001 - the point
    "binary": pa.array([b"x"]),
    "fixed binary": pa.array([b"xy"], pa.binary(2)),
}
NESTED: Mapping[str, pa.Array] = {
    "struct": pa.array([{"a": 1}]),
    "list": pa.array([[1]]),
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
}
SCOPES = ("table", "partition")


@pytest.mark.parametrize("name", NO_STABLE_TEXT)
@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
def test_key_whose_text_differs_between_writers_is_refused(
    tmp_path: Path, name: str, mode: str
) -> None:
    """An upsert by another release would not find the row."""
    rows = ids(1, k=NO_STABLE_TEXT[name])
    scene = a_scene(tmp_path, {"p=1/a.parquet": rows}, a_document(key=("k",), mode=mode))
    error = _refused(scene, "key/type-has-no-stable-text")
    assert "'k'" in error.message


@pytest.mark.parametrize("name", NESTED)
def test_nested_key_is_refused(tmp_path: Path, name: str) -> None:
    """A key is a plain column."""
    rows = ids(1, k=NESTED[name])
    scene = a_scene(tmp_path, {"p=1/a.parquet": rows}, a_document(key=("k",)))
    _refused(scene, "key/nested")


def test_key_inside_a_struct_is_refused(tmp_path: Path) -> None:
    """A dotted key would be a path into a struct, which is not built."""
    rows = ids(1, k=NESTED["struct"])
    scene = a_scene(tmp_path, {"p=1/a.parquet": rows}, a_document(key=("k.a",)))
    _refused(scene, "key/nested")


def test_unsigned_key_is_refused_even_where_it_would_be_converted(tmp_path: Path) -> None:
    """Key columns of full files keep their type."""
    rows = ids(1, k=pa.array([2**63], pa.uint64()))
    scene = a_scene(tmp_path, {"p=1/a.parquet": rows}, a_document(key=("k",)))
    refused = refusal(scene, "schema/unsigned-integer")
    assert refused.error.exit_code == 1


@pytest.mark.parametrize(("column", "hint"), [("idd", "id"), ("ID", "id"), ("nowhere", "id, v")])
def test_key_column_that_is_missing_is_refused_with_the_nearest_name(
    tmp_path: Path, column: str, hint: str
) -> None:
    """The remedy names what was meant, or what there is."""
    files = {"p=1/a.parquet": ids(1, v=["x"])}
    error = _refused(a_scene(tmp_path, files, a_document(key=(column,))), "key/column-missing")
    assert f"'{column}'" in error.message
    assert hint in error.remedy


def test_every_missing_key_column_is_reported(tmp_path: Path) -> None:
    """Two misspelled columns are two findings of one run."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1)}, a_document(key=("x", "id", "y")))
    refused = refusal(scene, "key/column-missing")
    assert [each.rule for each in refused.findings] == ["key/column-missing"] * 2


def test_ordering_column_that_is_missing_is_refused(tmp_path: Path) -> None:
    """Upserts would have nothing to order by."""
    table = {"type": "merge_on_read", "ordering": {"columns": ["later"]}}
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1)}, a_document(table=table))
    _refused(scene, "ordering/column-missing")


@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
@pytest.mark.parametrize("key", [("id",), ("id", "v")])
def test_null_key_is_refused_with_file_and_row(
    tmp_path: Path, mode: str, key: tuple[str, ...]
) -> None:
    """A row without a key could never be updated; each is shown by its place."""
    files = {
        "p=1/a.parquet": ids(1, 2, v=["x", "y"]),
        "p=2/b.parquet": ids(3, None, 5, None, v=["x", "y", "z", "x"]),
    }
    scene = a_scene(tmp_path, files, a_document(key=key, mode=mode))
    error = _gate(scene, "audit/null-keys")
    assert error.where.file == f"{scene.source}/p=2/b.parquet"
    assert error.where.partition == "p=2"
    assert error.report["rows"] == 2
    assert error.report["samples"] == [
        {"file": "p=2/b.parquet", "partition": "p=2", "row": row} for row in (1, 3)
    ]


def test_key_column_that_some_files_lack_is_refused_as_null(tmp_path: Path) -> None:
    """A file from before the column was added has no keys."""
    files = {"p=1/a.parquet": ids(1, k=["x"]), "p=2/b.parquet": ids(2, 3)}
    scene = a_scene(tmp_path, files, a_document(key=("k",)))
    error = _gate(scene, "audit/null-keys")
    assert error.report["rows"] == 2
    assert error.where.file == f"{scene.source}/p=2/b.parquet"


def test_empty_text_as_key_of_one_column_is_refused(tmp_path: Path) -> None:
    """Hudi has no key for it."""
    rows = pa.table({"k": ["x", ""]})
    error = _gate(
        a_scene(tmp_path, {"p=1/a.parquet": rows}, a_document(key=("k",))), "audit/null-keys"
    )
    assert error.report["rows"] == 1


@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
@pytest.mark.parametrize("key", [("k",), ("k", "id")])
def test_key_that_is_not_utf8_is_refused_with_its_row(
    tmp_path: Path, mode: str, key: tuple[str, ...]
) -> None:
    """Readers would put other characters in its place, and not find the row."""
    data = pa.array([b"a", None, b"\xe9t\xe9", b"z"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 4, data.buffers())
    files = {"p=1/a.parquet": ids(1, 2, 3, 4, k=text)}
    scene = a_scene(tmp_path, files, a_document(key=key, mode=mode))
    error = refusal(scene, "key/not-utf8").error
    assert error.exit_code == 5
    assert error.where.file == f"{scene.source}/p=1/a.parquet"
    assert "row 2" in error.message


def test_null_of_the_folder_as_key_is_refused_while_planning(tmp_path: Path) -> None:
    """Hive's default partition has no value, which the plan sees without reading a row."""
    files = {"p=__HIVE_DEFAULT_PARTITION__/a.parquet": ids(1), "p=1/a.parquet": ids(1)}
    scene = a_scene(tmp_path, files, a_document(key=("id", "p")))
    error = _refused(scene, "key/null")
    assert "__HIVE_DEFAULT_PARTITION__" in error.message


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
def test_key_twice_in_a_file_is_refused_with_its_rows(
    tmp_path: Path, scope: str, mode: str
) -> None:
    """Key, file and row numbers of each are shown."""
    files = {"p=1/a.parquet": ids(1, 2, 7, 3, 7), "p=2/b.parquet": ids(4)}
    error = _gate(a_scene(tmp_path, files, _scoped(scope, mode=mode)), "audit/duplicate-keys")
    (sample,) = _samples(error)
    assert (sample["key"], sample["count"]) == ("7", 2)
    assert _places(sample) == [("p=1/a.parquet", 2), ("p=1/a.parquet", 4)]


@pytest.mark.parametrize("scope", SCOPES)
def test_key_in_two_files_of_a_partition_is_refused(tmp_path: Path, scope: str) -> None:
    """Both files are named, also where each is sorted by itself."""
    files = {"p=1/a.parquet": ids(1, 2, 5), "p=1/b.parquet": ids(3, 5, 9)}
    error = _gate(a_scene(tmp_path, files, _scoped(scope)), "audit/duplicate-keys")
    (sample,) = _samples(error)
    assert _places(sample) == [("p=1/a.parquet", 2), ("p=1/b.parquet", 1)]


def test_key_in_two_partitions_is_refused_in_the_scope_of_the_table(tmp_path: Path) -> None:
    """One key in two partitions is two rows of one table."""
    files = {"p=1/a.parquet": ids(1, 5), "p=2/b.parquet": ids(5, 9)}
    error = _gate(a_scene(tmp_path, files, _scoped("table")), "audit/duplicate-keys")
    (sample,) = _samples(error)
    assert _places(sample) == [("p=1/a.parquet", 1), ("p=2/b.parquet", 0)]


@pytest.mark.parametrize("order", [(1, 5), (5, 1)])
def test_key_in_two_partitions_is_accepted_in_the_scope_of_partitions(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    """Where the spec says so, each partition has keys of its own."""
    files = {"p=1/a.parquet": ids(*order), "p=2/b.parquet": ids(*order)}
    scene = a_scene(tmp_path, files, _scoped("partition"))
    adopt(scene)
    assert len(read_table(scene, pieces_of(scene))) == 4


def test_keys_that_read_the_same_are_refused(tmp_path: Path) -> None:
    """("1,b:2", "3") and ("1", "2,b:3") have one text, so Hudi would take them for one row."""
    rows = pa.table({"a": ["1,b:2", "1"], "b": ["3", "2,b:3"]})
    scene = a_scene(tmp_path, {"p=1/a.parquet": rows}, a_document(key=("a", "b")))
    error = _gate(scene, "audit/duplicate-keys")
    (sample,) = _samples(error)
    assert sample["key"] == "a:1,b:2,b:3"


def test_many_duplicates_are_counted_and_a_few_are_shown(tmp_path: Path) -> None:
    """The report stays short, its numbers are whole."""
    files = {"p=1/a.parquet": ids(*range(500)), "p=2/b.parquet": ids(*range(499, -1, -1))}
    error = _gate(a_scene(tmp_path, files), "audit/duplicate-keys")
    assert (error.report["groups"], error.report["rows"]) == (500, 1000)
    assert len(_samples(error)) == SAMPLES


def test_null_and_duplicate_keys_together_are_refused(tmp_path: Path) -> None:
    """Whichever is reported first, nothing is published."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1, None, 1)})
    assert _gate(scene, "audit/null-keys").report["rows"] == 1


def test_refused_run_leaves_no_folder_that_it_made_above_the_table(tmp_path: Path) -> None:
    """Where the table's place is deep, all of the way there goes; what was there stays."""
    scene = a_scene(tmp_path / "lake", {"p=1/a.parquet": ids(1, 1)})
    (tmp_path / "lake" / "old").mkdir()
    deep = with_spec(scene, location=str(tmp_path / "lake" / "old" / "new" / "newer" / "table"))
    assert deep.spec.exists()
    before = snapshot(tmp_path / "lake", times=False)
    _gate(deep, "audit/duplicate-keys")
    after = snapshot(tmp_path / "lake", times=False)
    assert set(after) == set(before)


def test_duplicates_between_a_skeleton_and_a_full_file_are_refused(tmp_path: Path) -> None:
    """The proof goes over all files of the commit, whatever their mode."""
    files = {"p=1/a.parquet": ids(1, 5), "p=2/b.parquet": ids(5, 9)}
    rules = [{"partition": "p=2", "mode": "full_record"}]
    scene = a_scene(tmp_path, files, a_document(rules=rules))
    assert _samples(_gate(scene, "audit/duplicate-keys"))[0]["key"] == "5"


def test_duplicates_in_a_skipped_partition_are_none(tmp_path: Path) -> None:
    """Rows outside the table are not duplicates."""
    files = {"p=1/a.parquet": ids(1, 5), "p=2/b.parquet": ids(5, 9)}
    scene = a_scene(tmp_path, files, a_document(rules=[{"partition": "p=2", "mode": "skip"}]))
    adopt(scene)
    assert len(read_table(scene, pieces_of(scene, {"p=2": "skip"}))) == 2


def _scoped(scope: str, **bootstrap: Any) -> dict[str, Any]:
    """Return a spec whose keys are unique within `scope`."""
    key = {"columns": ["id"], "unique_within": scope}
    return a_document(table={"record_key": key}, **bootstrap)


def _refused(scene: Scene, condition: str) -> PlanError:
    """Return a fault of the key, reported at its line of the spec."""
    error = refusal(scene, condition).error
    assert isinstance(error, PlanError)
    assert error.condition == condition
    assert error.exit_code == 1
    assert error.where.file == str(scene.spec)
    assert error.where.line
    return error


def _gate(scene: Scene, condition: str) -> AuditFailedError:
    """Return the gate's refusal; a second run is refused alike."""
    error = refusal(scene, condition).error
    assert isinstance(error, AuditFailedError)
    assert error.exit_code == 3
    again = refusal(scene, condition).error
    assert isinstance(again, AuditFailedError)
    assert again.report == error.report
    return error


def _samples(error: AuditFailedError) -> list[dict[str, Any]]:
    """Return the shown duplicates."""
    samples = error.report["samples"]
    assert isinstance(samples, list)
    return samples


def _places(sample: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return file and row of each row of a sample."""
    return [(place["file"], place["row"]) for place in sample["rows"]]
