"""The seal of a Parquet file: any bit of what is read that turns is an error."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.hudi.codecs.parquet_seal import (
    SEAL,
    UNREADABLE,
    SealedFooter,
    blank_seal,
    check_pages,
    chunk_start,
    sealed,
)

ROWS = pa.table(
    {
        "key": pa.array([f"k{n:03}" for n in range(40)]),
        "n": pa.array([None, *range(39)], pa.int64()),
        "nested": pa.array([[{"a": n, "b": "x"}] for n in range(40)]),
    }
)
LEAVES = 4


def unsealed(*, checksums: bool = True, entry: dict[str, str] | None = None) -> pa.Buffer:
    """Return the rows as a file of two row groups."""
    sink = pa.BufferOutputStream()
    options = {"store_schema": False, "write_page_checksum": checksums}
    with pq.ParquetWriter(sink, ROWS.schema, **options) as writer:
        writer.write_table(ROWS, row_group_size=20)
        writer.add_key_value_metadata(entry or {})
    return sink.getvalue()


def a_file() -> bytes:
    """Return the same with a seal."""
    return sealed(unsealed(entry=blank_seal(2 * LEAVES)))


def read(data: bytes, columns: list[str] | None = None) -> pa.Table:
    """Return rows as readers of ours do."""
    source = pa.BufferReader(data)
    return SealedFooter.read(source).opened(source, columns).read(columns)


def turned(data: bytes, at: int, bit: int) -> bytes:
    """Return bytes of which one bit is another."""
    return data[:at] + bytes((data[at] ^ 1 << bit,)) + data[at + 1 :]


def test_sealed_file_is_read_by_any_reader() -> None:
    """The seal is an entry of the footer, and nothing else differs."""
    data = a_file()
    assert pq.read_table(pa.BufferReader(data), page_checksum_verification=True).equals(ROWS)
    assert read(data).equals(ROWS)
    assert len(data) == unsealed(entry=blank_seal(2 * LEAVES)).size


def test_sealed_file_with_a_turned_bit_is_never_read_as_other_rows() -> None:
    """Pages, their headers and the footer; without the seal some of these are other rows."""
    data = a_file()
    refused = 0
    for at in range(4, len(data) - 8):
        try:
            assert read(turned(data, at, at % 8)).equals(ROWS)
        except UNREADABLE:
            refused += 1
    assert refused > 0.9 * len(data)  # the rest: what lies between chunks, and the seal's own name


def test_unsealed_file_with_a_turned_bit_in_its_footer_can_be_other_rows() -> None:
    """The limit of page checksums alone, which is why there is a seal."""
    data = unsealed().to_pybytes()
    name = data.index(
        b"key", SealedFooter.read(pa.BufferReader(data)).metadata.serialized_size * -1
    )
    source = pa.BufferReader(turned(data, name, 0))
    found = pq.read_table(source, page_checksum_verification=True)
    assert found.schema.names == ["jey", "n", "nested"]


def test_columns_that_are_not_read_are_not_compared() -> None:
    """Reading one column of many verifies only that one."""
    data = a_file()
    column = SealedFooter.read(pa.BufferReader(data)).metadata.row_group(1).column(1)
    damaged = turned(data, chunk_start(column) + 3, 0)
    assert read(damaged, ["key", "nested"]).equals(ROWS.select(["key", "nested"]))
    with pytest.raises(ValueError, match="column n does not match its checksum"):
        read(damaged, ["n"])
    inner = SealedFooter.read(pa.BufferReader(data)).metadata.row_group(0).column(3)
    with pytest.raises(ValueError, match=r"nested\.list\.element\.b does not match"):
        read(turned(data, chunk_start(inner) + 3, 0), ["nested"])


def test_file_of_others_is_read_without_a_seal_and_its_pages_are_compared() -> None:
    """Apache Hudi's writers leave checksums in page headers, and no seal."""
    data = unsealed().to_pybytes()
    footer = SealedFooter.read(pa.BufferReader(data))
    assert footer.checksums is None
    assert read(data).equals(ROWS)
    column = footer.metadata.row_group(0).column(0)
    end = chunk_start(column) + column.total_compressed_size
    with pytest.raises(OSError, match="page integrity"):
        read(turned(data, end - 1, 0))


def test_pages_are_compared_without_decoding() -> None:
    """A chunk that is taken as it is has been looked at."""
    data = unsealed()
    chunks = [
        data.slice(chunk_start(column), column.total_compressed_size)
        for column in map(pq.read_metadata(pa.BufferReader(data)).row_group(0).column, range(4))
    ]
    for chunk in chunks:
        check_pages(chunk)
        with pytest.raises(ValueError, match="does not match its checksum"):
            check_pages(pa.py_buffer(turned(chunk.to_pybytes(), chunk.size - 1, 0)))
        with pytest.raises(ValueError, match="truncated"):
            check_pages(chunk[: chunk.size - 1])


def test_pages_without_checksums_are_refused() -> None:
    """They are decoded and written anew."""
    data = unsealed(checksums=False)
    column = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(0)
    with pytest.raises(ValueError, match="no checksum"):
        check_pages(data.slice(chunk_start(column), column.total_compressed_size))


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"x" * 100])
def test_bytes_that_are_no_parquet_are_refused(data: bytes) -> None:
    """A footer's length is compared with the file before anything is read."""
    with pytest.raises(ValueError, match=r"footer|end as a Parquet"):
        SealedFooter.read(pa.BufferReader(data))


def test_seal_needs_room_for_each_chunk() -> None:
    """A writer that counts its chunks wrongly fails at once."""
    with pytest.raises(ValueError, match="no seal to fill in"):
        sealed(unsealed(entry=blank_seal(2 * LEAVES - 1)))
    with pytest.raises(ValueError, match="no seal to fill in"):
        sealed(unsealed())
    assert SEAL.encode() not in unsealed().to_pybytes()
