"""What storages must do, to be subclassed with a `storage` fixture.

`ObjectSuite` holds for every storage, `StorageSuite` adds what storages with folders and moves do.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from framework.errors import StorageError
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Entry, Move, Storage

__all__ = ["ObjectSuite", "StorageSuite", "condition_of", "put", "read", "tree"]


def put(storage: Storage, path: str, data: bytes = b"") -> None:
    """Create a file with `data`."""
    with storage.create(path) as out:
        out.write(data)


def read(storage: Storage, path: str) -> bytes:
    """Return all bytes of a file."""
    with storage.open_input(path) as source:
        return bytes(source.read())


def tree(storage: Storage, folder: str = "") -> dict[str, bytes]:
    """Return every file below `folder` with its bytes."""
    found: dict[str, bytes] = {}
    for entry in storage.list(folder):
        if entry.is_folder:
            found.update(tree(storage, entry.path))
        else:
            found[entry.path] = read(storage, entry.path)
    return found


def condition_of(action: Callable[[], object]) -> str:
    """Return the condition of the storage error that `action` raises."""
    with pytest.raises(StorageError) as caught:
        action()
    assert caught.value.where.file
    return caught.value.condition


class ObjectSuite:
    """The part of the port that needs neither folders nor moves."""

    def test_storage_of_any_kind_is_a_storage(self, storage: Storage) -> None:
        """The runtime protocol check passes, and the location opens the same files."""
        put(storage, "a/b", b"1")
        assert isinstance(storage, Storage)
        assert read(open_storage(storage.location), "a/b") == b"1"

    def test_root_without_files_lists_nothing(self, storage: Storage) -> None:
        """A root that does not exist yet is empty, not an error."""
        assert list(storage.list("")) == []
        assert list(storage.list("no/such")) == []
        assert storage.stat("no/such") is None

    def test_list_of_a_folder_yields_its_children_by_name(self, storage: Storage) -> None:
        """Immediate children only, sorted, with sizes of files."""
        for path in ("d/b", "d/a/x", "d/C", "d/é", "e"):
            put(storage, path, b"12")
        found = list(storage.list("d"))
        assert [(e.path, e.name, e.is_folder, e.size) for e in found] == [
            ("d/C", "C", False, 2),
            ("d/a", "a", True, 0),
            ("d/b", "b", False, 2),
            ("d/é", "é", False, 2),
        ]

    def test_list_of_a_file_yields_nothing(self, storage: Storage) -> None:
        """A file has no children."""
        put(storage, "f")
        assert list(storage.list("f")) == []
        assert storage.stat("f/below") is None

    def test_stat_of_file_and_folder_says_which(self, storage: Storage) -> None:
        """Size and time belong to files, folders have 0."""
        put(storage, "d/f", b"123")
        entry = storage.stat("d/f")
        assert entry is not None
        assert (entry.is_folder, entry.size) == (False, 3)
        assert entry.mtime_ns > 0
        assert storage.stat("d") == Entry(path="d", is_folder=True, size=0, mtime_ns=0)
        root = storage.stat("")
        assert root is not None
        assert root.is_folder

    def test_create_over_a_file_raises_exists_and_keeps_it(self, storage: Storage) -> None:
        """Creation is exclusive, and the file keeps its bytes."""
        put(storage, "d/f", b"1")
        assert condition_of(lambda: put(storage, "d/f", b"2")) == "storage/exists"
        assert read(storage, "d/f") == b"1"

    def test_create_that_fails_leaves_no_file(self, storage: Storage) -> None:
        """An exception in the context removes the file, so that the name is free again."""

        def fail() -> None:
            """Write half a file."""
            with storage.create("d/f") as out:
                out.write(b"half")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fail()
        assert storage.stat("d/f") is None
        put(storage, "d/f", b"whole")
        assert read(storage, "d/f") == b"whole"

    def test_open_input_reads_ranges(self, storage: Storage) -> None:
        """Random access by seek, and the size is known."""
        put(storage, "f", b"0123456789")
        with storage.open_input("f") as source:
            assert source.size() == 10
            source.seek(4)
            assert source.read(3) == b"456"

    def test_open_input_without_a_file_raises(self, storage: Storage) -> None:
        """Missing files and folders cannot be opened."""
        put(storage, "d/f")
        assert condition_of(lambda: storage.open_input("x")) == "storage/not-found"
        assert condition_of(lambda: storage.open_input("d")) == "storage/failed"

    def test_delete_removes_files_and_folders(self, storage: Storage) -> None:
        """Whole folders go, neighbours with a longer name stay, nothing there is success."""
        for path in ("d/a", "d/e/b", "dd", "f"):
            put(storage, path)
        storage.delete("d", "f", "no/such")
        storage.delete("f/below")
        assert list(tree(storage)) == ["dd"]
        assert storage.stat("d") is None

    def test_path_that_leaves_the_root_is_refused(self, storage: Storage) -> None:
        """No path may climb out of the storage."""
        for path in ("../x", "a/../../x", "/etc/passwd", "a\0b"):
            assert condition_of(lambda path=path: put(storage, path)) == "storage/failed"  # type: ignore[misc] # mypy cannot infer a lambda with a default
            assert condition_of(lambda path=path: storage.delete(path)) == "storage/failed"  # type: ignore[misc] # as above

    def test_names_with_marks_and_letters_come_back_unchanged(self, storage: Storage) -> None:
        """Text of names is neither encoded nor decoded."""
        names = ["a b", "a%20b", "a+b", "a#b", "a=é", "b&c", "b?c", "c[1]", "d~e", "日本", "{x}"]
        for name in names:
            put(storage, f"p=1 2%3A/{name}", name.encode())
        assert [each.name for each in storage.list("p=1 2%3A")] == sorted(names)
        for name in names:
            assert read(storage, f"p=1 2%3A/{name}") == name.encode()
            found = storage.stat(f"p=1 2%3A/{name}")
            assert found is not None
            assert found.size == len(name.encode())
        storage.delete(*(f"p=1 2%3A/{name}" for name in names))
        assert tree(storage) == {}


class StorageSuite(ObjectSuite):
    """The whole port."""

    def test_create_over_a_folder_raises_exists(self, storage: Storage) -> None:
        """A folder cannot be a file at the same time."""
        put(storage, "d/f", b"1")
        assert condition_of(lambda: put(storage, "d", b"2")) == "storage/exists"

    def test_create_below_a_file_raises(self, storage: Storage) -> None:
        """A file cannot be a folder at the same time."""
        put(storage, "f", b"1")
        assert condition_of(lambda: put(storage, "f/g")) in {"storage/exists", "storage/not-found"}

    def test_move_gives_files_their_names(self, storage: Storage) -> None:
        """Files move with their bytes, target folders are created, sources are removed."""
        put(storage, "s/1", b"1")
        put(storage, "s/2", b"2")
        storage.move([Move(source="s/1", target="t/u/1"), Move(source="s/2", target="t/2")])
        assert tree(storage) == {"t/u/1": b"1", "t/2": b"2"}

    def test_move_to_a_taken_name_raises_and_earlier_moves_are_kept(self, storage: Storage) -> None:
        """The first fault ends the batch; nothing is replaced."""
        for name in "123":
            put(storage, f"s/{name}", name.encode())
        put(storage, "t/2", b"old")
        moves = [Move(source=f"s/{n}", target=f"t/{n}") for n in "123"]
        assert condition_of(lambda: storage.move(moves)) == "storage/exists"
        assert tree(storage) == {"t/1": b"1", "t/2": b"old", "s/2": b"2", "s/3": b"3"}

    def test_move_without_a_source_raises_not_found(self, storage: Storage) -> None:
        """A missing source raises its condition."""
        moves = [Move(source="s/1", target="t/1")]
        assert condition_of(lambda: storage.move(moves)) == "storage/not-found"
        assert storage.stat("t/1") is None

    def test_move_of_a_folder_takes_everything_along(self, storage: Storage) -> None:
        """Folders move whole, and only to a free name."""
        put(storage, "s/a/1", b"1")
        put(storage, "s/2", b"2")
        storage.move([Move(source="s", target="x/y")])
        assert tree(storage) == {"x/y/a/1": b"1", "x/y/2": b"2"}
        put(storage, "s/3", b"3")
        moves = [Move(source="s", target="x/y")]
        assert condition_of(lambda: storage.move(moves)) == "storage/exists"

    def test_file_open_during_a_folder_move_ends_up_in_the_new_folder(
        self, storage: Storage
    ) -> None:
        """A writer that was overtaken by a move does not make the old name again."""
        with storage.create("s/f") as out:
            out.write(b"1")
            storage.move([Move(source="s", target="t")])
        assert tree(storage) == {"t/f": b"1"}

    def test_replace_gives_a_file_new_bytes_and_open_readers_the_old_ones(
        self, storage: Storage
    ) -> None:
        """The source is gone, and the name was never free."""
        put(storage, "a", b"old")
        put(storage, "s/a", b"newer")
        with storage.open_input("a") as opened:
            storage.replace(Move(source="s/a", target="a"))
            assert opened.read() == b"old"
        assert tree(storage) == {"a": b"newer"}

    def test_replace_of_or_by_nothing_raises_and_changes_nothing(self, storage: Storage) -> None:
        """Both files must be there."""
        put(storage, "a", b"1")
        for move in (Move(source="x", target="a"), Move(source="a", target="x")):
            assert condition_of(lambda move=move: storage.replace(move)) == "storage/not-found"  # type: ignore[misc] # mypy cannot infer a lambda with a default
        assert tree(storage) == {"a": b"1"}

    def test_delete_of_only_empty_folders_spares_what_is_in_use(self, storage: Storage) -> None:
        """A folder with a child and a file stay; an empty folder goes."""
        put(storage, "d/e/f")
        storage.delete("d", "d/e", "d/e/f", "none", only_empty=True)
        assert list(tree(storage)) == ["d/e/f"]
        storage.delete("d/e/f")
        storage.delete("d/e", "d", only_empty=True)
        assert storage.stat("d") is None
