"""Folders that do not say what the spec declares."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from framework.errors import PlanError
from tests.support.scenes import Refusal, a_document, a_scene, refusal
from tests.support.sources import a_source, ids

TWO: Mapping[str, str] = {"a": "int", "b": "string"}

CHANGING = [
    ("int", "p=01"),
    ("int", "p=+1"),
    ("int", "p=-0"),
    ("int", "p= 1"),
    ("int", "p=%31"),
    ("long", "p=007"),
    ("date", "p=2024-2-9"),
    ("boolean", "p=TRUE"),
    ("string", "p=a%20b"),
    ("string", "p=a%2fb"),
    ("string", "p=%C3%A9"),
    ("string", "p=a:b"),
    ("string", "p=100%"),
]
UNREADABLE = [
    ("int", "p=x"),
    ("int", "p=1.0"),
    ("int", "p=2147483648"),
    ("int", "p="),
    ("int", "p=\N{ARABIC-INDIC DIGIT ONE}"),
    ("long", "p=9223372036854775808"),
    ("date", "p=2023-02-29"),
    ("date", "p=20240229"),
    ("boolean", "p=yes"),
    ("int", "p=null"),
]


@pytest.mark.parametrize(("kind", "folder"), CHANGING)
def test_partition_text_that_its_type_would_change_is_refused(
    tmp_path: Path, kind: str, folder: str
) -> None:
    """The next upsert would write another folder and double the keys of this one."""
    refused = _refused(tmp_path, folder, {"p": kind}, "partition/value-changes")
    if kind != "string":
        assert "p: string" in refused.error.remedy


@pytest.mark.parametrize(("kind", "folder"), UNREADABLE)
def test_partition_value_that_is_not_of_its_type_is_refused(
    tmp_path: Path, kind: str, folder: str
) -> None:
    """A value that cannot be parsed is reported with the type to declare."""
    refused = _refused(tmp_path, folder, {"p": kind}, "partition/value-unreadable")
    assert "p: string" in refused.error.remedy


@pytest.mark.parametrize("folder", ["q=1", "P=1", "1", "=1", "p"])
def test_folder_of_another_column_is_refused(tmp_path: Path, folder: str) -> None:
    """Hive's folders name their column; another name is another layout."""
    _refused(tmp_path, folder, {"p": "int"}, "partition/wrong-field")


def test_folders_in_another_order_than_declared_are_refused(tmp_path: Path) -> None:
    """The order of `partition_by` is the order of the folders."""
    _refused(tmp_path, "b=x/a=1", TWO, "partition/wrong-field")


@pytest.mark.parametrize("folder", ["a=1", "x%20y", "%2E%2E"])
def test_positional_folder_that_readers_take_apart_is_refused(tmp_path: Path, folder: str) -> None:
    """Apache Hudi's readers would take it for Hive's, or unescape it."""
    document = a_document(partition={"p": "string"}, layout="positional")
    _refused(tmp_path, folder, document, "partition/value-changes")


@pytest.mark.parametrize("path", ["a.parquet", "p=1/deeper/a.parquet"])
def test_data_file_beside_the_partition_folders_is_refused(tmp_path: Path, path: str) -> None:
    """A file above or below the partitions belongs to none of them."""
    scene = a_scene(tmp_path, {"p=1/b.parquet": ids(1), path: ids(2)})
    error = refusal(scene, "source/file-beside-partitions").error
    assert error.exit_code == 1
    assert error.where.file == f"{scene.source}/{path}"


def test_source_of_fewer_levels_than_declared_is_refused(tmp_path: Path) -> None:
    """One folder level for two columns leaves files above the partitions."""
    scene = a_scene(tmp_path, {"a=1/a.parquet": ids(1)}, a_document(partition=TWO))
    assert refusal(scene, "source/file-beside-partitions").error.exit_code == 1


def test_layout_none_over_hive_folders_that_are_columns_reads_them_as_folders(
    tmp_path: Path,
) -> None:
    """Without `partition_by` no folder says a column, so a key among them is missing."""
    scene = a_scene(tmp_path, {"p=1/a.parquet": ids(1)}, a_document(partition={}, key=("id", "p")))
    assert refusal(scene, "key/column-missing").error.exit_code == 1


def test_partitions_with_the_same_fault_are_reported_together(tmp_path: Path) -> None:
    """A hundred months with a leading zero are one mistake, not a hundred."""
    scene = a_scene(tmp_path, {f"p=0{month}/a.parquet": ids(month) for month in range(1, 10)})
    refused = refusal(scene, "partition/value-changes")
    assert len(refused.findings) == 1
    assert all(f"p=0{month}" in refused.error.message for month in range(1, 10))


def test_partition_column_of_another_type_in_the_files_is_refused(tmp_path: Path) -> None:
    """A file's own column and its folder's must be one."""
    rows = ids(1, p=pa.array(["1"]))
    error = refusal(a_scene(tmp_path, {"p=1/a.parquet": rows}), "partition/type-differs").error
    assert error.exit_code == 1
    assert "string" in error.message


def test_partition_column_that_differs_by_case_in_the_files_is_refused(tmp_path: Path) -> None:
    """Spark takes `P` in the files and `p` of the folder for one column."""
    rows = ids(1, P=pa.array([1], pa.int32()))
    error = refusal(a_scene(tmp_path, {"p=1/a.parquet": rows}), "partition/same-but-case").error
    assert error.exit_code == 1


@pytest.mark.parametrize("mode", ["metadata_only", "full_record"])
@pytest.mark.parametrize("inside", [2, None])
@pytest.mark.parametrize("statistics", [True, False])
def test_partition_column_whose_value_is_not_its_folders_is_refused(
    tmp_path: Path, mode: str, inside: int | None, *, statistics: bool
) -> None:
    """Readers would see the folder's value and writers go by the file's: keys would double."""
    rows = ids(1, 2, p=pa.array([1, inside], pa.int32()))
    scene = a_scene(tmp_path, {}, a_document(mode=mode))
    a_source(scene.source, {"p=1/a.parquet": rows}, write_statistics=statistics)
    error = refusal(scene, "source/value-is-not-its-folders").error
    assert error.exit_code == 5
    assert error.where.file == f"{scene.source}/p=1/a.parquet"
    assert error.where.partition == "p=1"


def _refused(folder: Path, partition: str, document: Mapping[str, Any], condition: str) -> Refusal:
    """Return the refusal of one partition folder, reported at `partition_by`."""
    spec = document if "version" in document else a_document(partition=document)
    scene = a_scene(folder, {f"{partition}/a.parquet": ids(1, 2)}, spec)
    refused = refusal(scene, condition)
    error = refused.error
    assert isinstance(error, PlanError)
    assert error.condition == condition
    assert error.exit_code == 1
    assert error.where.file == str(scene.spec)
    assert error.where.line
    assert error.where.partition == partition
    return refused
