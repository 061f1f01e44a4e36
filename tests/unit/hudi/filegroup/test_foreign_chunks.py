"""Column chunks of other writers: pages get checksums, doubtful bounds go, values stay."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.hudi.codecs import thrift_struct
from framework.hudi.codecs.parquet_seal import check_pages
from framework.hudi.filegroup import base_file
from framework.hudi.filegroup.column_chunks import (
    ChunkFile,
    RowGroup,
    adopted_chunk,
    assembled,
    has_values_of,
)

ROWS = pa.table(
    {
        "text": pa.array([None if n % 5 == 0 else f"text {n % 50}" for n in range(3000)]),
        "n": pa.array(range(3000), pa.int64()),
        "list": pa.array([[n, None] if n % 2 else [] for n in range(3000)], pa.list_(pa.int32())),
    }
)


def written(**options: Any) -> pa.Buffer:
    """Return the rows as another writer's file."""
    sink = pa.BufferOutputStream()
    pq.write_table(ROWS, sink, row_group_size=1000, **options)
    return sink.getvalue()


def adopted(data: pa.Buffer) -> bytes:
    """Return a file of the adopted chunks."""
    found = ChunkFile.read(data, fresh=True)
    groups = [
        RowGroup(rows=group.rows, chunks=[adopted_chunk(chunk) for chunk in group.chunks])
        for group in found.groups
    ]
    return assembled(found, groups, {}, "made")


@settings(max_examples=40, deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "compression": st.sampled_from(["none", "snappy", "zstd", "gzip"]),
            "use_dictionary": st.booleans() | st.just(["text"]),
            "data_page_version": st.sampled_from(["1.0", "2.0"]),
            "data_page_size": st.sampled_from([64, 1 << 20]),
            "write_page_checksum": st.booleans(),
            "write_statistics": st.booleans() | st.just(["n"]),
        }
    )
)
def test_adopted_chunks_have_the_same_values_and_checksums(options: dict[str, Any]) -> None:
    """However they were written."""
    made = adopted(written(**options))
    assert pq.ParquetFile(pa.BufferReader(made), page_checksum_verification=True).read() == ROWS
    for group in ChunkFile.read(pa.py_buffer(made)).groups:
        for chunk in group.chunks:
            check_pages(chunk.data)


def test_adopted_chunk_with_another_checksum_is_refused() -> None:
    """The page was damaged after its writer wrote it."""
    data = bytearray(written(write_page_checksum=True, compression="none"))
    chunk = ChunkFile.read(pa.py_buffer(bytes(data)), fresh=True).groups[0].chunks[1]
    data[chunk.start + chunk.data.size - 1] ^= 1
    damaged = ChunkFile.read(pa.py_buffer(bytes(data)), fresh=True).groups[0].chunks[1]
    with pytest.raises(ValueError, match="column n does not match its checksum"):
        adopted_chunk(damaged)


def test_adopted_chunk_loses_deprecated_bounds_alone() -> None:
    """Old writers compared texts as signed bytes there."""
    chunk = ChunkFile.read(written(), fresh=True).groups[0].chunks[0]
    kind, statistics = chunk.metadata[12]
    old = {1: (thrift_struct.BINARY, b"a"), 2: (thrift_struct.BINARY, b"z")}
    assert adopted_chunk(chunk).metadata[12] == chunk.metadata[12]
    both = {**chunk.metadata, 12: (kind, {**statistics, **old})}
    assert 12 in adopted_chunk(replaced(chunk, both)).metadata
    alone = {**chunk.metadata, 12: (kind, old)}
    found = adopted_chunk(replaced(chunk, alone))
    assert 12 not in found.metadata
    assert found.facts["statistics"] is None


def replaced(chunk: Any, metadata: Any) -> Any:
    """Return a chunk with other metadata."""
    return type(chunk)(
        column=chunk.column,
        data=chunk.data,
        start=chunk.start,
        metadata=metadata,
        facts=chunk.facts,
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.int64(), True),
        (pa.timestamp("us"), True),
        (pa.int32(), False),
        (pa.float64(), False),
        (pa.decimal128(30, 2), False),
    ],
)
def test_columns_have_the_same_values_by_their_physical_type(
    kind: pa.DataType, *, expected: bool
) -> None:
    """The meaning is compared elsewhere, as Arrow types."""
    one, other = (
        pq.read_metadata(pa.BufferReader(base_file.file_without_rows(pa.schema([("c", each)]))))
        for each in (pa.int64(), kind)
    )
    assert has_values_of(one.schema.column(5), other.schema.column(5)) is expected
