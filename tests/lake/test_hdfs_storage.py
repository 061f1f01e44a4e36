"""HDFS keeps the port's promises, and only one of many writers gets a name."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import StorageError
from framework.hudi.storage.hdfs import HdfsStorage
from framework.hudi.storage.port import Move, Storage
from tests.support.storage_suite import StorageSuite, put, read

pytestmark = pytest.mark.lake


class TestHdfsStorage(StorageSuite):
    """The suite over a folder that does not exist at first."""

    @pytest.fixture
    def storage(self, root: str) -> Storage:
        """Return a storage whose root is still to be made."""
        return HdfsStorage(root)


def test_small_files_one_after_another_do_not_sleep(root: str) -> None:
    """The client's wait for the report of a block, half a second for each file, is cut short."""
    storage = HdfsStorage(root)
    put(storage, "first", b"1")
    begun = time.monotonic()
    for number in range(20):
        put(storage, f"f{number}", b"1")
    assert time.monotonic() - begun < 20 * 0.4


def test_large_file_is_read_by_ranges_across_blocks(root: str) -> None:
    """Parquet of several blocks comes back, by columns and row groups, through pyarrow."""
    storage = HdfsStorage(root)
    rows = pa.table({"a": list(range(300_000)), "b": [f"{n:>40}" for n in range(300_000)]})
    with storage.create("d/f.parquet") as out:
        pq.write_table(rows, out, compression="none", use_dictionary=False, row_group_size=50_000)
    entry = storage.stat("d/f.parquet")
    assert entry is not None
    assert entry.size > 12 << 20
    with storage.open_input("d/f.parquet") as source:
        parquet = pq.ParquetFile(source)
        assert parquet.read_row_group(3, ["a"])["a"].to_pylist() == list(range(150_000, 200_000))
        assert parquet.read() == rows


def test_names_with_marks_and_letters_come_back_unchanged(root: str) -> None:
    """Text of names is neither encoded nor decoded."""
    storage = HdfsStorage(root)
    names = sorted(["a b", "a%20b", "a+b", "a#b", "a=é", "b&c", "b?c", "c[1]", "日本", "{x}"])
    for name in names:
        put(storage, f"p=1 2%3A/{name}", name.encode())
    assert [each.name for each in storage.list("p=1 2%3A")] == names
    assert [read(storage, f"p=1 2%3A/{name}") for name in names] == [n.encode() for n in names]


def _race(root: str, number: int, rounds: int) -> list[str]:
    """Try to take each round's two names; return those taken."""
    storage, won = HdfsStorage(root), list[str]()
    for each in range(rounds):
        with suppress(StorageError):
            put(storage, f"made/{each}", b"%d" % number)
            won.append(f"made/{each}")
        put(storage, f"own/{number}/{each}", b"%d" % number)
        with suppress(StorageError):
            storage.move([Move(source=f"own/{number}/{each}", target=f"moved/{each}")])
            won.append(f"moved/{each}")
    return won


def test_names_that_eight_processes_race_for_have_one_winner(root: str) -> None:
    """Each name is taken once, by creation and by a move, and has the winner's bytes."""
    rounds = 10
    with ProcessPoolExecutor(8, get_context("spawn")) as pool:
        results = list(pool.map(_race, [root] * 8, range(8), [rounds] * 8))
    names = [f"{kind}/{each}" for kind in ("made", "moved") for each in range(rounds)]
    assert sorted(name for won in results for name in won) == sorted(names)
    for number, won in enumerate(results):
        assert [read(HdfsStorage(root), name) for name in won] == [b"%d" % number] * len(won)
    assert sum(bool(won) for won in results) > 1
