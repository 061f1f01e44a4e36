"""The options of an Apache Hudi job that writes to the table too, and its Spark SQL DDL."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum, unique
from typing import Final

import pyarrow as pa

from framework.engine.reading.table import open_table
from framework.engine.reading.table_memory import read_memory
from framework.errors import PlanError, Where
from framework.hudi.keygen.rule import KeyGenerator, KeyRule
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.object_uri import is_object_uri, store_of
from framework.hudi.storage.port import Storage
from framework.hudi.storage.s3a_options import place_options
from framework.hudi.storage.store_settings import settings_of
from framework.hudi.table.properties import TableProperties, read_properties
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.readers.exceptions import EXCEPTIONS, Trait
from framework.plan.readers.gate import gate
from framework.plan.readers.versions import Ability
from framework.vocabulary import KeyScope, TableType

__all__ = ["OptionsForm", "hudi_options", "table_ddl"]

_SESSION: Final = "spark."


@unique
class OptionsForm(StrEnum):
    """How options are written: for a DataFrame writer, for Spark SQL, as a properties file."""

    SPARK_CONF = "spark-conf"
    SQL = "sql"
    PROPERTIES = "properties"


_LINES = {
    OptionsForm.SPARK_CONF: ("#", "{key} {value}"),
    OptionsForm.SQL: ("--", "SET {key}={value};"),
    OptionsForm.PROPERTIES: ("#", "{key}={value}"),
}


def hudi_options(location: str, form: OptionsForm) -> str:
    """Return the options under which an Apache Hudi job may keep writing, with their warnings.

    Raises:
        PlanError: there is no table (`table/missing`).
    """
    storage = open_storage(location)
    properties = _properties(storage)
    rule = _key_rule(storage)
    comment, line = _LINES[form]
    notes = [
        "Never run an Apache Hudi writer while run-pipeline is running:",
        "it does not see the lease, and would roll back the pending instant.",
    ]
    if form is OptionsForm.SQL and rule and rule.generator is KeyGenerator.CUSTOM:
        notes.append("Spark SQL cannot write this table at version 6: use the DataFrame writer.")
    options = _options(storage.location, properties, rule) | _session_options(
        open_table(location).schema
    )
    if any(name.startswith(_SESSION) for name in options):
        notes.append(f"Options that start with {_SESSION} are set when the session starts.")
    stores = _store_options(storage, properties)
    if stores:
        notes.append("Credentials are not shown: let S3A find them, or set them in the session.")
    options |= stores
    notes += _limits(storage)
    lines = [f"{comment} {note}" for note in notes]
    lines += [line.format(key=key, value=options[key]) for key in sorted(options)]
    return "\n".join(lines) + "\n"


def _store_options(storage: Storage, properties: TableProperties) -> dict[str, str]:
    """Return where S3A finds the table or its source; empty if neither is in a store."""
    if not any(map(is_object_uri, (storage.location, properties.bootstrap_base_path or ""))):
        return {}
    places = place_options(settings_of("s3")).items()
    return {f"{_SESSION}hadoop.{name}": value for name, value in places}


def _session_options(schema: pa.Schema) -> dict[str, str]:
    """Return the session options that the columns need.

    Lists whose elements may be null: the old structure, Apache Hudi's default, cannot represent
    them. Days and timestamps: Spark 3 fails on early ones in files not written by Spark.
    """
    found: dict[str, str] = {}
    kinds = [kind for field in schema for kind in _kinds(field.type)]
    if any(pa.types.is_list(kind) and kind.value_field.nullable for kind in kinds):
        found[f"{_SESSION}hadoop.parquet.avro.write-old-list-structure"] = "false"
    if any(pa.types.is_date(kind) or pa.types.is_timestamp(kind) for kind in kinds):
        found["spark.sql.parquet.datetimeRebaseModeInRead"] = "CORRECTED"
        found["spark.sql.parquet.int96RebaseModeInRead"] = "CORRECTED"
    return found


def _kinds(kind: pa.DataType) -> Iterator[pa.DataType]:
    """Yield a type and all types nested in it."""
    yield kind
    for place in range(kind.num_fields):
        yield from _kinds(kind.field(place).type)


def _limits(storage: Storage) -> Iterator[str]:
    """Yield failures that no option prevents, and wrong rows, as the reader gate names them."""
    memory = read_memory(storage, load_timeline(storage))
    facts = None if memory is None else memory.facts
    if facts is None:
        return
    found = gate({trait: facts.traits[trait] for trait in Trait if trait in facts.traits})
    stopping = {each.name for each in EXCEPTIONS if each.continues is Ability.NO}
    for each in found.exceptions:
        if each.name in stopping:
            yield f"{each.name} ({each.who}): {each.message}"


def table_ddl(location: str) -> str:
    """Return the Spark SQL statement that declares the table for Apache Hudi.

    Columns and properties are read from the table itself.

    Raises:
        PlanError: there is no table (`table/missing`).
    """
    storage = open_storage(location)
    properties = _properties(storage)
    names = [n for n in (properties.database, properties.name) if n]
    quoted = ".".join(f"`{n}`" for n in names)
    place = storage.location.replace("\\", "\\\\").replace("'", "\\'")
    return f"CREATE TABLE {quoted} USING hudi LOCATION '{place}';\n"


def _properties(storage: Storage) -> TableProperties:
    found = read_properties(storage)
    if found is None:
        raise PlanError(
            "table/missing",
            "there is no table",
            where=Where(table=storage.location),
            remedy="Create it with `run-pipeline run`.",
        )
    return found


def _key_rule(storage: Storage) -> KeyRule | None:
    """Return the key rule of a table that Lakestrap created; None for any other."""
    memory = read_memory(storage, load_timeline(storage))
    return memory.key_rule if memory is not None and memory.immutable else None


def _has_source_elsewhere(location: str, properties: TableProperties) -> bool:
    """Return whether logs lie over skeletons whose source is in another store."""
    source = properties.bootstrap_base_path
    merges = properties.table_type is TableType.MERGE_ON_READ
    return bool(source) and merges and store_of(source or "") != store_of(location)


def _options(location: str, properties: TableProperties, rule: KeyRule | None) -> dict[str, str]:
    options = {
        "hoodie.table.name": properties.name,
        "hoodie.datasource.write.table.type": properties.table_type.value.upper(),
        "hoodie.write.table.version": "6",
        "hoodie.write.auto.upgrade": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.index.type": "SIMPLE",
    }
    if properties.bootstrap_base_path:
        # 1.2.0 fails if it adds an insert to the file group of a skeleton without reading it
        options["hoodie.merge.allow.duplicate.on.inserts"] = "false"
    if _has_source_elsewhere(location, properties):
        # the compaction of 1.2.0 looks for the source in the table's store
        options["hoodie.compact.inline"] = "false"
    if properties.ordering_field:
        options["hoodie.datasource.write.precombine.field"] = properties.ordering_field
    else:
        options["hoodie.combine.before.upsert"] = "false"
    if rule is None:
        return options
    if rule.scope is KeyScope.TABLE and rule.partition:
        options["hoodie.index.type"] = "GLOBAL_SIMPLE"
        options["hoodie.simple.index.update.partition.path"] = "true"
    return options | rule.writer_options()
