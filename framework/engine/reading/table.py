"""A table as a reader knows it before it opens any data file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from framework.engine.reading.table_memory import read_memory
from framework.errors import CorruptFileError, UnsupportedTableError, Where
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import BOOTSTRAP_INSTANT, META_COLUMNS, TABLE_VERSION
from framework.hudi.table.partition_path import PartitionField
from framework.hudi.table.properties import TableProperties, read_properties
from framework.hudi.table.schema import arrow_schema
from framework.hudi.table.schema_check import is_internal_column
from framework.hudi.table.supported import META_FIELDS, unsupported_entries
from framework.hudi.timeline.clean_metadata import check_not_cleaned
from framework.hudi.timeline.clock import Moment, instant_of
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS
from framework.hudi.timeline.timeline import Timeline, load_timeline
from framework.plan.readers.exceptions import Trait
from framework.vocabulary import PartitionType, SourceLayout

__all__ = ["Table", "open_table"]

_SCHEMA: Final = "schema"
_GENERATORS: Final = frozenset(
    {"", "SimpleKeyGenerator", "ComplexKeyGenerator", "CustomKeyGenerator"}
)
_TYPES: Final = (
    (pa.types.is_string, PartitionType.STRING),
    (pa.types.is_int32, PartitionType.INT),
    (pa.types.is_int64, PartitionType.LONG),
    (pa.types.is_date32, PartitionType.DATE),
    (pa.types.is_boolean, PartitionType.BOOLEAN),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as a reader sees it.

    Attributes:
        storage: opened at the table's base path.
        properties: of a table at version 6.
        timeline: what is completed, from one listing.
        schema: columns without meta columns, partition columns included.
        partition: partition columns in folder order; empty for an unpartitioned table.
        rule: how skeletons got their keys; None unless they are proven to be Lakestrap's.
        has_widened: whether an adopted file has a column in a narrower type than the table.
        skipped: partitions that a Lakestrap bootstrap left outside the table.
    """

    storage: Storage
    properties: TableProperties
    timeline: Timeline
    schema: pa.Schema
    partition: tuple[PartitionField, ...]
    rule: KeyRule | None
    has_widened: bool
    skipped: frozenset[str] = frozenset()

    @property
    def layout(self) -> SourceLayout:
        """How partition paths encode their values."""
        if not self.partition:
            return SourceLayout.NONE
        return SourceLayout.HIVE if self.properties.hive_style else SourceLayout.POSITIONAL

    @property
    def file_fields(self) -> list[pa.Field]:
        """The columns that are read from files: those that no folder stands for."""
        by_folder = {field.name for field in self.partition}
        return [field for field in self.schema if field.name not in by_folder]

    def require_meta_columns(self, question: str) -> None:
        """Raise if the rows have no meta columns, without which `question` has wrong answers.

        Raises:
            UnsupportedTableError: `read/no-meta-columns`.
        """
        for entry in unsupported_entries(self.properties):
            if entry.key == META_FIELDS:
                raise _unsupported(
                    self.storage,
                    "no-meta-columns",
                    f"the table has {entry.key}={entry.value}, and {question} needs meta columns",
                    "Ask Apache Hudi, or make a new table from the rows; `read` and "
                    "`read_optimized` of base files need no meta columns.",
                )


def open_table(
    location: str, as_of: Moment | None = None, *, timeline: Timeline | None = None
) -> Table:
    """Return the table at `location`, as it is, or as it was at a moment of the past.

    Costs one listing, the heads of one or a few commits, and the state file if there is one; for
    the past also one small read per clean on the timeline. `timeline` is the table's, whole; with
    it there is no listing.

    Raises:
        UnsupportedTableError: `read/not-a-table`, `read/table-version`, `read/no-schema`,
            `read/property-not-supported`, `read/key-generator`, `read/partition-type`,
            `read/reserved-column`; for a moment of the past `read/cleaned`, `read/archived`,
            `read/before-table`.
        PlanError: `read/moment-not-readable`, `read/moment-has-a-zone`.
    """
    storage = open_storage(location)
    properties = read_properties(storage)
    if properties is None:
        raise _unsupported(storage, "not-a-table", "there is no table here", "Check the location.")
    if properties.version != TABLE_VERSION:
        raise _unsupported(
            storage,
            "table-version",
            f"the table is at version {properties.version}; this release reads {TABLE_VERSION}",
            "Read it with Apache Hudi, which upgraded it.",
        )
    for entry in unsupported_entries(properties):
        if entry.reads:
            raise _unsupported(
                storage,
                "property-not-supported",
                f"the table has {entry.key}={entry.value}: {entry.why}",
                "Read it with Apache Hudi.",
            )
    whole = timeline = timeline or load_timeline(storage)
    if as_of is not None:
        instant = instant_of(as_of, timeline, properties.timezone)
        check_not_cleaned(storage, timeline, instant)
        timeline = timeline.as_of(instant)
    schema = _schema(storage, timeline)
    adoption = _adoption(storage, whole)
    rule = adoption.rule
    partition = rule.partition if rule else _partition(storage, properties, schema)
    return Table(
        storage=storage,
        properties=properties,
        timeline=timeline,
        schema=_with_partition_columns(schema, partition),
        partition=partition,
        rule=rule,
        has_widened=adoption.has_widened,
        skipped=adoption.skipped,
    )


def _schema(storage: Storage, timeline: Timeline) -> pa.Schema:
    """Return the columns that the newest commit with a schema names."""
    for instant in reversed(timeline.completed):
        if instant.action in DATA_ACTIONS:
            text = read_commit_head(storage, instant.path).extra.get(_SCHEMA)
            if text:
                return _parsed(storage, instant.path, text)
    raise _unsupported(
        storage, "no-schema", "no completed commit names the columns", "Write to the table first."
    )


def _parsed(storage: Storage, path: str, text: str) -> pa.Schema:
    """Return an Avro schema's columns without meta columns."""
    try:
        schema = arrow_schema(json.loads(text))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptFileError(
            "read/schema-not-readable",
            f"the commit's schema is not readable: {error!r}",
            where=Where(file=f"{storage.location}/{path}"),
            remedy="Restore the commit file from a copy.",
        ) from error
    for name in filter(is_internal_column, schema.names):
        raise _unsupported(
            storage,
            "reserved-column",
            f"column '{name}' has a name that Spark or Lakestrap uses itself when it reads files",
            "Read the table with Apache Hudi, or rename the column in the source and create the "
            "table again.",
        )
    return pa.schema([field for field in schema if field.name not in META_COLUMNS])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Adoption:
    """The record of a Lakestrap bootstrap in its commit: see `Table`."""

    rule: KeyRule | None = None
    has_widened: bool = False
    skipped: frozenset[str] = frozenset()


def _adoption(storage: Storage, timeline: Timeline) -> _Adoption:
    """Return what our bootstrap left, nothing where it was not ours.

    If it made no skeletons, there is no rule for their keys.
    """
    memory = read_memory(storage, timeline, only_with_folder=True)
    facts = None if memory is None else memory.facts
    if memory is None or facts is None:
        return _Adoption()
    skipped = frozenset(facts.skipped)
    if facts.instant != BOOTSTRAP_INSTANT:
        return _Adoption(skipped=skipped)
    widened = Trait.WIDENED in facts.traits
    return _Adoption(rule=memory.key_rule, has_widened=widened, skipped=skipped)


def _partition(
    storage: Storage, properties: TableProperties, schema: pa.Schema
) -> tuple[PartitionField, ...]:
    """Return the partition columns of another writer's table, typed as in its schema."""
    if not properties.partition_fields:
        return ()
    generator = properties.key_generator.rpartition(".")[2]
    if generator not in _GENERATORS:
        raise _unsupported(
            storage,
            "key-generator",
            f"{generator} makes folders whose text is not a column value",
            "Read the table with Apache Hudi.",
        )
    return tuple(_partition_field(storage, n, schema) for n in properties.partition_fields)


def _partition_field(storage: Storage, name: str, schema: pa.Schema) -> PartitionField:
    """Return one partition column; text if the schema lacks it."""
    kind = schema.field(name).type if name in schema.names else pa.string()
    for is_kind, declared in _TYPES:
        if is_kind(kind):
            return PartitionField(name=name, type=declared)
    raise _unsupported(
        storage,
        "partition-type",
        f"partition column '{name}' is {kind}",
        "Read the table with Apache Hudi.",
    )


def _with_partition_columns(schema: pa.Schema, partition: tuple[PartitionField, ...]) -> pa.Schema:
    """Return the schema with the partition columns that it lacks appended."""
    missing = [pa.field(f.name, pa.string()) for f in partition if f.name not in schema.names]
    return pa.schema([*schema, *missing])


def _unsupported(
    storage: Storage, condition: str, message: str, remedy: str
) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"read/{condition}", message, where=Where(table=storage.location), remedy=remedy
    )
