"""The section `table`: what the table is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from framework.spec.document.references import LooseText
from framework.spec.sections import fields
from framework.spec.sections.locations import Location
from framework.spec.sections.quality_spec import Columns
from framework.vocabulary import BloomKind, KeyScope, PartitionType, ReaderName, TableType

__all__ = [
    "AUTO",
    "BLOOM_FALSE_POSITIVE_RATE",
    "BLOOM_KIND",
    "BLOOM_MAX_KEYS",
    "COMMIT_TIME",
    "BloomSpecModel",
    "OrderingSpec",
    "PartitionColumn",
    "RecordKeySpec",
    "TableSpec",
]

# Chosen by what they cost and save: docs/adr/0008-size-bloom-filters-by-the-file.md
BLOOM_KIND = BloomKind.DYNAMIC
BLOOM_FALSE_POSITIVE_RATE = 1e-7
BLOOM_MAX_KEYS = 4_000_000

MAX_KEY_COLUMNS = 100
AUTO = "auto"
COMMIT_TIME = "commit_time"

KeyColumns = Annotated[
    tuple[fields.ColumnName, ...],
    Field(min_length=1, max_length=MAX_KEY_COLUMNS),
    AfterValidator(fields.distinct),
]
OneColumn = Annotated[tuple[fields.ColumnName, ...], Field(min_length=1, max_length=1)]
Readers = Annotated[tuple[ReaderName, ...], Field(max_length=len(ReaderName))]


class PartitionColumn(fields.SpecModel):
    """One partition column and its declared type."""

    name: fields.ColumnName
    type: PartitionType


def _columns_of_mapping(value: object) -> object:
    """`{month: int}` as a list of partition columns, in order."""
    if isinstance(value, Mapping):
        return [{"name": name, "type": kind} for name, kind in value.items()]
    if isinstance(value, list):
        names = ", ".join(f"{name}: string" for name in value if isinstance(name, str))
        suggestion = f"{{{names}}}" if names else None
        message = "each partition column needs its type, as in {month: int}"
        raise fields.fault("wrong-type", message, suggestion)
    return value


def _distinct_columns(columns: tuple[PartitionColumn, ...]) -> tuple[PartitionColumn, ...]:
    """The columns, if their names are distinct."""
    fields.distinct(tuple(column.name for column in columns))
    return columns


_PARTITION_SCHEMA: dict[str, Any] = {
    "type": "object",
    "propertyNames": {"minLength": 1, "not": {"pattern": "^_hoodie_"}},
    "additionalProperties": {"enum": [kind.value for kind in PartitionType]},
}

PartitionColumns = Annotated[
    tuple[PartitionColumn, ...],
    BeforeValidator(_columns_of_mapping),
    AfterValidator(_distinct_columns),
    WithJsonSchema(_PARTITION_SCHEMA),
]


class RecordKeySpec(fields.SpecModel):
    """What identifies a record, and within what."""

    columns: KeyColumns = Field(
        description="The key columns, in order; none of them may be null.", examples=["[id]"]
    )
    unique_within: KeyScope = Field(
        description="`table`: a key occurs once in the table. `partition`: once per partition.",
        examples=["table"],
    )

    @classmethod
    def automatic(cls) -> RecordKeySpec:
        """Return the key of rows that are numbered; it names no columns."""
        return cls.model_construct(columns=(), unique_within=KeyScope.TABLE)


def _automatic(value: object) -> object:
    """`auto` as the key of numbered rows."""
    word = value.typed() if isinstance(value, LooseText) else value
    if word == AUTO:
        return RecordKeySpec.automatic()
    if isinstance(word, str):
        message = "`record_key` is `auto`, or a mapping with the key's columns"
        raise fields.fault("wrong-type", message, f"{{columns: [{word}], unique_within: table}}")
    return value


RecordKey = Annotated[RecordKeySpec, BeforeValidator(_automatic)]


class OrderingSpec(fields.SpecModel):
    """What decides between two versions of a record."""

    columns: OneColumn = Field(
        description="The column whose greater value wins. Table version 6 has room for one.",
        examples=["[updated_at]"],
    )

    @classmethod
    def by_commit_time(cls) -> OrderingSpec:
        """Return the order in which the later commit wins; it names no columns."""
        return cls.model_construct(columns=())


def _by_commit_time(value: object) -> object:
    """`commit_time` as the order of commits."""
    word = value.typed() if isinstance(value, LooseText) else value
    if word == COMMIT_TIME:
        return OrderingSpec.by_commit_time()
    if isinstance(word, str):
        message = "`ordering` is `commit_time`, or a mapping with the column that decides"
        raise fields.fault("wrong-type", message, f"{{columns: [{word}]}}")
    return value


Ordering = Annotated[OrderingSpec, BeforeValidator(_by_commit_time)]


class BloomSpecModel(fields.SpecModel):
    """The bloom filter in each base file's footer, which Hudi's bloom index reads."""

    kind: BloomKind = Field(
        default=BLOOM_KIND,
        description="`dynamic` grows with the keys, `simple` has a fixed size, `none` writes none.",
    )
    expected_keys: fields.PositiveNumber | None = Field(
        default=None,
        description="Keys per file that the filter is sized for; left out, the rows of each file.",
    )
    false_positive_rate: fields.Share = Field(
        default=BLOOM_FALSE_POSITIVE_RATE,
        description="Share of foreign keys for which a file is read in vain.",
    )
    max_keys: fields.PositiveNumber = Field(
        default=BLOOM_MAX_KEYS, description="Keys per file up to which the filter keeps its rate."
    )


class TableSpec(fields.SpecModel):
    """What the table is.

    Once a table exists, only `bloom`, `ordering`, `readers` and `columns` may change.
    """

    name: fields.TableName = Field(
        description="`table` or `database.table`.", examples=["database.table"]
    )
    location: Location = Field(
        description="The table's base path; a relative one starts at the spec file's folder.",
        examples=["lake/table"],
    )
    type: TableType = Field(
        default=TableType.COPY_ON_WRITE, description="How the table keeps updates."
    )
    partition_by: PartitionColumns = Field(
        default=(),
        description="Partition columns in order, each with its type; leave it out for none.",
    )
    record_key: RecordKey = Field(
        default=RecordKeySpec.automatic(),
        description="What identifies a record; `auto` numbers the rows. Must, but for tables that "
        "have a `source` and no `bootstrap`.",
        examples=["{columns: [id], unique_within: table}", "auto"],
    )
    ordering: Ordering | None = Field(
        default=None,
        description="What decides between two versions of a record; merge_on_read and upserts "
        "need it. `commit_time`: the later commit wins.",
    )
    bloom: BloomSpecModel = Field(
        default=BloomSpecModel(), description="The bloom filter in each base file's footer."
    )
    readers: Readers = Field(
        default=(),
        description="Who must be able to read the table; a plan that shuts one out is refused.",
        examples=["[spark-hudi-1.2, trino]"],
    )
    columns: Columns | None = Field(
        default=None,
        description="What the columns are and may hold: a mapping, or the path of a `.columns.yml` "
        "file that is one.",
        examples=["{id: {type: bigint, nullable: false}}"],
    )
