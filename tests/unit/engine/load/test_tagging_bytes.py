"""What is read to find the file groups that a load changes: skeletons and footers, no sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.engine import tasks as running
from framework.engine.load.tag_task import tag_task
from framework.hudi.storage.local import LocalStorage
from tests.support.writing import run_spec

ROWS = 5_000
FILES = 4


class Counted:
    """A file that counts the bytes that are read of it."""

    def __init__(self, inner: Any, path: str, read: Counter[str]) -> None:
        self._inner = inner
        self._path = path
        self._read = read
        read[path] += 0

    closed = property(lambda self: self._inner.closed)

    def read(self, count: int | None = None) -> bytes:
        """Read, and count."""
        data: bytes = self._inner.read() if count is None else self._inner.read(count)
        self._read[self._path] += len(data)
        return data

    def read_buffer(self, count: int) -> Any:
        """Read, and count."""
        data = self._inner.read_buffer(count)
        self._read[self._path] += data.size
        return data

    def __getattr__(self, name: str) -> Any:
        """Hand on everything else, but for reading by other ways."""
        if name.startswith("read"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._inner.close()


@pytest.fixture
def tagging(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return the bytes that are read of each file while slices are looked into."""
    read: Counter[str] = Counter()
    opened = LocalStorage.open_input

    @contextmanager
    def counting() -> Iterator[None]:
        def open_counted(self: LocalStorage, path: str) -> Any:
            return Counted(opened(self, path), f"{self.location}/{path}", read)

        with monkeypatch.context() as patch:
            patch.setattr(LocalStorage, "open_input", open_counted)
            yield

    def watched(
        self: running.InProcessTasks, work: Callable[[str], str], descriptors: Sequence[str]
    ) -> Iterator[str]:
        if work is not tag_task:
            yield from original_run(self, work, descriptors)
            return
        with counting():
            yield from [*original_run(self, work, descriptors)]

    original_run = running.InProcessTasks.run
    monkeypatch.setattr(running.InProcessTasks, "run", watched)
    return read


def a_spec(folder: Path, source: str) -> dict[str, Any]:
    """Return a spec that adopts `raw` and upserts from another folder; keys are scattered."""
    return {
        "version": 1,
        "table": {
            "name": "shop.orders",
            "location": str(folder / "table"),
            "record_key": {"columns": ["id"], "unique_within": "table"},
            "ordering": "commit_time",
        },
        "bootstrap": {"path": str(folder / "raw"), "layout": "none"},
        "source": {"path": str(folder / source)},
        "write": {"operation": "upsert"},
    }


def name_of(number: int) -> str:
    """Return a key that no compression makes small."""
    return sha256(str(number).encode()).hexdigest()


def write(path: Path, ids: Sequence[str]) -> None:
    """Write a file of rows."""
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": ids, "v": ["some text"] * len(ids)}), path)


@pytest.fixture
def adopted(tmp_path: Path) -> Path:
    """A folder with a table over files of which each has keys from the whole range."""
    for number in range(FILES):
        ids = [name_of(each) for each in range(number, ROWS * FILES, FILES)]
        write(tmp_path / f"raw/{number}.parquet", ids)
    write(tmp_path / "known/0.parquet", [name_of(5)])
    write(tmp_path / "new/0.parquet", ["x", "y"])
    run_spec(a_spec(tmp_path, "known"), tmp_path)
    return tmp_path


def account(folder: Path, source: str) -> dict[str, int]:
    """Load from a folder, and return what became of its rows."""
    found: Any = run_spec(a_spec(folder, source), folder).proof["account"]
    return {name: count for name, count in found.items() if count}


def skeletons(folder: Path) -> dict[str, int]:
    """Return the sizes of the skeletons by path."""
    found = (folder / "table").glob("*_00000000000001.parquet")
    return {str(path): path.stat().st_size for path in found}


def test_keys_within_no_file_cost_its_footer_alone(adopted: Path, tagging: Counter[str]) -> None:
    """Their ranges rule the files out: nothing of the sources is read, and no key."""
    assert account(adopted, "new") == {"input": 2, "inserted": 2}
    sizes = skeletons(adopted)
    read = {path: count for path, count in tagging.items() if path in sizes}
    assert read.keys() == sizes.keys()
    assert all(0 < count < sizes[path] for path, count in read.items())
    assert not [path for path in tagging if "/raw/" in path]


def test_key_of_one_file_costs_the_skeletons_that_its_bloom_filter_does_not_rule_out(
    adopted: Path, tagging: Counter[str]
) -> None:
    """All ranges hold it; of one file more than the footer is read, and of no source anything."""
    assert account(adopted, "known") == {"input": 1, "updated": 1}
    sizes = skeletons(adopted)
    read = {path: count for path, count in tagging.items() if path in sizes}
    assert read.keys() == sizes.keys()
    least = min(read.values())
    assert sorted(count > least * 1.2 for count in read.values()) == [False] * 3 + [True]
    assert not [path for path in tagging if "/raw/" in path]
