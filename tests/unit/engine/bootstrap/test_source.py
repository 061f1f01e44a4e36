"""Taking inventory: files, rows, schemas and partitions of a source."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from framework.engine.bootstrap import job
from framework.engine.bootstrap.source import take_inventory
from framework.engine.events import Event, Progress
from framework.engine.tasks import InProcessTasks
from framework.errors import CorruptFileError
from framework.hudi.bootstrap.inventory import read_files, read_range
from framework.plan.observation import SourceInventory
from tests.support.sources import a_source, ids


def inventory(root: Path, *, levels: int = 1, parallelism: int = 1) -> SourceInventory:
    """Take the inventory of `root/source`."""
    tasks = InProcessTasks(parallelism)
    work = root / f"work{parallelism}{len(list(root.iterdir()))}"
    return take_inventory(tasks, str(root / "source"), levels, str(work))


def test_inventory_adds_up_by_partition(tmp_path: Path) -> None:
    """Files, rows, bytes and first number of each partition, in order."""
    source = a_source(
        tmp_path / "source",
        {"p=2/a": ids(1, 2), "p=10/a": ids(3), "p=10/b": ids(), "p=2/_SUCCESS": ids()},
    )
    found = inventory(tmp_path)
    assert [(p.partition_path, p.files, p.rows, p.first) for p in found.partitions] == [
        ("p=10", 2, 1, 0),
        ("p=2", 1, 2, 2),
    ]
    assert found.partitions[1].bytes == (source / "p=2/a").stat().st_size
    assert (found.handle.files, found.handle.rows) == (3, 3)
    assert found.ignored_files == 1
    assert found.schema.equals(pa.schema([("id", pa.int64())]))
    assert found.conflicts == ()


def test_inventory_unites_schemas_and_reports_which_files_differ(tmp_path: Path) -> None:
    """Widening and added columns unite; each partition knows its schemas; gaps are a trait."""
    narrow = pa.table({"id": pa.array([1], pa.int32())})
    a_source(tmp_path / "source", {"p=1/a": narrow, "p=2/a": ids(1, v=["x"])})
    found = inventory(tmp_path)
    assert found.schema.equals(pa.schema([("id", pa.int64()), ("v", pa.string())]))
    assert [schema.example for schema in found.schemas] == ["p=1/a", "p=2/a"]
    assert [p.schemas for p in found.partitions] == [(0,), (1,)]
    assert found.partitions[0].traits == {"missing_columns": 1}
    assert read_range(found.handle, 0, 2)["traits"].to_pylist() == [["missing_columns"], []]


def test_inventory_conflict_names_column_and_two_files(tmp_path: Path) -> None:
    """Incompatible types are reported with a file for each."""
    a_source(tmp_path / "source", {"p=1/a": ids(1), "p=2/a": pa.table({"id": ["x"]})})
    (conflict,) = inventory(tmp_path).conflicts
    assert conflict.column == "id"
    assert conflict.types == (("int64", "p=1/a"), ("string", "p=2/a"))


def test_inventory_counts_traits_per_partition(tmp_path: Path) -> None:
    """The reader gate needs to know where INT96 is."""
    old = ids(1, t=pa.array([1], pa.timestamp("us")))
    a_source(tmp_path / "source", {"p=1/a": old}, use_deprecated_int96_timestamps=True)
    assert inventory(tmp_path).partitions[0].traits == {"int96": 1}


def test_inventory_is_the_same_however_it_is_shared_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hash is the source's, whatever the number of tasks."""
    a_source(tmp_path / "source", {f"p={n % 3}/f{n}": ids(n) for n in range(20)})
    first = inventory(tmp_path)
    monkeypatch.setattr(job, "FOOTER_FILES_PER_TASK", 3)
    other = inventory(tmp_path, parallelism=3)
    assert first.handle.sha256 == other.handle.sha256
    assert first.partitions == other.partitions


def test_inventory_of_nothing_is_empty(tmp_path: Path) -> None:
    """Whether that is allowed is for the planner to say."""
    (tmp_path / "source").mkdir()
    found = inventory(tmp_path)
    assert (found.handle.files, found.schema, found.partitions) == (0, None, ())


def test_inventory_leaves_nothing_but_itself(tmp_path: Path) -> None:
    """Listing and partial results are removed."""
    a_source(tmp_path / "source", {"p=1/a": ids(1)})
    take_inventory(InProcessTasks(), str(tmp_path / "source"), 1, str(tmp_path / "work"))
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["inventory.arrow"]


def test_inventory_unreadable_file_is_named(tmp_path: Path) -> None:
    """One bad file stops the plan, and the error says which."""
    a_source(tmp_path / "source", {"p=1/a": ids(1)})
    (tmp_path / "source" / "p=1" / "b").write_bytes(b"no parquet here, sorry")
    with pytest.raises(CorruptFileError) as caught:
        inventory(tmp_path)
    assert caught.value.condition == "source/not-parquet"
    assert caught.value.where.file == f"{tmp_path}/source/p=1/b"


def test_inventory_without_levels_keeps_nested_paths(tmp_path: Path) -> None:
    """All files are one partition; numbers follow the whole path."""
    a_source(tmp_path / "source", {"a/1": ids(1), "a-b/1": ids(2), "top": ids(3)})
    found = inventory(tmp_path, levels=0)
    paths = [file.fingerprint.path for file in read_files(found.handle, 0, 3)]
    assert paths == ["a-b/1", "a/1", "top"]
    assert [p.partition_path for p in found.partitions] == [""]


def test_inventory_reports_progress(tmp_path: Path) -> None:
    """Increments add up to all files."""
    heard: list[Event] = []
    a_source(tmp_path / "source", {"p=1/a": ids(1), "p=1/b": ids(2)})
    take_inventory(
        InProcessTasks(), str(tmp_path / "source"), 1, str(tmp_path / "w"), events=heard.append
    )
    assert sum(event.files for event in heard if isinstance(event, Progress)) == 2
