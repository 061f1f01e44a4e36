"""Parquet files made of column chunks of others: pyarrow reads what was put together."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from framework.errors import CorruptFileError
from framework.hudi.filegroup.column_chunks import ChunkFile, RowGroup, assembled

COLUMNS = pa.table(
    {
        "n": pa.array([3, None, 1, 2]),
        "text": pa.array(["ä", "", None, "ä"]),
        "nested": pa.array([[{"a": 1, "b": "x"}], [], None, [{"a": None, "b": "y"}]]),
        "f": pa.array([1.5, float("nan"), -0.0, None]),
    }
)


def written(table: pa.Table, **options: Any) -> pa.Buffer:
    """Return a table as a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, store_schema=False, write_page_checksum=True, **options)
    return sink.getvalue()


def bare(schema: pa.Schema) -> pa.Buffer:
    """Return a Parquet file without row groups."""
    sink = pa.BufferOutputStream()
    pq.ParquetWriter(sink, schema).close()
    return sink.getvalue()


def read(data: bytes) -> pa.Table:
    """Return all rows of a file."""
    return pq.read_table(io.BytesIO(data))


def rows(table: pa.Table) -> str:
    """Return rows so that they can be compared, NaN included."""
    return repr(table.to_pylist())


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_assembled_row_groups_of_two_files_are_read_in_their_order(
    compression: str, *, dictionary: bool, version: str
) -> None:
    """Each group keeps its own codec and encodings."""
    one = ChunkFile.read(
        written(
            COLUMNS,
            compression=compression,
            use_dictionary=dictionary,
            data_page_version=version,
            row_group_size=3,
        )
    )
    other = ChunkFile.read(written(COLUMNS.slice(1)))
    data = assembled(other, [*other.groups, *one.groups], {"who": "me"}, "x.parquet")
    assert rows(read(data)) == rows(pa.concat_tables([COLUMNS.slice(1), COLUMNS]))
    metadata = pq.read_metadata(io.BytesIO(data))
    assert metadata.metadata[b"who"] == b"me"
    assert [metadata.row_group(at).num_rows for at in range(3)] == [3, 3, 1]


def test_assembled_columns_of_two_files_are_side_by_side() -> None:
    """A column can be replaced by one that was written alone."""
    old = ChunkFile.read(written(COLUMNS))
    new = pa.array([10, 20, None, 40])
    alone = ChunkFile.read(written(pa.table({"n": new}), compression="zstd"))
    chunks = [*alone.groups[0].chunks, *old.groups[0].chunks[1:]]
    data = assembled(old, [RowGroup(rows=4, chunks=chunks)], {}, "x.parquet")
    assert rows(read(data)) == rows(COLUMNS.set_column(0, "n", new))


def test_assembled_statistics_and_bounds_stay_with_their_chunks() -> None:
    """Readers can still skip row groups, and page indexes are not copied."""
    old = ChunkFile.read(written(COLUMNS, write_page_index=True))
    data = assembled(old, old.groups, {}, "x.parquet")
    column = pq.read_metadata(io.BytesIO(data)).row_group(0).column(0)
    assert (column.statistics.min, column.statistics.max) == (1, 3)
    assert column.statistics.null_count == 1
    assert not column.has_column_index
    assert not column.has_offset_index


def test_assembled_file_without_rows_is_a_file() -> None:
    """No row group, but all columns."""
    old = ChunkFile.read(written(COLUMNS))
    found = read(assembled(old, [], {}, "x.parquet"))
    assert (found.num_rows, found.schema.names) == (0, COLUMNS.schema.names)


def test_assembled_file_with_bytes_that_differ_is_refused() -> None:
    """What was put into the file is looked for in it, chunk by chunk."""
    old = ChunkFile.read(written(COLUMNS))
    first, *others = old.groups[0].chunks
    wrong = replace(first, start=first.start - 3)
    with pytest.raises(CorruptFileError, match=r"column n of row group 0 differs") as caught:
        assembled(old, [RowGroup(rows=4, chunks=[wrong, *others])], {}, "x.parquet")
    assert caught.value.condition == "bootstrap/read-back-differs"
    with pytest.raises(CorruptFileError, match=r"column n of row group 0 differs"):
        assembled(old, [replace(old.groups[0], rows=3)], {}, "x.parquet")


def test_columns_with_other_schemas_are_distinguished() -> None:
    """Type, nullability, nesting and order make a difference; the name of the whole does not."""
    old = ChunkFile.read(written(COLUMNS))
    assert old.has_columns_of(ChunkFile.read(written(COLUMNS.slice(2), compression="none")))
    fields = [*COLUMNS.schema]
    for at, other in (
        (0, pa.field("n", pa.int32())),
        (0, pa.field("m", pa.int64())),
        (0, pa.field("n", pa.int64(), nullable=False)),
        (1, pa.field("text", pa.binary())),
        (2, pa.field("nested", pa.list_(pa.struct({"a": pa.int64(), "c": pa.string()})))),
    ):
        changed = pa.schema([*fields[:at], other, *fields[at + 1 :]])
        assert not old.has_columns_of(ChunkFile.read(bare(changed)))
    assert old.has_columns_of(ChunkFile.read(bare(COLUMNS.schema)))
    turned = COLUMNS.select(COLUMNS.schema.names[::-1])
    assert not old.has_columns_of(ChunkFile.read(written(turned)))


def test_file_that_is_encrypted_is_refused() -> None:
    """Its pages are bound to their places."""

    class Keys(pe.KmsClient):  # type: ignore[misc]  # pyarrow has no types
        def wrap_key(self, key_bytes: bytes, _master: str) -> bytes:
            return key_bytes

        def unwrap_key(self, wrapped_key: bytes, _master: str) -> bytes:
            return wrapped_key

    factory = pe.CryptoFactory(lambda _: Keys())
    settings = pe.EncryptionConfiguration(
        footer_key="f", column_keys={"k": ["n"]}, plaintext_footer=True
    )
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), settings)
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink, pa.schema([("n", pa.int64())]), encryption_properties=properties
    ) as writer:
        writer.write_table(pa.table({"n": [1, 2]}))
    with pytest.raises(ValueError, match="encrypted"):
        ChunkFile.read(sink.getvalue())
