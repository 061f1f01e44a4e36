"""Parquet schemas as Spark sees them."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.hudi.table.schema import check_schema, int96_columns, parquet_schema


def _footer(schema: pa.Schema, **options: Any) -> pq.FileMetaData:
    """Return the footer of an empty file of this schema."""
    out = BytesIO()
    pq.write_table(schema.empty_table(), out, **options)
    return pq.read_metadata(BytesIO(out.getvalue()))


def _seen(kind: pa.DataType, **options: Any) -> pa.DataType:
    """Return the type that a column of type `kind` has in a file."""
    return parquet_schema(_footer(pa.schema([("c", kind)]), **options)).field("c").type


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        (pa.large_string(), pa.string()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.duration("us"), pa.int64()),
        (pa.timestamp("ms", tz="Europe/Paris"), pa.timestamp("ms", tz="UTC")),
        (pa.timestamp("us", tz="UTC"), pa.timestamp("us", tz="UTC")),
        (pa.timestamp("us"), pa.timestamp("us")),
        (pa.timestamp("ns"), pa.timestamp("ns")),
        (pa.decimal128(9, 2), pa.decimal128(9, 2)),
        (pa.json_(), pa.string()),
        (pa.uuid(), pa.uuid()),
        (pa.int8(), pa.int8()),
        (pa.uint16(), pa.uint16()),
        (pa.binary(3), pa.binary(3)),
        (pa.list_(pa.field("x", pa.large_string())), pa.list_(pa.field("element", pa.string()))),
    ],
)
def test_type_in_a_file_does_not_depend_on_the_arrow_schema(
    written: pa.DataType, seen: pa.DataType
) -> None:
    """With `ARROW:schema` in the footer and without, it is the type that Spark sees."""
    assert _seen(written) == seen
    assert _seen(written, store_schema=False) == seen


def test_nullability_is_kept_at_every_depth_and_metadata_is_not() -> None:
    """Fields keep whether they are required; ids and comments go."""
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False), pa.field("y", pa.string())])
    item = pa.field("element", inner, nullable=False)
    schema = pa.schema(
        [
            pa.field("a", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "7"}),
            pa.field("l", pa.list_(item)),
            pa.field("m", pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))),
        ],
        metadata={"k": "v"},
    )
    found = parquet_schema(_footer(schema))
    assert found.equals(schema.remove_metadata(), check_metadata=False)
    assert found.metadata is None
    assert all(field.metadata is None for field in found)


def test_int96_is_a_timestamp_in_microseconds_and_distinguished() -> None:
    """Spark reads it so; Apache Hudi cannot rewrite it."""
    schema = pa.schema([("a", pa.int32()), ("s", pa.struct([("t", pa.timestamp("ns"))]))])
    footer = _footer(schema, use_deprecated_int96_timestamps=True)
    found = parquet_schema(footer)
    assert found.field("s").type.field("t").type == pa.timestamp("us", tz="UTC")
    assert int96_columns(footer) == ("s.t",)
    assert check_schema(found) == ()
    assert int96_columns(_footer(pa.schema([("a", pa.int32())]))) == ()
