"""Facts of a source file's schema: the Arrow schema, its hash, and traits that limit readers.

The Parquet schema is the authority; an `ARROW:schema` entry in the footer is ignored.
Files of one writer share one schema, so the facts are cached by the schema's text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from framework.hudi.table.layout import META_COLUMNS
from framework.hudi.table.partition_path import PartitionField
from framework.hudi.table.schema import parquet_schema
from framework.vocabulary import PartitionType, SourceTrait

__all__ = [
    "SchemaCache",
    "SchemaFacts",
    "decode_schema",
    "encode_schema",
    "partition_type",
    "schema_hash",
    "with_partition_columns",
]

_HASH_DIGITS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFacts:
    """The facts of all files with one schema.

    Attributes:
        schema: the Arrow schema of the Parquet schema.
        hash: 16 hexadecimal digits over names, types and nullability, in order.
        traits: sorted; never includes `missing_columns`, which takes two schemas.
    """

    schema: Any
    hash: str
    traits: tuple[SourceTrait, ...]


class SchemaCache:
    """Cache of schema facts; each distinct schema is analysed once."""

    def __init__(self) -> None:
        self._known: dict[str, SchemaFacts] = {}

    def facts(self, metadata: Any) -> SchemaFacts:
        """Return the facts of a `pyarrow.parquet.FileMetaData`."""
        text = str(metadata.schema).partition("\n")[2]
        found = self._known.get(text)
        if found is None:
            schema = parquet_schema(metadata)
            found = SchemaFacts(schema=schema, hash=schema_hash(schema), traits=_traits(metadata))
            self._known[text] = found
        return found


def schema_hash(schema: Any) -> str:
    """Return the hash of an Arrow schema, which is equal in every process."""
    fields = [[field.name, str(field.type), field.nullable] for field in schema]
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]


def encode_schema(schema: Any) -> str:
    """Return an Arrow schema as text for descriptors."""
    return base64.b64encode(schema.serialize()).decode("ascii")


@lru_cache(maxsize=16)
def decode_schema(text: str) -> Any:
    """Return the Arrow schema that `encode_schema` wrote."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def partition_type(kind: PartitionType) -> Any:
    """Return the Arrow type of a declared partition column."""
    types = {
        PartitionType.STRING: pa.string(),
        PartitionType.INT: pa.int32(),
        PartitionType.LONG: pa.int64(),
        PartitionType.DATE: pa.date32(),
        PartitionType.BOOLEAN: pa.bool_(),
    }
    return types[kind]


def with_partition_columns(schema: Any, fields: Sequence[PartitionField]) -> Any:
    """Return the table's schema: the files' columns, then partition columns only in paths."""
    for field in fields:
        if field.name not in schema.names:
            schema = schema.append(pa.field(field.name, partition_type(field.type)))
    return schema


def _traits(metadata: Any) -> tuple[SourceTrait, ...]:
    """Return the traits visible in the Parquet schema."""
    schema = metadata.schema
    found: set[SourceTrait] = set()
    for index in range(metadata.num_columns):
        column = schema.column(index)
        found |= _column_traits(column)
        if column.path.split(".", 1)[0] in META_COLUMNS:
            found.add(SourceTrait.META_COLUMNS)
    return tuple(sorted(found))


def _column_traits(column: Any) -> set[SourceTrait]:
    """Return the traits of one leaf column."""
    logical = json.loads(column.logical_type.to_json())
    kind = logical.get("Type")
    timestamp = kind == "Timestamp"
    shown = {
        SourceTrait.INT96: column.physical_type == "INT96",
        SourceTrait.MILLISECOND: timestamp and logical.get("timeUnit") == "milliseconds",
        SourceTrait.NAIVE_TIMESTAMP: timestamp and not logical.get("isAdjustedToUTC"),
        SourceTrait.NANOSECOND: timestamp and logical.get("timeUnit") == "nanoseconds",
        SourceTrait.TIME: kind == "Time",
        SourceTrait.FLOAT16: kind == "Float16",
        SourceTrait.UNSIGNED: kind == "Int" and not logical.get("isSigned"),
    }
    return {trait for trait, present in shown.items() if present}
