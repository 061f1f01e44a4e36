"""The folders that a steady load lists, counted by the storage itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from framework.hudi.storage.local import LocalStorage
from framework.hudi.storage.port import Entry
from framework.hudi.table.layout import HOODIE, LAKESTRAP, LEASE
from tests.support.orders import Shop

NEEDED = {
    HOODIE: "two looks before the lease, one after it, one for compactions planned meanwhile, and "
    "one before each step of the commit",
    LAKESTRAP: "staging folders of dead runs, and what a dead lease left",
    "": "partitions of the table",
}


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
@pytest.mark.parametrize("days", [2, 20])
def test_steady_load_lists_each_partition_at_most_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, days: int
) -> None:
    """Once for its files, and once more if the load wrote to it; all else does not grow."""
    shop = Shop(tmp_path, kind)
    shop.lands("one", *((f"k{n}", f"d{n}", 1) for n in range(days)))
    shop.lands("two", ("k0", "d0", 2))
    listed: Counter[str] = Counter()
    listing = LocalStorage.list

    def counted(storage: LocalStorage, folder: str) -> Iterator[Entry]:
        if storage.location == str(shop.location):
            listed[folder] += 1
        return listing(storage, folder)

    monkeypatch.setattr(LocalStorage, "list", counted)
    shop.lands("three", ("k0", "d0", 3), ("k1", "d1", 2))
    partitions = {folder: times for folder, times in listed.items() if folder.startswith("day=")}
    assert partitions == {f"day=d{n}": 2 if n <= 1 else 1 for n in range(days)}
    others = {folder: times for folder, times in listed.items() if folder in NEEDED}
    assert others == {HOODIE: 6, LAKESTRAP: 2, "": 1}
    assert listed[LEASE] <= 9
    assert sum(times for folder, times in listed.items() if ".temp/" in folder) == 2
