"""The listing of a source: what is new, what was loaded, and its cost in memory."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from framework.engine.load import input_listing
from framework.engine.load.input_listing import list_input
from framework.engine.reading.table_memory import HashSet, TableMemory, file_hash
from framework.errors import PlanError
from framework.hudi.bootstrap.file_list import FileList
from framework.hudi.storage.local import LocalStorage
from framework.plan.load import InputListing, InputRequest, LoadRequest
from framework.vocabulary import WriteOperation
from tests.support.sources import a_rule


def a_request(source: Path, *, only_new: bool = True) -> LoadRequest:
    """Return a request for the Parquet files of a folder."""
    return LoadRequest(
        operation=WriteOperation.UPSERT,
        input=InputRequest(format="parquet", path=str(source)),
        source_id="parquet:here",
        is_folder=True,
        only_new=only_new,
    )


def a_folder(folder: Path, *names: str) -> Path:
    """Return a folder of files whose size is the length of their name."""
    for name in names:
        path = folder / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder / "source"


def memory_of(source: Path, *names: str) -> TableMemory:
    """Return the memory of a table that has loaded some files."""
    hashes = []
    for name in names:
        found = (source / name).stat()
        hashes.append(file_hash(name, found.st_size, found.st_mtime_ns))
    recent = np.unique(np.array(hashes, np.uint64))
    known = replace(HashSet(), recent=_text(recent))
    return TableMemory(key_rule=a_rule(), immutable={}, loaded={"parquet:here": known})


def _text(hashes: np.ndarray) -> str:
    return base64.b64encode(hashes.tobytes()).decode()


def listed(
    folder: Path, request: LoadRequest, memory: TableMemory | None = None
) -> tuple[InputListing, FileList]:
    """Return the listing and its files; the table is empty."""
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    found = list_input(LocalStorage(str(folder / "table")), request, memory, scratch)
    assert isinstance(found.files, FileList)
    assert len(list(scratch.iterdir())) == 1  # only what the handle names
    return found, found.files


def test_listing_without_memory_takes_all_files(tmp_path: Path) -> None:
    """In the order of their paths, with all of their hashes as new."""
    source = a_folder(tmp_path, "b.parquet", "a/x.parquet", "a.parquet")
    found, files = listed(tmp_path, a_request(source))
    names = [Path(each).relative_to(source).as_posix() for each in files]
    assert names == ["a.parquet", "a/x.parquet", "b.parquet"]
    assert (found.bytes, found.earlier_files) == (len("b.parqueta/x.parqueta.parquet"), 0)
    assert files.new_hashes().size == 3


def test_listing_of_new_files_leaves_out_loaded_ones(tmp_path: Path) -> None:
    """They are counted; their hashes are not remembered twice."""
    source = a_folder(tmp_path, "a.parquet", "b.parquet", "c.parquet")
    memory = memory_of(source, "a.parquet", "c.parquet")
    found, files = listed(tmp_path, a_request(source), memory)
    assert [Path(each).name for each in files] == ["b.parquet"]
    assert (found.earlier_files, files.new_hashes().size) == (2, 1)


def test_listing_of_all_files_knows_which_are_new(tmp_path: Path) -> None:
    """Loaded files are read again, but only new ones are remembered."""
    source = a_folder(tmp_path, "a.parquet", "b.parquet")
    memory = memory_of(source, "a.parquet")
    found, files = listed(tmp_path, a_request(source, only_new=False), memory)
    assert (len(files), found.earlier_files, files.new_hashes().size) == (2, 1, 1)


def test_listing_with_nothing_new_is_empty(tmp_path: Path) -> None:
    """The handle says so without being read."""
    source = a_folder(tmp_path, "a.parquet")
    found, files = listed(tmp_path, a_request(source), memory_of(source, "a.parquet"))
    assert (len(files), found.bytes, found.earlier_files) == (0, 0, 1)


def test_listing_of_a_changed_file_takes_it_again(tmp_path: Path) -> None:
    """Another size is another file, and another hash of the listing."""
    source = a_folder(tmp_path, "a.parquet")
    memory = memory_of(source, "a.parquet")
    before = listed(tmp_path, a_request(source, only_new=False))[0].sha256
    (source / "a.parquet").write_text("longer than its name")
    (tmp_path / "scratch").rename(tmp_path / "scratch-before")
    found, files = listed(tmp_path, a_request(source), memory)
    assert len(files) == 1
    assert found.sha256 != before


def test_listing_of_column_folders_says_so(tmp_path: Path) -> None:
    """Spark then takes columns from folder names."""
    found, _ = listed(tmp_path, a_request(a_folder(tmp_path, "day=1/a.parquet")))
    assert found.has_folders


def test_listing_of_more_files_than_a_load_takes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is inclusive, and the listing stops at the first file beyond it."""
    monkeypatch.setattr(input_listing, "_MOST_FILES", 2)
    source = a_folder(tmp_path, "a.parquet", "b.parquet")
    listed(tmp_path, a_request(source))
    a_folder(tmp_path, "c.parquet")
    with pytest.raises(PlanError) as caught:
        listed(tmp_path, a_request(source))
    assert caught.value.condition == "load/too-many-files"


def test_listing_of_a_missing_folder_is_refused(tmp_path: Path) -> None:
    """The path is in the error."""
    with pytest.raises(PlanError) as caught:
        listed(tmp_path, a_request(tmp_path / "nowhere"))
    assert (caught.value.condition, caught.value.where.file) == (
        "source/missing",
        str(tmp_path / "nowhere"),
    )
