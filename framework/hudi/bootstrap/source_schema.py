"""Facts of a source file: its Arrow schema and the hash of it, and traits that limit readers.

The Parquet schema is the authority; an `ARROW:schema` entry in the footer is ignored. Files of one
writer share one schema, so the facts are cached by the schema's text.

Traits of the footer are by numbers of `parquet.thrift`. Each engine's support for a trait is in
`framework.plan.readers.source_formats`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from framework.hudi.bootstrap.footer_facts import FooterFacts, SchemaElement
from framework.hudi.table import calendar
from framework.hudi.table.layout import META_COLUMNS
from framework.hudi.table.partition_path import PartitionField
from framework.hudi.table.schema import parquet_schema
from framework.vocabulary import PartitionType, SourceTrait

__all__ = [
    "SchemaCache",
    "SchemaFacts",
    "calendar_traits",
    "decode_schema",
    "encode_schema",
    "format_traits",
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
    for each in fields:
        if each.name not in schema.names:
            schema = schema.append(pa.field(each.name, partition_type(each.type)))
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


_INT32, _INT64, _INT96, _BYTE_ARRAY, _FIXED = 1, 2, 3, 6, 7
_DATE: Final = 6  # the converted type and the logical one
_PER_SECOND: Final = {9: 1_000, 10: 1_000_000}  # converted types of timestamps
_REPEATED: Final = 2
_GROUPED: Final = frozenset({1, 2, 3})  # converted types MAP, MAP_KEY_VALUE, LIST
_GROUPED_LOGICAL: Final = frozenset({2, 3})  # MAP, LIST
_LIST, _DECIMAL, _JSON, _INTERVAL = 3, 5, 19, 21  # converted types; the first two logical as well
_LOGICAL_JSON: Final = 12
_LONG_DIGITS: Final = 18
_MOST_DIGITS: Final = 76  # of Arrow; a damaged footer may claim a billion
_CODECS: Final = {3: SourceTrait.LZO, 4: SourceTrait.BROTLI, 5: SourceTrait.LZ4}
_LAST_CODEC: Final = 7  # LZ4_RAW
_ENCODINGS: Final = {9: SourceTrait.BYTE_STREAM_SPLIT}
_LAST_ENCODING: Final = 9
_LOGICAL: Final = {16: SourceTrait.VARIANT, 17: SourceTrait.GEOMETRY, 18: SourceTrait.GEOGRAPHY}
_LAST_LOGICAL: Final = 18
_HADOOP_WRITER: Final = "parquet-mr"


def format_traits(facts: FooterFacts) -> dict[SourceTrait, str]:
    """Return the traits of codecs, encodings and types, each with its first column.

    Columns are dotted paths. LZ4 counts unless parquet-mr wrote the file, the only writer that
    frames blocks as Java readers expect.
    """
    found: dict[SourceTrait, str] = {}
    leaves = []
    for node in _nodes(facts.schema):
        if node.element.kind is not None:
            leaves.append(node.path)
        for trait in (*_type_traits(node.element), *_list_traits(node)):
            found.setdefault(trait, node.path)
    framed = facts.created_by.startswith(_HADOOP_WRITER)
    used = [(_codec_trait(codec, framed=framed), at) for codec, at in facts.codecs.items()]
    used += [(_encoding_trait(encoding), at) for encoding, at in facts.encodings.items()]
    for known, at in used:
        if known is not None:
            found.setdefault(known, leaves[at] if at < len(leaves) else "")
    return found


def calendar_traits(metadata: Any, facts: FooterFacts) -> dict[SourceTrait, str]:
    """Return the calendar trait of a footer, if any, with its first column.

    Either days are in Spark's old calendar, or the file does not name its calendar and its least
    day, by the statistics, is early enough to matter. INT96 has no statistics.

    Args:
        metadata: `pyarrow.parquet.FileMetaData`; only its schema and key-values are read.
        facts: facts of the same footer.
    """
    has_days, has_int96 = calendar.legacy_marks(metadata.metadata)
    early = {} if calendar.is_marked(metadata.metadata) else facts.least
    early = {place: least for place, least in early.items() if least < calendar.FIRST_SAFE_DAY}
    if not (has_days or has_int96 or early):
        return {}
    leaves = (node for node in _nodes(facts.schema) if node.element.kind is not None)
    for place, node in enumerate(leaves):
        if has_int96 and node.element.kind == _INT96:
            return {SourceTrait.LEGACY_CALENDAR: node.path}
        if has_days or place in early:
            safe = _first_safe(node.element, metadata.schema, place)
            if safe is not None and early.get(place, safe - 1) < safe:
                trait = SourceTrait.LEGACY_CALENDAR if has_days else SourceTrait.EARLY_DAYS
                return {trait: node.path}
    return {}


def _first_safe(element: SchemaElement, schema: Any, place: int) -> int | None:
    """Return the first value of a date column that is equal in both calendars.

    None for other columns, including timestamps without a time zone or in nanoseconds.
    """
    if element.kind == _INT32 and _DATE in {element.logical, element.converted}:
        return calendar.FIRST_SAFE_DAY
    per_second = _PER_SECOND.get(element.converted or 0)
    if per_second is None:
        return None
    is_moment = json.loads(schema.column(place).logical_type.to_json()).get("isAdjustedToUTC")
    return calendar.SPARK_FAILS_BEFORE * per_second if is_moment else None


@dataclass(slots=True, kw_only=True)
class _Node:
    """A node of the schema with its position; `path` is dotted, without the root."""

    element: SchemaElement
    path: str
    parent: _Node | None
    children: list[_Node] = field(default_factory=list)


def _nodes(schema: Sequence[SchemaElement]) -> list[_Node]:
    """Return all nodes except the root, depth first, linked to their parents."""
    found: list[_Node] = []
    open_groups: list[tuple[_Node | None, int]] = [(None, schema[0].children)] if schema else []
    for element in schema[1:]:
        while open_groups and open_groups[-1][1] == 0:
            open_groups.pop()
        if not open_groups:
            break  # more nodes than the groups declare; pyarrow ignores them too
        parent, left = open_groups[-1]
        open_groups[-1] = (parent, left - 1)
        path = f"{parent.path}.{element.name}" if parent else element.name
        node = _Node(element=element, path=path, parent=parent)
        if parent:
            parent.children.append(node)
        found.append(node)
        if element.kind is None:
            open_groups.append((node, element.children))
    return found


def _type_traits(element: SchemaElement) -> Iterator[SourceTrait]:
    """Yield the traits of one node's type."""
    logical = element.logical or 0
    if logical > _LAST_LOGICAL:
        yield SourceTrait.UNKNOWN_TYPE
    elif logical in _LOGICAL:
        yield _LOGICAL[logical]
    elif element.converted == _INTERVAL:
        yield SourceTrait.INTERVAL
    elif logical == _LOGICAL_JSON or element.converted == _JSON:
        yield SourceTrait.JSON
    elif _DECIMAL in {logical, element.converted}:
        yield from _decimal_traits(element)
    elif element.kind == _FIXED and not logical:
        yield SourceTrait.FIXED_BINARY


def _decimal_traits(element: SchemaElement) -> Iterator[SourceTrait]:
    """Yield the trait of a decimal's storage, unless it is Avro's fixed type of its digits."""
    digits = element.precision or 0
    if element.kind in {_INT32, _INT64}:
        yield SourceTrait.DECIMAL_INTEGER
    elif element.kind == _BYTE_ARRAY:
        wide = digits > _LONG_DIGITS
        yield SourceTrait.DECIMAL_BYTES_WIDE if wide else SourceTrait.DECIMAL_BYTES
    elif element.kind == _FIXED and element.length != _fixed_bytes(digits):
        yield SourceTrait.DECIMAL_PADDED


def _fixed_bytes(digits: int) -> int:
    """Return the bytes of the smallest signed type that holds this number of digits."""
    most = 10 ** min(max(digits, 0), _MOST_DIGITS) - 1
    return (int(most).bit_length() + 8) // 8


def _list_traits(node: _Node) -> Iterator[SourceTrait]:
    """Yield the traits of a bare repeated node, or of a list with unusual inner names."""
    parent = node.parent.element if node.parent else None
    in_group = parent is not None and (
        parent.converted in _GROUPED or parent.logical in _GROUPED_LOGICAL
    )
    if node.element.repetition == _REPEATED and not in_group:
        yield SourceTrait.LIST_BARE
    if node.element.kind is None and _LIST in {node.element.converted, node.element.logical}:
        middle = node.children[0] if len(node.children) == 1 else None
        inner = middle.children if middle else []
        if middle and len(inner) != 1:
            yield SourceTrait.LIST_TWO_LEVEL
        elif middle and (middle.element.name, inner[0].element.name) != ("list", "element"):
            yield SourceTrait.LIST_NAMES


def _codec_trait(codec: int, *, framed: bool) -> SourceTrait | None:
    """Return the trait of a codec, None if every reader supports it."""
    trait = _CODECS.get(codec)
    if trait is SourceTrait.LZ4 and framed:
        return None
    return SourceTrait.UNKNOWN_CODEC if codec > _LAST_CODEC else trait


def _encoding_trait(encoding: int) -> SourceTrait | None:
    """Return the trait of a page encoding, None if every reader supports it."""
    unknown = encoding > _LAST_ENCODING
    return SourceTrait.UNKNOWN_ENCODING if unknown else _ENCODINGS.get(encoding)
