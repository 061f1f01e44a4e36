"""A kept view that is written to a file, and opened again where that is right."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from framework.errors import StorageError
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.view.checkpoint import Refusal, Reopened, reopen, write_checkpoint
from framework.hudi.view.incremental import IncrementalView
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.stores.port import MemoryStore
from tests.support.timeline_metadata import clean_bytes
from tests.support.view_scene import BASE, Scene

EVERYTHING = Query(selection=Selection.ALL)


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Return a table with two partitions, one of them empty, all of which the view knows."""
    found = Scene()
    found.write(BASE, "q/x/.hoodie_partition_metadata")
    found.commit("1.commit", BASE)
    found.view.select(EVERYTHING)
    yield found
    found.storage.forget()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the checkpoint is to be."""
    return tmp_path / "new" / "view"


def opened(scene: Scene, path: Path) -> Reopened:
    """Open a checkpoint of the scene's table."""
    return reopen(scene.storage, MemoryStore(), path)


def refused(scene: Scene, path: Path) -> Refusal | None:
    """Return why a checkpoint is not used; the view is right in any case."""
    found = opened(scene, path)
    assert slices(found.view) == slices(IncrementalView(scene.storage, MemoryStore()))
    return found.refusal


def slices(view: IncrementalView) -> list[FileSlice]:
    """Return all that a view has."""
    return view.select(EVERYTHING)


def test_view_that_is_opened_again_lists_nothing(scene: Scene, path: Path) -> None:
    """It has all that it had, the empty partition too, and what it did not look at since."""
    write_checkpoint(scene.view, path)
    found = opened(scene, path)
    assert found.refusal is None
    assert slices(found.view) == slices(scene.view)
    assert list(found.view.partitions()) == ["p", "q/x"]
    assert found.view.counts.listings == 0
    assert found.view.counts.resets == 0


def test_reopened_view_continues_from_its_checkpoint(scene: Scene, path: Path) -> None:
    """What completed since is read, and nothing else."""
    write_checkpoint(scene.view, path)
    scene.write("p/b_0-0-0_2.parquet")
    scene.commit("2.commit", "p/b_0-0-0_2.parquet")
    found = opened(scene, path)
    found.view.sync()
    scene.view.sync()
    assert slices(found.view) == slices(scene.view)
    assert len(slices(found.view)) == 2
    assert (found.view.counts.instants, found.view.counts.listings) == (1, 0)


def test_view_that_knows_some_of_the_table_is_opened_as_that(path: Path) -> None:
    """Partitions that were not requested before are listed on request."""
    scene = Scene()
    scene.write(BASE)
    scene.commit("1.commit", BASE)
    scene.view.latest_slices("p")
    write_checkpoint(scene.view, path)
    found = opened(scene, path)
    assert len(found.view.latest_slices("p")) == 1
    assert found.view.counts.listings == 0
    assert list(found.view.partitions()) == ["p"]
    assert found.view.counts.listings == 2
    scene.storage.forget()


def test_view_that_never_looked_can_be_written(path: Path) -> None:
    """It looks at the timeline first, and knows no partition."""
    scene = Scene()
    write_checkpoint(scene.view, path)
    assert opened(scene, path).refusal is None
    scene.storage.forget()


def test_checkpoint_takes_the_place_of_the_one_before(scene: Scene, path: Path) -> None:
    """No other file is left beside it."""
    for time in "23":
        scene.commit(f"{time}.commit")
        write_checkpoint(scene.view, path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_checkpoint_that_cannot_be_written_leaves_the_one_before(scene: Scene, path: Path) -> None:
    """A folder blocks the file's name; the temporary file is removed."""
    (path / "folder").mkdir(parents=True)
    with pytest.raises(StorageError):
        write_checkpoint(scene.view, path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_checkpoint_that_is_missing_is_refused(scene: Scene, path: Path) -> None:
    """The view begins with nothing."""
    assert refused(scene, path) is Refusal.MISSING


def test_checkpoint_that_cannot_be_read_is_refused(scene: Scene, path: Path) -> None:
    """A folder is no checkpoint."""
    path.mkdir(parents=True)
    assert refused(scene, path) is Refusal.UNREADABLE


def test_checkpoint_of_which_any_byte_changed_is_refused(scene: Scene, path: Path) -> None:
    """In any position; so is one that was truncated or extended."""
    write_checkpoint(scene.view, path)
    whole = path.read_bytes()
    store = MemoryStore()
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes((whole[place] ^ 0x10,)) + whole[place + 1 :])
        assert reopen(scene.storage, store, path).refusal is Refusal.DAMAGED
        path.write_bytes(whole[:place])
        assert reopen(scene.storage, store, path).refusal is Refusal.DAMAGED
        assert store.usage().partitions == 0
    path.write_bytes(whole + b"\0")
    assert refused(scene, path) is Refusal.DAMAGED


@pytest.mark.parametrize("data", [b"", b"{}", b"ARROW1\0\0"])
def test_file_that_is_no_checkpoint_is_refused(scene: Scene, path: Path, data: bytes) -> None:
    """Even one with the right checksum."""
    path.parent.mkdir()
    path.write_bytes(data + hashlib.sha256(data).digest())
    assert refused(scene, path) is Refusal.DAMAGED


def test_checkpoint_of_another_version_is_refused(scene: Scene, path: Path) -> None:
    """What it says may mean something else."""
    write_checkpoint(scene.view, path)
    data = path.read_bytes()[:-32]
    (said,) = re.findall(rb'"version": [0-9]+', data)
    data = data.replace(said, said[:-1] + b"9")
    path.write_bytes(data + hashlib.sha256(data).digest())
    assert refused(scene, path) is Refusal.OTHER_VERSION


def test_checkpoint_of_another_table_is_refused(scene: Scene, path: Path) -> None:
    """Tables of one timeline may be in several locations."""
    other = Scene()
    write_checkpoint(other.view, path)
    assert refused(scene, path) is Refusal.FOREIGN
    other.storage.forget()


def test_checkpoint_of_a_table_that_was_made_anew_is_refused(scene: Scene, path: Path) -> None:
    """The instant of that name is another one."""
    write_checkpoint(scene.view, path)
    scene.storage.delete(".hoodie", BASE)
    scene.commit("1.commit")
    assert refused(scene, path) is Refusal.TOO_OLD


def test_checkpoint_from_before_what_was_archived_is_refused(scene: Scene, path: Path) -> None:
    """The effect of instants that were archived meanwhile is unknown."""
    write_checkpoint(scene.view, path)
    scene.unsay("1.commit")
    scene.write("p/b_0-0-0_2.parquet")
    scene.commit("3.commit")
    assert refused(scene, path) is Refusal.TOO_OLD
    for time in "56":
        scene.say(f"{time}.clean", clean_bytes(time, {}))
    assert refused(scene, path) is Refusal.TOO_OLD


def test_checkpoint_of_many_files_keeps_their_order_and_ages(scene: Scene, path: Path) -> None:
    """The timeline is known to the nanosecond, as it was."""
    write_checkpoint(scene.view, path)
    found = opened(scene, path).view.known
    assert found is not None
    assert scene.view.known is not None
    assert json.dumps(found.files) == json.dumps(scene.view.known.files)
    assert found.timeline == scene.view.known.timeline
