"""Lists of files: what is written is read back, in batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import StorageError
from framework.hudi.bootstrap.file_list import (
    FILE_LIST_SCHEMA,
    FileList,
    read_file_list,
    write_file_list,
)
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.memory import MemoryStorage


def a_batch(*paths: str, first: int = 0, is_new: bool = True) -> pa.RecordBatch:
    """Return files of 10 bytes whose hashes count from `first`."""
    count = len(paths)
    columns = {
        "path": list(paths),
        "size": [10] * count,
        "mtime_ns": [7] * count,
        "hash": range(first, first + count),
        "is_new": [is_new] * count,
    }
    return pa.record_batch(columns, schema=FILE_LIST_SCHEMA)


def test_file_list_is_a_collection_of_absolute_paths(tmp_path: Path) -> None:
    """In the order of writing, with their totals; the handle holds none of them."""
    storage = LocalStorage(str(tmp_path))
    batches = [a_batch("a.parquet", "b c/é.parquet"), a_batch("z.parquet", first=2)]
    found = write_file_list(storage, "list.arrow", "/lake/in", batches)
    assert list(found) == ["/lake/in/a.parquet", "/lake/in/b c/é.parquet", "/lake/in/z.parquet"]
    assert (len(found), found.files, found.bytes) == (3, 3, 30)
    assert "/lake/in/z.parquet" in found
    assert "z.parquet" not in found
    assert not found.has_folders
    assert list(found) == list(found)


def test_file_list_of_column_folders_says_so(tmp_path: Path) -> None:
    """A `=` in a file's own name is no folder."""
    storage = LocalStorage(str(tmp_path))
    assert write_file_list(storage, "1", "/in", [a_batch("day=1/a=b.parquet")]).has_folders
    assert not write_file_list(storage, "2", "/in", [a_batch("day/a=b.parquet")]).has_folders


def test_file_list_new_hashes_are_of_new_files_only(tmp_path: Path) -> None:
    """Ascending, each once."""
    batches = [a_batch("a", "b", first=5), a_batch("c", first=6), a_batch("d", is_new=False)]
    found = write_file_list(LocalStorage(str(tmp_path)), "list", "/in", batches)
    assert found.new_hashes().tolist() == [5, 6]
    assert found.new_hashes().dtype == np.uint64


def test_file_list_without_files_is_empty(tmp_path: Path) -> None:
    """Batches without rows are not written."""
    found = write_file_list(LocalStorage(str(tmp_path)), "list", "/in", [a_batch()])
    assert (list(found), len(found), found.bytes) == ([], 0, 0)
    assert found.new_hashes().size == 0


def test_file_list_hash_depends_on_size_and_time(tmp_path: Path) -> None:
    """A saved plan is stale when a file has changed, whatever the batches."""
    storage = LocalStorage(str(tmp_path))
    one = write_file_list(storage, "1", "/in", [a_batch("a", "b")])
    split = write_file_list(storage, "2", "/in", [a_batch("a"), a_batch("b", first=9)])
    assert one.sha256 == split.sha256
    longer = a_batch("a", "b").set_column(
        1, FILE_LIST_SCHEMA.field(1), pa.array([10, 11], pa.int64())
    )
    assert write_file_list(storage, "3", "/in", [longer]).sha256 != one.sha256


def test_file_list_of_a_lost_file_raises(tmp_path: Path) -> None:
    """The scratch folder was removed before the run."""
    found = write_file_list(LocalStorage(str(tmp_path)), "list", "/in", [a_batch("a")])
    (tmp_path / "list").unlink()
    with pytest.raises(StorageError, match="storage/not-found"):
        list(found)


@pytest.mark.property
@given(sizes=st.lists(st.integers(0, 9_000), max_size=4))
def test_file_list_of_any_batches_is_read_back(sizes: list[int]) -> None:
    """Large batches are split; order, totals and hashes stay."""
    storage = MemoryStorage("lists")
    storage.forget()
    paths = [f"p{at}" for at in range(sum(sizes))]
    starts = np.cumsum([0, *sizes]).tolist()
    batches = [
        a_batch(*paths[start : start + size], first=start)
        for start, size in zip(starts, sizes, strict=False)
    ]
    found: FileList = write_file_list(storage, "list", "/in", batches)
    assert list(found) == [f"/in/{path}" for path in paths]
    assert found.new_hashes().tolist() == list(range(len(paths)))
    assert all(b.num_rows <= 4096 for b in read_file_list(storage, "list"))
