"""Which files of a source are seen, in which order, and which are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Barrier

import pytest

from framework.errors import PlanError
from framework.hudi.bootstrap.discovery import Ignored, discover, is_hidden
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Entry


def touch(root: Path, *paths: str) -> LocalStorage:
    """Make small files and return the storage at `root`."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"x")
    return LocalStorage(str(root))


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("_SUCCESS", True),
        ("_metadata", True),
        ("_common_metadata", True),
        ("_temporary", True),
        ("_p=1", False),
        (".part.crc", True),
        (".x=1", True),
        ("part-0.parquet._COPYING_", True),
        ("part-0.parquet", False),
        ("a_b", False),
    ],
)
def test_is_hidden_follows_spark(name: str, hidden: bool) -> None:  # noqa: FBT001 - a case
    """Spark hides leading underscores without `=`, leading dots and files being copied."""
    assert is_hidden(name) is hidden


def test_discover_partitions_sorts_by_partition_then_path(tmp_path: Path) -> None:
    """Order is that of UTF-8 bytes, partition path first; hidden names are counted."""
    storage = touch(
        tmp_path, "p=10/b", "p=1/z", "p=1/a", "p=1-2/a", "p=é/a", "_SUCCESS", "p=1/.a.crc"
    )
    ignored = Ignored()
    found = [(file.partition_path, file.path) for file in discover(storage, 1, ignored)]
    assert found == [
        ("p=1", "p=1/a"),
        ("p=1", "p=1/z"),
        ("p=1-2", "p=1-2/a"),
        ("p=10", "p=10/b"),
        ("p=é", "p=é/a"),
    ]
    assert ignored.count == 2
    assert ignored.samples == ["_SUCCESS", "p=1/.a.crc"]


def test_discover_lists_partitions_at_the_same_time(tmp_path: Path) -> None:
    """Several listings are under way at once; none waits for the one before."""
    inner = touch(tmp_path, *(f"p={n}/a" for n in range(40)))
    storage = MeetingStorage(inner)
    found = [file.path for file in discover(storage, 1, Ignored())]
    assert found == sorted(f"p={n}/a" for n in range(40))
    assert storage.met >= 4


class MeetingStorage(LocalStorage):
    """Its listings of partitions wait until four of them are under way."""

    def __init__(self, inner: LocalStorage) -> None:
        super().__init__(inner.location)
        self._barrier = Barrier(4, timeout=30)
        self.met = 0

    def list(self, folder: str) -> Iterator[Entry]:
        """List, once others do too."""
        if folder:
            self._barrier.wait()
            self.met += 1
        return super().list(folder)


def test_discover_without_partitions_takes_nested_files_by_whole_path(tmp_path: Path) -> None:
    """All files below the root are one partition; `a-b/` sorts before `a/`."""
    storage = touch(tmp_path, "a/1", "a-b/1", "a.x", "b")
    found = [file.path for file in discover(storage, 0, Ignored())]
    assert found == ["a-b/1", "a.x", "a/1", "b"]
    assert {file.partition_path for file in discover(storage, 0, Ignored())} == {""}


def test_discover_several_levels_skips_empty_folders(tmp_path: Path) -> None:
    """A folder without files is no partition."""
    storage = touch(tmp_path, "y=1/m=2/a")
    (tmp_path / "y=2" / "m=1").mkdir(parents=True)
    assert [file.partition_path for file in discover(storage, 2, Ignored())] == ["y=1/m=2"]


@pytest.mark.parametrize("path", ["stray", "p=1/q=1/deep"])
def test_discover_file_at_other_level_is_refused(tmp_path: Path, path: str) -> None:
    """A data file above or below the partition level would be lost in silence."""
    storage = touch(tmp_path, "p=1/a", path)
    with pytest.raises(PlanError) as caught:
        list(discover(storage, 1, Ignored()))
    assert caught.value.condition == "source/file-beside-partitions"
    assert caught.value.where.file == f"{tmp_path}/{path}"


def test_discover_missing_root_is_refused(tmp_path: Path) -> None:
    """A source that is not there is no empty source."""
    with pytest.raises(PlanError) as caught:
        list(discover(LocalStorage(str(tmp_path / "none")), 1, Ignored()))
    assert caught.value.condition == "source/missing"


def test_discover_follows_links_to_files_and_folders(tmp_path: Path) -> None:
    """Links are what they point to, as for Spark."""
    outside = tmp_path / "outside"
    touch(outside, "a")
    storage = touch(tmp_path / "source", "p=1/b")
    (tmp_path / "source" / "p=2").symlink_to(outside)
    (tmp_path / "source" / "p=1" / "c").symlink_to(outside / "a")
    assert [file.path for file in discover(storage, 1, Ignored())] == ["p=1/b", "p=1/c", "p=2/a"]


def test_discover_link_cycle_is_refused(tmp_path: Path) -> None:
    """A link that leads back up ends in a typed error."""
    storage = touch(tmp_path, "a/x")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    with pytest.raises(PlanError) as caught:
        list(discover(storage, 0, Ignored()))
    assert caught.value.condition == "source/too-deep"
