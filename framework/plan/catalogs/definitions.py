"""The tables that a catalog shall hold for one Hudi table, as Apache Hudi's sync defines them.

A copy-on-write table has one. A merge-on-read table has three: `_ro` reads base files only, `_rt`
and the bare name merge log files. That is so for bootstrapped tables too: release 1.2.0 has dropped
the exception that earlier ones made for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from framework.errors import PlanError, Where
from framework.hudi.table.layout import META_COLUMNS
from framework.plan.catalogs.column_types import hive_type, schema_parts, spark_schema
from framework.plan.catalogs.places import catalog_location
from framework.plan.catalogs.registered import (
    LAST_COMMIT,
    LAST_COMPLETION,
    CatalogColumn,
    RegisteredTable,
)
from framework.plan.catalogs.target import CatalogTarget
from framework.vocabulary import TableType

__all__ = ["CREATE_VERSION", "SCHEMA_PART", "SERDE_PATH", "TableFacts", "table_names", "tables_of"]

CREATE_VERSION: Final = "spark.sql.create.version"
SCHEMA_PART: Final = "spark.sql.sources.schema.part."
SERDE_PATH: Final = "path"

_PARQUET: Final = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
_REALTIME: Final = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"
_OUTPUT: Final = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
_SERDE: Final = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """A Hudi table, as far as a catalog needs to know it.

    Attributes:
        location: of the table, as opened.
        type: of the table.
        schema: columns without meta columns; partition columns included.
        partition: names of the partition columns, in folder order.
        last_commit: requested time of the last completed commit.
        last_completion: latest time at which a commit was completed, 17 digits, UTC.
        spark_version: the release of PySpark, recorded in a new table.
    """

    location: str
    type: TableType
    schema: pa.Schema
    partition: tuple[str, ...]
    last_commit: str
    last_completion: str
    spark_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variant:
    """One of the tables: its suffix, and how it is read."""

    suffix: str
    merges_logs: bool
    is_read_optimized: bool


_VARIANTS: Final[Mapping[TableType, tuple[_Variant, ...]]] = {
    TableType.COPY_ON_WRITE: (_Variant(suffix="", merges_logs=False, is_read_optimized=False),),
    TableType.MERGE_ON_READ: (
        _Variant(suffix="_ro", merges_logs=False, is_read_optimized=True),
        _Variant(suffix="_rt", merges_logs=True, is_read_optimized=False),
        _Variant(suffix="", merges_logs=True, is_read_optimized=False),
    ),
}


def table_names(target: CatalogTarget, kind: TableType) -> tuple[str, ...]:
    """Return the names of the tables in the catalog, in the order of `tables_of`."""
    return tuple(f"{target.table}{each.suffix}" for each in _VARIANTS[kind])


def tables_of(target: CatalogTarget, facts: TableFacts) -> tuple[RegisteredTable, ...]:
    """Return the tables that the catalog shall hold, with the last commit among the properties.

    Raises:
        PlanError: `catalog/column-type`, `catalog/nested-name`, `catalog/column-case`.
    """
    columns = _columns(target, facts)
    lowered = {name.lower(): None for name in facts.partition}
    location = catalog_location(facts.location, target.kind)
    source = _data_source(facts)
    return tuple(
        RegisteredTable(
            database=target.database,
            name=f"{target.table}{each.suffix}",
            location=location,
            columns=tuple(c for name, c in columns.items() if name not in lowered),
            partition_columns=tuple(columns[name] for name in lowered),
            input_format=_REALTIME if each.merges_logs else _PARQUET,
            output_format=_OUTPUT,
            serde=_SERDE,
            serde_properties=_serde_properties(each, location),
            properties={
                "EXTERNAL": "TRUE",
                **source,
                LAST_COMMIT: facts.last_commit,
                LAST_COMPLETION: facts.last_completion,
            },
        )
        for each in _VARIANTS[facts.type]
    )


def _columns(target: CatalogTarget, facts: TableFacts) -> dict[str, CatalogColumn]:
    """Return all columns by their name in lower case, meta columns first.

    Raises:
        PlanError: `catalog/column-case`.
    """
    names = Counter(name.lower() for name in facts.schema.names)
    twice = sorted(name for name, count in names.items() if count > 1)
    if twice:
        raise PlanError(
            "catalog/column-case",
            f"columns differ in case only, which catalogs ignore: {', '.join(twice)}",
            where=Where(table=facts.location),
            remedy="Rename one of the columns, or remove the section `catalog`.",
        )
    meta = {name: CatalogColumn(name=name, type="string") for name in META_COLUMNS}
    timed = target.support_timestamp
    found = {
        f.name.lower(): CatalogColumn(
            name=f.name.lower(), type=hive_type(f.type, support_timestamp=timed, column=f.name)
        )
        for f in facts.schema
    }
    return {**meta, **found}


def _serde_properties(variant: _Variant, location: str) -> dict[str, str]:
    return {
        "serialization.format": "1",
        SERDE_PATH: location,
        "hoodie.query.as.ro.table": str(variant.is_read_optimized).lower(),
    }


def _data_source(facts: TableFacts) -> dict[str, str]:
    """Return the properties by which Spark opens the table with Hudi's data source."""
    meta = [pa.field(name, pa.string()) for name in META_COLUMNS]
    schema = pa.schema([*meta, *facts.schema])
    parts = schema_parts(spark_schema(schema, facts.partition))
    return {
        "spark.sql.sources.provider": "hudi",
        CREATE_VERSION: facts.spark_version,
        "spark.sql.sources.schema.numParts": str(len(parts)),
        **{f"{SCHEMA_PART}{number}": part for number, part in enumerate(parts)},
        **dict(_partition_properties(facts.partition)),
    }


def _partition_properties(partition: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if partition:
        yield "spark.sql.sources.schema.numPartCols", str(len(partition))
    for number, name in enumerate(partition):
        yield f"spark.sql.sources.schema.partCol.{number}", name
