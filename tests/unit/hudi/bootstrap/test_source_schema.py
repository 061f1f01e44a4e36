"""What is read from the schemas of source files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.hudi.bootstrap.source_schema import (
    SchemaCache,
    decode_schema,
    encode_schema,
    partition_type,
    schema_hash,
    with_partition_columns,
)
from framework.hudi.keygen.rule import PartitionField
from framework.vocabulary import PartitionType, SourceTrait


def metadata(table: pa.Table, **options: Any) -> Any:
    """Return the footer of a table written to Parquet."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return pq.read_metadata(pa.BufferReader(sink.getvalue()))


@pytest.mark.parametrize(
    ("column", "options", "trait"),
    [
        (pa.array([1], pa.timestamp("ms", "UTC")), {}, SourceTrait.MILLISECOND),
        (pa.array([[1]], pa.list_(pa.timestamp("ms", "UTC"))), {}, SourceTrait.MILLISECOND),
        (pa.array([1], pa.timestamp("us")), {}, SourceTrait.NAIVE_TIMESTAMP),
        (pa.array([1], pa.timestamp("ns", "UTC")), {}, SourceTrait.NANOSECOND),
        (
            pa.array([1], pa.timestamp("us")),
            {"use_deprecated_int96_timestamps": True},
            SourceTrait.INT96,
        ),
        (pa.array([1], pa.time64("us")), {}, SourceTrait.TIME),
        (pa.array([np.float16(1)], pa.float16()), {}, SourceTrait.FLOAT16),
        (pa.array([1], pa.uint16()), {}, SourceTrait.UNSIGNED),
        (pa.array([{"x": 1}], pa.struct([("x", pa.uint8())])), {}, SourceTrait.UNSIGNED),
    ],
)
def test_traits_are_seen(column: pa.Array, options: dict[str, Any], trait: SourceTrait) -> None:
    """Each property on which some reader stumbles, also below the top level."""
    facts = SchemaCache().facts(metadata(pa.table({"c": column}), **options))
    assert facts.traits == (trait,)


def test_traits_of_plain_columns_are_none() -> None:
    """Longs, strings, days and points in time are read by everybody."""
    table = pa.table(
        {
            "a": pa.array([1], pa.int64()),
            "b": ["x"],
            "c": pa.array([1], pa.date32()),
            "d": pa.array([1], pa.timestamp("us", "UTC")),
        }
    )
    assert SchemaCache().facts(metadata(table)).traits == ()


def test_traits_include_meta_columns() -> None:
    """A source that has Hudi's own columns is no plain source."""
    table = pa.table({"_hoodie_record_key": ["x"]})
    assert SchemaCache().facts(metadata(table)).traits == (SourceTrait.META_COLUMNS,)


def test_cache_gives_equal_facts_for_equal_schemas() -> None:
    """Files of one writer are looked at once; `ARROW:schema` makes no difference."""
    cache = SchemaCache()
    table = pa.table({"a": pa.array(["x"], pa.large_string())})
    first = cache.facts(metadata(table, store_schema=False))
    assert cache.facts(metadata(table)) is first


def test_schema_hash_sees_names_types_nullability_and_order() -> None:
    """Each of them is another schema."""
    fields = [pa.field("a", pa.int32()), pa.field("b", pa.string())]
    schemas = [
        pa.schema(fields),
        pa.schema(fields[::-1]),
        pa.schema([fields[0].with_name("A"), fields[1]]),
        pa.schema([fields[0].with_type(pa.int64()), fields[1]]),
        pa.schema([fields[0].with_nullable(False), fields[1]]),
    ]
    assert len({schema_hash(schema) for schema in schemas}) == len(schemas)


def test_schema_text_comes_back_equal() -> None:
    """Descriptors contain the schema itself."""
    schema = pa.schema([("a", pa.list_(pa.int8())), ("b", pa.decimal128(9, 2))])
    assert decode_schema(encode_schema(schema)).equals(schema)


def test_partition_columns_are_added_where_files_lack_them() -> None:
    """A column that files have keeps its place and type."""
    schema = pa.schema([("p", pa.int64()), ("v", pa.string())])
    fields = [
        PartitionField(name="p", type=PartitionType.INT),
        PartitionField(name="day", type=PartitionType.DATE),
    ]
    found = with_partition_columns(schema, fields)
    assert found.names == ["p", "v", "day"]
    assert found.types == [pa.int64(), pa.string(), pa.date32()]


@pytest.mark.parametrize("kind", list(PartitionType))
def test_partition_type_is_known_for_each(kind: PartitionType) -> None:
    """Every declared type has an Arrow type."""
    assert isinstance(partition_type(kind), pa.DataType)
