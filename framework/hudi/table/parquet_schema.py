"""The Arrow schema of a Parquet file as Spark sees it: from the Parquet schema alone.

Files of Arrow writers carry a second schema under `ARROW:schema`; Spark does not know it, so it
is ignored here (a duration column is a long, a dictionary a string).
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["int96_columns", "parquet_schema"]

_ARROW_KEY: Final = b"ARROW:schema"
_IGNORED_KEY: Final = b"ARROW:ignore"


def parquet_schema(metadata: pq.FileMetaData) -> pa.Schema:
    """Return the columns of a footer, without metadata of schema or fields.

    List items are called `element`, map entries `key` and `value`. INT96 is a timestamp in
    microseconds, UTC; ENUM and JSON are strings. Types that Spark has no reader for keep an Arrow
    type that `check_schema` refuses. Costs one copy of the footer where it has `ARROW:schema`.
    """
    if _ARROW_KEY in (metadata.metadata or {}):
        metadata = _without_arrow_schema(metadata)
    schema = metadata.schema
    leaves = (schema.column(i) for i in range(len(schema)))
    return pa.schema([_field(field, leaves) for field in schema.to_arrow_schema()])


def int96_columns(metadata: pq.FileMetaData) -> tuple[str, ...]:
    """Return the dotted paths of INT96 columns, which Apache Hudi reads but cannot rewrite."""
    schema = metadata.schema
    columns = (schema.column(i) for i in range(len(schema)))
    return tuple(c.path for c in columns if c.physical_type == "INT96")


def _without_arrow_schema(metadata: pq.FileMetaData) -> pq.FileMetaData:
    """Return the footer with its Arrow schema under another key, where nobody looks for it."""
    out = BytesIO()
    metadata.write_metadata_file(out)
    return pq.read_metadata(BytesIO(out.getvalue().replace(_ARROW_KEY, _IGNORED_KEY)))


def _field(field: pa.Field, leaves: Iterator[Any]) -> pa.Field:
    """Return a field with Spark's type, taking its leaves in order."""
    return pa.field(field.name, _type(field.type, leaves), nullable=field.nullable)


def _type(kind: pa.DataType, leaves: Iterator[Any]) -> pa.DataType:
    """Return Spark's type for an Arrow type, taking its leaves in order."""
    if pa.types.is_struct(kind):
        return pa.struct([_field(child, leaves) for child in kind])
    if pa.types.is_map(kind):
        key = pa.field("key", _type(kind.key_type, leaves), nullable=False)
        value = _type(kind.item_type, leaves)
        return pa.map_(key, pa.field("value", value, nullable=kind.item_field.nullable))
    if pa.types.is_list(kind):
        child = kind.value_field
        return pa.list_(pa.field("element", _type(child.type, leaves), nullable=child.nullable))
    return _leaf(kind, next(leaves))


def _leaf(kind: pa.DataType, column: Any) -> pa.DataType:
    """Return Spark's type for one physical column."""
    if column.physical_type == "INT96":
        return pa.timestamp("us", tz="UTC")
    logical = column.logical_type.type
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    found = _BY_LOGICAL_TYPE.get(logical, kind)
    return pa.timestamp(found.unit, tz="UTC") if _has_zone(found) else found


_BY_LOGICAL_TYPE: Final = {
    "ENUM": pa.string(),
    "JSON": pa.string(),
    "BSON": pa.binary(),
    "UUID": pa.uuid(),
    "INTERVAL": pa.month_day_nano_interval(),
}


def _has_zone(kind: pa.DataType) -> bool:
    """Whether a timestamp is a point in time."""
    return bool(pa.types.is_timestamp(kind)) and kind.tz is not None
