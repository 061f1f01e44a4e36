"""Files are created only while the fence is there, and leave nothing where it goes meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from framework.errors import CommitConflictError
from framework.hudi.commit.fenced import FencedStorage
from framework.hudi.commit.staging import Staging
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Storage
from tests.support.storage_suite import put, read
from tests.support.transactions import WRITE_ID

BEFORE, DURING = "before it is made", "while it is written"
STAGING = Staging(write_id=WRITE_ID)
FILE = f"{STAGING.attempts}/a/b"


class Vanishing(LocalStorage):
    """A folder in which something happens at a moment of a file's creation."""

    def __init__(self, root: Path, act: Callable[[], object], moment: str) -> None:
        super().__init__(str(root))
        self._act = act
        self._moment = moment

    @contextlib.contextmanager
    def create(self, path: str, *, durable: bool = True) -> Iterator[BinaryIO]:
        """Create a file, with the event in between."""
        if self._moment == BEFORE:
            self._act()
        with super().create(path, durable=durable) as out:
            yield out
            if self._moment == DURING:
                self._act()


def fenced(root: Path) -> tuple[LocalStorage, FencedStorage]:
    """Return a table whose run is under way, and what its tasks write through."""
    storage = LocalStorage(str(root))
    put(storage, STAGING.begin, b"{}")
    return storage, FencedStorage(storage, STAGING.begin)


def names(root: Path) -> list[str]:
    """Return every file and folder below `root`."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_fenced_storage_while_the_fence_is_there_is_the_storage_inside(tmp_path: Path) -> None:
    """It creates, looks, lists, opens and deletes."""
    inner, storage = fenced(tmp_path)
    assert isinstance(storage, Storage)
    assert storage.location == inner.location
    put(storage, FILE, b"data")
    assert read(storage, FILE) == b"data"
    assert [each.path for each in storage.list(f"{STAGING.attempts}/a")] == [FILE]
    storage.delete(FILE)
    assert storage.stat(FILE) is None


def test_create_after_the_fence_was_renamed_away_makes_nothing(tmp_path: Path) -> None:
    """Not even the folders of the path."""
    inner, storage = fenced(tmp_path)
    renamed = STAGING.rename_away(inner)
    before = names(tmp_path)
    with pytest.raises(CommitConflictError) as caught:
        put(storage, FILE, b"data")
    assert caught.value.condition == "commit/fenced"
    assert names(tmp_path) == before
    assert renamed is not None


@pytest.mark.parametrize("moment", [BEFORE, DURING])
def test_create_while_the_fence_is_renamed_away_leaves_nothing(tmp_path: Path, moment: str) -> None:
    """A file that came too late is deleted with its folders; an earlier one went with the fence."""
    inner, _ = fenced(tmp_path)
    gone: list[str | None] = []
    storage = FencedStorage(
        Vanishing(tmp_path, lambda: gone.append(STAGING.rename_away(inner)), moment), STAGING.begin
    )
    with pytest.raises(CommitConflictError, match="over"):
        put(storage, FILE, b"data")
    assert len(gone) == 1
    assert gone[0] is not None
    inner.delete(gone[0])
    assert names(tmp_path) == [".hoodie", ".hoodie/.lakestrap"]


def test_create_that_fails_after_the_fence_went_keeps_its_own_error(tmp_path: Path) -> None:
    """The cause of a failure is not hidden, and nothing is left of it either."""
    inner, storage = fenced(tmp_path)

    def fail() -> None:
        """Fail in the middle of a file, after the fence was deleted."""
        with storage.create(FILE):
            STAGING.remove(inner)
            raise ValueError("of its own")

    with pytest.raises(ValueError, match="of its own"):
        fail()
    assert names(tmp_path) == []
