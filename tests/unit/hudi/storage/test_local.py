"""The local storage keeps the port's promises, and says what the operating system says."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import StorageError
from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Move, Storage, storage_error
from tests.support.storage_suite import StorageSuite, condition_of, put, tree


class TestLocalStorage(StorageSuite):
    """The suite over a folder that does not exist at first."""

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        """Return a storage whose root is still to be made."""
        return LocalStorage(str(tmp_path / "new" / "root"))


def test_local_list_with_links_follows_them(tmp_path: Path) -> None:
    """A linked file has its target's size, a dangling link is there with size 0."""
    (tmp_path / "target").write_bytes(b"123")
    (tmp_path / "good").symlink_to(tmp_path / "target")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    found = {e.name: e.size for e in LocalStorage(str(tmp_path)).list("")}
    assert found == {"dangling": 0, "good": 3, "target": 3}


def test_local_delete_of_a_linked_folder_spares_its_target(tmp_path: Path) -> None:
    """Only the link goes."""
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "f").write_bytes(b"1")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "far")
    LocalStorage(str(tmp_path / "root")).delete("link")
    assert (tmp_path / "far" / "f").exists()
    assert not (tmp_path / "root" / "link").exists()


def test_local_list_with_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    """Such a name could be neither stored nor shown, so it is an error with its bytes escaped."""
    os.close(os.open(os.fsencode(tmp_path) + b"/bad\xff", os.O_CREAT | os.O_WRONLY))
    with pytest.raises(StorageError) as caught:
        list(LocalStorage(str(tmp_path)).list(""))
    assert caught.value.where.file is not None
    assert caught.value.where.file.endswith("bad\\xff")


def test_local_open_input_of_a_pipe_does_not_hang(tmp_path: Path) -> None:
    """Only regular files are opened."""
    os.mkfifo(tmp_path / "pipe")
    storage = LocalStorage(str(tmp_path))
    assert condition_of(lambda: storage.open_input("pipe")) == "storage/failed"


@pytest.fixture
def file_size_limit() -> Iterator[int]:
    """Limit files to 1 MiB for one test."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, old[1]))
    yield 1 << 20
    resource.setrlimit(resource.RLIMIT_FSIZE, old)
    signal.signal(signal.SIGXFSZ, handler)


def test_local_create_past_the_limit_raises_full_and_leaves_nothing(
    tmp_path: Path, file_size_limit: int
) -> None:
    """A write that does not fit raises a typed error through every writer."""
    storage = LocalStorage(str(tmp_path))
    assert condition_of(lambda: put(storage, "f", b"x" * 2 * file_size_limit)) == "storage/full"
    assert tree(storage) == {}


def test_local_create_past_the_limit_through_parquet_raises_full(
    tmp_path: Path, file_size_limit: int
) -> None:
    """PyArrow hands the typed error through."""
    storage = LocalStorage(str(tmp_path))
    table = pa.table({"x": pa.array(os.urandom(8) for _ in range(file_size_limit // 4))})

    def write() -> None:
        """Write a file that is too large."""
        with storage.create("f") as out:
            pq.write_table(table, out)

    assert condition_of(write) == "storage/full"
    assert tree(storage) == {}


def test_local_move_that_cannot_sync_raises_not_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name exists, but is not durable."""
    storage = LocalStorage(str(tmp_path))
    put(storage, "s", b"1")

    def broken(handle: int) -> None:
        """Fail as a dying disk does."""
        raise OSError(5, f"Input/output error on {handle}")

    monkeypatch.setattr(os, "fsync", broken)
    moves = [Move(source="s", target="t")]
    assert condition_of(lambda: storage.move(moves)) == "storage/not-durable"
    assert tree(storage) == {"t": b"1"}


def test_local_file_is_durable_before_its_name_and_the_name_before_the_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes are synced before the link, and every folder that gained a name after it."""
    events: list[str] = []
    sync, link = os.fsync, os.link

    def recorded_sync(handle: int) -> None:
        """Note what is synced."""
        path = Path(f"/proc/self/fd/{handle}").readlink().relative_to(tmp_path)
        events.append(f"sync {path}")
        sync(handle)

    def recorded_link(source: str, target: str) -> None:
        """Note the link."""
        events.append("link")
        link(source, target)

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(os, "link", recorded_link)
    storage = LocalStorage(str(tmp_path / "t"))
    put(storage, "s/f", b"1")
    storage.move([Move(source="s/f", target="a/b/f")])
    assert events.index("sync t/s/f") < events.index("link")
    assert set(events[: events.index("sync t/s/f")]) == {"sync .", "sync t"}
    assert set(events[events.index("link") :]) == {
        "link",
        "sync t",
        "sync t/a",
        "sync t/a/b",
    }
    events.clear()
    storage.delete("a/b/f")
    assert events == ["sync t/a/b"]


@pytest.mark.parametrize(
    ("number", "condition"),
    [(2, "not-found"), (17, "exists"), (13, "permission"), (30, "permission"), (28, "full")],
)
def test_storage_error_of_an_error_number_has_its_condition(number: int, condition: str) -> None:
    """The table of meanings: ENOENT, EEXIST, EACCES, EROFS, ENOSPC."""
    found = storage_error(OSError(number, "reason"), "/place")
    assert (found.condition, found.where.file) == (f"storage/{condition}", "/place")
    assert found.remedy
