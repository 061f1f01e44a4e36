"""The inventory file: numbers, fixed batches, ranges, and a hash that says "the same source"."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from framework.errors import CorruptFileError
from framework.hudi.bootstrap.inventory import (
    BATCH_ROWS,
    INVENTORY_SCHEMA,
    InventoryHandle,
    InventoryWriter,
    read_batches,
    read_files,
    read_range,
)


def some(count: int, start: int = 0) -> pa.Table:
    """Return rows without numbers."""
    numbers = range(start, start + count)
    return pa.table(
        {
            "partition_path": ["p=1"] * count,
            "path": [f"p=1/{number:09}" for number in numbers],
            "size": [10] * count,
            "mtime_ns": [7] * count,
            "etag": [""] * count,
            "footer_length": [3] * count,
            "footer_sha256": pa.array([bytes(32)] * count, pa.binary(32)),
            "rows": [2] * count,
            "row_groups": pa.array([[1, 1]] * count, pa.list_(pa.int64())),
            "schema_hash": ["h"] * count,
            "traits": pa.array([["int96"]] * count, pa.list_(pa.string())),
        }
    )


def an_inventory(folder: Path, *sizes: int) -> InventoryHandle:
    """Write an inventory from tables of these sizes."""
    path = folder / f"inventory-{'-'.join(map(str, sizes))}.arrow"
    with path.open("wb") as out:
        writer = InventoryWriter(out)
        start = 0
        for size in sizes:
            writer.add(some(size, start))
            start += size
        return writer.finish(str(path))


def test_inventory_totals_and_numbers(tmp_path: Path) -> None:
    """Numbers count from 0 in order of arrival."""
    handle = an_inventory(tmp_path, 3, 2)
    assert (handle.files, handle.rows, handle.bytes) == (5, 10, 50)
    files = list(read_files(handle, 0, 5))
    assert [file.number for file in files] == [0, 1, 2, 3, 4]
    assert files[4].fingerprint.path == "p=1/000000004"
    assert files[0].fingerprint.row_groups == (1, 1)
    assert files[0].fingerprint.footer_sha256 == "00" * 32


def test_inventory_hash_does_not_depend_on_how_rows_arrive(tmp_path: Path) -> None:
    """Tasks cut the work in many ways; the same source has the same hash."""
    one = an_inventory(tmp_path, BATCH_ROWS * 2 + 5)
    other = an_inventory(tmp_path, 1, BATCH_ROWS, 4, BATCH_ROWS)
    assert one.sha256 == other.sha256
    assert an_inventory(tmp_path, 4).sha256 != an_inventory(tmp_path, 5).sha256


@pytest.mark.parametrize(
    ("start", "stop"),
    [
        (0, 0),
        (0, 1),
        (BATCH_ROWS - 1, BATCH_ROWS + 1),
        (BATCH_ROWS, 2 * BATCH_ROWS),
        (5, 2 * BATCH_ROWS + 3),
    ],
)
def test_inventory_range_is_read_without_the_rest(tmp_path: Path, start: int, stop: int) -> None:
    """Start is inclusive, stop is not, also across batches."""
    handle = an_inventory(tmp_path, 2 * BATCH_ROWS + 3)
    table = read_range(handle, start, stop)
    assert table.schema.equals(INVENTORY_SCHEMA)
    assert table["number"].to_pylist() == list(range(start, stop))


def test_inventory_without_files_is_empty(tmp_path: Path) -> None:
    """An empty source has an inventory too."""
    handle = an_inventory(tmp_path)
    assert list(read_batches(handle)) == []
    assert handle.files == 0


def test_inventory_damaged_file_raises_typed(tmp_path: Path) -> None:
    """Bytes that are no Arrow file are not taken for an inventory."""
    path = tmp_path / "x.arrow"
    path.write_bytes(b"nothing of the sort")
    handle = replace(an_inventory(tmp_path, 1), path=str(path))
    with pytest.raises(CorruptFileError) as caught:
        list(read_batches(handle))
    assert caught.value.condition == "inventory/corrupt"
