"""Whether a process sees the same files under a path as the driver."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from framework.engine.inspect.reach import (
    Place,
    Reach,
    ReachTask,
    Unreached,
    places_seen,
    reach_task,
)
from framework.engine.tasks import decode, encode
from framework.errors import StorageError
from framework.hudi.storage.locations import open_storage


def unreached(places: Sequence[Place]) -> tuple[Unreached, ...]:
    """Return what a task in this process does not reach."""
    return decode(Reach, reach_task(encode(ReachTask(places=tuple(places))))).unreached


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a folder with two files in folders."""
    for name in ("p=1", "p=2"):
        (tmp_path / "source" / name).mkdir(parents=True)
        (tmp_path / "source" / name / "a.parquet").write_text("abc")
    return tmp_path / "source"


def test_shared_folders_are_reached_and_nothing_is_left(source: Path, tmp_path: Path) -> None:
    """A source that exists, and a table whose parent does not exist yet."""
    before = sorted(tmp_path.rglob("*"))
    with places_seen([str(source)], [str(tmp_path / "lake" / "table")]) as places:
        assert unreached(places) == ()
        assert sorted(tmp_path.rglob("*")) != before
    assert sorted(tmp_path.rglob("*")) == before


def test_probe_of_a_table_is_where_no_reader_looks(tmp_path: Path) -> None:
    """It is in `.hoodie`, under a name that is no instant's."""
    (tmp_path / ".hoodie").mkdir()
    with places_seen([], [str(tmp_path)]) as (place,):
        assert place.probe == str(tmp_path / ".hoodie")
        (name,) = [path.name for path in (tmp_path / ".hoodie").iterdir()]
        assert name.startswith(".lakestrap-probe-")


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "another file"])
def test_source_that_is_another_is_named(source: Path, left: str) -> None:
    """The same path on another disk may be missing, empty, or hold other files."""
    with places_seen([str(source)]) as places:
        shutil.rmtree(source)
        if left != "nothing":
            source.mkdir()
        if left == "another file":
            (source / "p=1").mkdir()
            (source / "p=1" / "a.parquet").write_text("other bytes")
        (found,) = unreached(places)
    assert (found.location, found.is_other) == (str(source), True)


def test_table_whose_parent_is_another_folder_is_named(tmp_path: Path) -> None:
    """An empty folder of the same name on a worker is not the driver's."""
    with places_seen([], [str(tmp_path / "table")]) as places:
        for path in tmp_path.iterdir():
            path.unlink()
        (found,) = unreached(places)
    assert found.is_other
    assert found.location == str(tmp_path / "table")


def test_folder_that_the_driver_cannot_write_is_a_fault_of_storage() -> None:
    """The run would fail there as well."""
    with pytest.raises(StorageError), places_seen([], ["/proc/table"]):
        pass


def test_object_stores_are_listed_and_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket is the same from everywhere; that its table does not exist yet is no fault."""
    storage = open_storage("objects://reach-test")
    monkeypatch.setattr("framework.engine.inspect.reach._is_everywhere", lambda _: True)
    with places_seen([], ["objects://reach-test"]) as places:
        assert unreached(places) == ()
    assert list(storage.list("")) == []
