"""Columns of a table in Spark's types, and small frames of constants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from framework.errors import UnsupportedTableError
from framework.hudi.keygen.spark_sql import quote_name
from framework.hudi.table.layout import META_COLUMNS
from framework.hudi.table.partition_path import PartitionField
from framework.vocabulary import PartitionType

__all__ = [
    "META_SCHEMA",
    "PARTITION_TYPES",
    "constants",
    "partition_schema",
    "quoted",
    "struct_of",
]

META_SCHEMA: Final = t.StructType([t.StructField(name, t.StringType()) for name in META_COLUMNS])

PARTITION_TYPES: Final[Mapping[PartitionType, t.DataType]] = {
    PartitionType.STRING: t.StringType(),
    PartitionType.INT: t.IntegerType(),
    PartitionType.LONG: t.LongType(),
    PartitionType.DATE: t.DateType(),
    PartitionType.BOOLEAN: t.BooleanType(),
}

_ARROW: Final = "spark.sql.execution.arrow.pyspark.enabled"
_PLAIN: Final[tuple[tuple[Any, t.DataType], ...]] = (
    (pa.types.is_string, t.StringType()),
    (pa.types.is_large_string, t.StringType()),
    (pa.types.is_boolean, t.BooleanType()),
    (pa.types.is_int8, t.ByteType()),
    (pa.types.is_int16, t.ShortType()),
    (pa.types.is_int32, t.IntegerType()),
    (pa.types.is_int64, t.LongType()),
    (pa.types.is_float32, t.FloatType()),
    (pa.types.is_float64, t.DoubleType()),
    (pa.types.is_date32, t.DateType()),
    (pa.types.is_binary, t.BinaryType()),
    (pa.types.is_large_binary, t.BinaryType()),
    (pa.types.is_fixed_size_binary, t.BinaryType()),
)


def struct_of(fields: Iterable[pa.Field]) -> t.StructType:
    """Return Arrow fields as a Spark schema in which every field is nullable.

    Raises:
        UnsupportedTableError: `read/type-not-in-spark`.
    """
    return t.StructType([t.StructField(f.name, _type_of(f.type, f.name)) for f in fields])


def partition_schema(fields: Sequence[PartitionField]) -> t.StructType:
    """Return the partition columns with their declared types."""
    return t.StructType([t.StructField(f.name, PARTITION_TYPES[f.type]) for f in fields])


def quoted(names: Iterable[str]) -> list[str]:
    """Return column names as Spark SQL identifiers."""
    return [quote_name(name) for name in names]


def constants(spark: SparkSession, columns: Mapping[str, Sequence[str | None]]) -> DataFrame:
    """Return a local frame of texts; Arrow sends it to Java, so 100,000 rows take 0.1 s."""
    frame = pd.DataFrame(
        {name: pd.Series(values, dtype=object) for name, values in columns.items()}
    )
    schema = t.StructType([t.StructField(name, t.StringType()) for name in columns])
    with _setting(spark, _ARROW, "true"):
        return spark.createDataFrame(frame, schema)


@contextmanager
def _setting(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    """Set a conf and restore the previous value."""
    before = spark.conf.get(key, None)
    spark.conf.set(key, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, before)


def _type_of(kind: pa.DataType, name: str) -> t.DataType:
    """Return the Spark type of an Arrow type; `name` is for errors."""
    for is_kind, plain in _PLAIN:
        if is_kind(kind):
            return plain
    if pa.types.is_decimal(kind):
        return t.DecimalType(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        return t.TimestampType() if kind.tz else t.TimestampNTZType()
    if pa.types.is_nested(kind):
        return _nested_type_of(kind, name)
    raise UnsupportedTableError(
        "read/type-not-in-spark",
        f"column '{name}' is {kind}, which Spark cannot read",
        remedy="Recreate the table with `mode: full_record`, which can change the type.",
    )


def _nested_type_of(kind: pa.DataType, name: str) -> t.DataType:
    """Return the Spark type of an Arrow struct, map or list."""
    if pa.types.is_struct(kind):
        return struct_of(kind)
    if pa.types.is_map(kind):
        return t.MapType(_type_of(kind.key_type, name), _type_of(kind.item_type, name))
    return t.ArrayType(_type_of(kind.value_type, name))
