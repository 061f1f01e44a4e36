"""The hand-encoded Parquet bytes of skeletons, read back by PyArrow."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.hudi.bootstrap.seqno_pages import PAGE_ROWS, RowNumbers
from framework.hudi.bootstrap.skeleton_bytes import SkeletonBytes
from framework.hudi.codecs.parquet_seal import SEAL
from framework.hudi.table.layout import META_COLUMNS

NAME = "0a-b_7-0-0_00000000000001.parquet"


def a_skeleton(groups: list[list[str]], number: int = 7, partition: str = "p=é 1") -> bytes:
    """Return a skeleton with these keys; each row group arrives in two arrays."""
    numbers = RowNumbers(instant="00000000000001", number=number)
    out = SkeletonBytes(numbers=numbers, partition_path=partition, name=NAME)
    for keys in groups:
        half = len(keys) // 2
        out.add_row_group([pa.array(keys[:half], pa.string()), pa.array(keys[half:], pa.string())])
    return out.finish({"a": "b", "c": "d" * 1000})


def check(groups: list[list[str]], number: int = 7, partition: str = "p=é 1") -> None:
    """Read a skeleton with these keys and compare every value."""
    parquet = pq.ParquetFile(pa.BufferReader(a_skeleton(groups, number, partition)))
    sizes = [parquet.metadata.row_group(i).num_rows for i in range(parquet.num_row_groups)]
    assert sizes == [len(keys) for keys in groups]
    rows = sum(sizes)
    assert parquet.metadata.num_rows == rows
    table = parquet.read()
    assert tuple(table.schema.names) == META_COLUMNS
    assert table.to_pydict() == {
        "_hoodie_commit_time": ["00000000000001"] * rows,
        "_hoodie_commit_seqno": [f"00000000000001_{number}_{row}" for row in range(rows)],
        "_hoodie_record_key": [key for keys in groups for key in keys],
        "_hoodie_partition_path": [partition] * rows,
        "_hoodie_file_name": [NAME] * rows,
    }


@pytest.mark.parametrize("rows", [1, 2, 10, 11, 32, 33, 34, 97, 128, 129, 130, 257, 1001])
def test_skeleton_bytes_small_groups_come_back(rows: int) -> None:
    """Each edge of the packing's parts and blocks."""
    check([[f"key:{row * 7919}" for row in range(rows)]])


@pytest.mark.parametrize("sizes", [[PAGE_ROWS], [PAGE_ROWS + 1], [PAGE_ROWS * 3 - 1], [100_003]])
def test_skeleton_bytes_many_pages_come_back(sizes: list[int]) -> None:
    """Each edge of the pages."""
    check([[f"{row:x}" for row in range(size)] for size in sizes])


def test_skeleton_bytes_many_row_groups_count_on() -> None:
    """Sequence numbers continue across row groups."""
    check([[f"a{row}" for row in range(size)] for size in [9, 1, 40_000, 99, 3]])


def test_skeleton_bytes_without_rows_is_a_file() -> None:
    """No row group, five columns, and the footers."""
    data = a_skeleton([])
    metadata = pq.read_metadata(pa.BufferReader(data))
    assert (metadata.num_row_groups, metadata.num_rows, metadata.num_columns) == (0, 0, 5)
    entries = dict(metadata.metadata)
    assert len(entries.pop(SEAL.encode())) == 8
    assert entries == {b"a": b"b", b"c": b"d" * 1000}


def test_skeleton_bytes_empty_partition_path_comes_back() -> None:
    """An unpartitioned table has the empty text, not null."""
    check([["k"]], partition="")


def test_skeleton_bytes_same_input_gives_same_bytes() -> None:
    """Every attempt makes the same file."""
    groups = [[f"k{row}" for row in range(5000)]]
    assert a_skeleton(groups) == a_skeleton(groups)


def test_skeleton_bytes_columns_are_optional_strings() -> None:
    """As Apache Hudi writes them (format sheet, section 3.2)."""
    schema = pq.ParquetFile(pa.BufferReader(a_skeleton([["k"]]))).schema
    for at in range(5):
        column = schema.column(at)
        assert (column.physical_type, column.max_definition_level) == ("BYTE_ARRAY", 1)
        assert column.logical_type.type == "STRING"


def test_skeleton_bytes_long_table_takes_little_room() -> None:
    """All but the keys costs less than a tenth of a byte per row."""
    keys = ["same"] * 1_000_000
    assert len(a_skeleton([keys])) < 100_000


@pytest.mark.property
@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.text(), min_size=1, max_size=300), max_size=4),
    st.integers(0, 10**9),
)
def test_skeleton_bytes_any_keys_come_back(groups: list[list[str]], number: int) -> None:
    """Any text, any number of row groups, any file number."""
    check(groups, number)
