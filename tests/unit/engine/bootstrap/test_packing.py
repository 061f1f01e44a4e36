"""Sharing files among tasks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.engine.bootstrap.job import WorkRange, footer_shares, pack, pack_scans, without
from framework.hudi.bootstrap.inventory import InventoryHandle, InventoryWriter
from framework.vocabulary import BootstrapMode

SKELETON, FULL = BootstrapMode.METADATA_ONLY, BootstrapMode.FULL_RECORD


def an_inventory(folder: Path, rows: list[int]) -> InventoryHandle:
    """Write an inventory of files with these rows."""
    count = len(rows)
    table = pa.table(
        {
            "partition_path": ["p"] * count,
            "path": [f"{n:09}" for n in range(count)],
            "size": [1] * count,
            "mtime_ns": [1] * count,
            "etag": [""] * count,
            "footer_length": [1] * count,
            "footer_sha256": pa.array([bytes(32)] * count, pa.binary(32)),
            "rows": rows,
            "row_groups": pa.array([[n] for n in rows], pa.list_(pa.int64())),
            "schema_hash": ["h"] * count,
            "traits": pa.array([[]] * count, pa.list_(pa.string())),
        }
    )
    path = folder / "inventory.arrow"
    with path.open("wb") as out:
        writer = InventoryWriter(out)
        writer.add(table)
        return writer.finish(str(path))


def numbers(shares: list[list[WorkRange]]) -> list[int]:
    """Return the numbers in all shares, in order."""
    return [n for share in shares for each in share for n in range(each.start, each.stop)]


@pytest.mark.parametrize(
    ("rows", "parallelism", "least", "most"),
    [
        ([100] * 3, 8, 1, 1),
        ([200] * 10_500, 2, 2, 8),
        ([100_000] * 70, 2, 2, 8),
        ([5_000_000] * 4, 8, 4, 4),
        ([10] * 50_000, 1, 3, 8),
        ([10_000_000] * 400, 2, 90, 101),
        ([], 2, 0, 0),
    ],
)
def test_pack_makes_few_tasks(
    tmp_path: Path, rows: list[int], parallelism: int, least: int, most: int
) -> None:
    """A few per core, never one per handful of small files; all files once, in order."""
    handle = an_inventory(tmp_path, rows)
    shares = pack(handle, [WorkRange(start=0, stop=len(rows), mode=SKELETON)], parallelism)
    assert least <= len(shares) <= most
    assert numbers(shares) == list(range(len(rows)))


def test_pack_balances_by_rows(tmp_path: Path) -> None:
    """A large file weighs what its rows weigh."""
    handle = an_inventory(tmp_path, [8_000_000] + [1000] * 2000)
    shares = pack(handle, [WorkRange(start=0, stop=2001, mode=SKELETON)], 2)
    assert numbers(shares[:1]) == [0]


def test_pack_keeps_kinds_apart(tmp_path: Path) -> None:
    """A share may hold ranges of both kinds, each with its own."""
    handle = an_inventory(tmp_path, [10] * 6)
    ranges = [
        WorkRange(start=0, stop=2, mode=SKELETON),
        WorkRange(start=2, stop=3, mode=FULL),
        WorkRange(start=5, stop=6, mode=SKELETON),
    ]
    assert pack(handle, ranges, 1) == [ranges]


@pytest.mark.property
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), max_size=6),
    st.sets(st.integers(0, 80)),
)
def test_without_leaves_exactly_what_is_not_done(
    parts: list[tuple[int, int]], done: set[int]
) -> None:
    """What is done is cut out, and nothing else."""
    ranges, at = [], 0
    for gap, size in parts:
        ranges.append(WorkRange(start=at + gap, stop=at + gap + size, mode=SKELETON))
        at += gap + size
    left = without(ranges, np.array(sorted(done), np.int64))
    assert numbers([left]) == [n for n in numbers([ranges]) if n not in done]
    assert all(each.start < each.stop for each in left)


@pytest.mark.parametrize("files", [0, 1, 499, 501, 10_500, 250_000])
def test_footer_shares_cover_all_files(files: int) -> None:
    """Every file in one share, several hundred to a share."""
    shares = list(footer_shares(files, 4))
    assert [n for start, stop in shares for n in (start, stop)][:1] == [0][: bool(files)]
    assert sum(stop - start for start, stop in shares) == files
    assert all(stop - start <= 20_000 for start, stop in shares)


@pytest.mark.parametrize(
    ("rows", "parallelism", "tasks"),
    [
        ([], 2, 0),
        ([100] * 3, 8, 1),
        ([86_000] * 70, 2, 2),
        ([430_000] * 70, 2, 2),
        ([430_000] * 70, 64, 31),
        ([10_000_000] * 400, 2, 13),
        ([10] * 50_000, 1, 3),
    ],
)
def test_pack_scans_one_task_per_core_while_they_are_short(
    tmp_path: Path, rows: list[int], parallelism: int, tasks: int
) -> None:
    """Scanning keys takes hardly longer than starting a task; every file is in one share."""
    ranges = [WorkRange(start=0, stop=len(rows), mode=SKELETON)]
    shares = pack_scans(an_inventory(tmp_path, rows), ranges, parallelism)
    assert len(shares) == tasks
    assert numbers(shares) == list(range(len(rows)))
