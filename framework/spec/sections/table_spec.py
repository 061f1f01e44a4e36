"""The section `table`: identity and layout of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from framework.spec.document.references import LooseText
from framework.spec.sections import fields
from framework.spec.sections.locations import TableLocation
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

# Chosen by cost and benefit: docs/adr/0008-size-bloom-filters-by-the-file.md
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
    """Convert `{month: int}` to a list of partition columns, in order."""
    if isinstance(value, Mapping):
        return [{"name": name, "type": kind} for name, kind in value.items()]
    if isinstance(value, list):
        names = ", ".join(f"{name}: string" for name in value if isinstance(name, str))
        suggestion = f"{{{names}}}" if names else None
        message = "each partition column needs its type, as in {month: int}"
        raise fields.fault("wrong-type", message, suggestion)
    return value


def _distinct_columns(columns: tuple[PartitionColumn, ...]) -> tuple[PartitionColumn, ...]:
    """Return the columns, if their names are distinct."""
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
    """The columns that identify a record, and the scope of their uniqueness."""

    columns: KeyColumns = Field(
        description="The key columns, in order; none of them may be null.", examples=["[id]"]
    )
    unique_within: KeyScope = Field(
        description="`table`: a key occurs once in the table. `partition`: once per partition.",
        examples=["table"],
    )

    @classmethod
    def automatic(cls) -> RecordKeySpec:
        """Return the key of automatically numbered rows; it has no columns."""
        return cls.model_construct(columns=(), unique_within=KeyScope.TABLE)


def _automatic(value: object) -> object:
    """Return the key of numbered rows for `auto`."""
    word = value.typed() if isinstance(value, LooseText) else value
    if word == AUTO:
        return RecordKeySpec.automatic()
    if isinstance(word, str):
        message = "`record_key` is `auto`, or a mapping with the key's columns"
        raise fields.fault("wrong-type", message, f"{{columns: [{word}], unique_within: table}}")
    return value


RecordKey = Annotated[RecordKeySpec, BeforeValidator(_automatic)]


class OrderingSpec(fields.SpecModel):
    """The order of two versions of a record."""

    columns: OneColumn = Field(
        description="The column whose greater value wins. Table version 6 supports one.",
        examples=["[updated_at]"],
    )

    @classmethod
    def by_commit_time(cls) -> OrderingSpec:
        """Return the order in which the later commit wins; it has no columns."""
        return cls.model_construct(columns=())


def _by_commit_time(value: object) -> object:
    """Return the order of commits for `commit_time`."""
    word = value.typed() if isinstance(value, LooseText) else value
    if word == COMMIT_TIME:
        return OrderingSpec.by_commit_time()
    if isinstance(word, str):
        message = "`ordering` is `commit_time`, or a mapping with the ordering column"
        raise fields.fault("wrong-type", message, f"{{columns: [{word}]}}")
    return value


Ordering = Annotated[OrderingSpec, BeforeValidator(_by_commit_time)]


class BloomSpecModel(fields.SpecModel):
    """The bloom filter in each base file's footer, which Hudi's bloom index reads."""

    kind: BloomKind = Field(
        default=BLOOM_KIND,
        description="`dynamic` grows with the keys, `simple` has a fixed size, `none` omits it.",
    )
    expected_keys: fields.PositiveNumber | None = Field(
        default=None,
        description="Keys per file that the filter is sized for; by default the rows of each file.",
    )
    false_positive_rate: fields.Share = Field(
        default=BLOOM_FALSE_POSITIVE_RATE,
        description="Rate of false positives: keys of other files for which a file is read.",
    )
    max_keys: fields.PositiveNumber = Field(
        default=BLOOM_MAX_KEYS, description="Keys per file up to which the filter keeps that rate."
    )


class TableSpec(fields.SpecModel):
    """Identity and layout of the table.

    Once a table exists, only `bloom`, `ordering`, `readers` and `columns` may change.
    """

    name: fields.TableName = Field(
        description="`table` or `database.table`.", examples=["database.table"]
    )
    location: TableLocation = Field(
        description="The table's base path; a relative one starts at the spec file's folder.",
        examples=["lake/table"],
    )
    type: TableType = Field(
        default=TableType.COPY_ON_WRITE, description="How the table stores updates."
    )
    partition_by: PartitionColumns = Field(
        default=(),
        description="Partition columns in order, each with its type; by default none.",
    )
    record_key: RecordKey = Field(
        default=RecordKeySpec.automatic(),
        description="The key of a record; `auto` numbers the rows. Required, except for tables "
        "that have a `source` and no `bootstrap`.",
        examples=["{columns: [id], unique_within: table}", "auto"],
    )
    ordering: Ordering | None = Field(
        default=None,
        description="Which of two versions of a record wins; merge_on_read and upserts "
        "need it. `commit_time`: the later commit wins.",
    )
    bloom: BloomSpecModel = Field(
        default=BloomSpecModel(), description="The bloom filter in each base file's footer."
    )
    readers: Readers = Field(
        default=(),
        description="Engines that must be able to read the table; other plans are refused.",
        examples=["[spark-hudi-1.2, trino]"],
    )
    columns: Columns | None = Field(
        default=None,
        description="Types and allowed values of columns: a mapping, or the path of a "
        "`.columns.yml` file.",
        examples=["{id: {type: bigint, nullable: false}}"],
    )
