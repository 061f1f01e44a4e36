"""Catalog entries as Apache Hudi 1.2.0's sync made them, and builders of facts and targets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from framework.plan.catalogs.definitions import TableFacts
from framework.plan.catalogs.registered import CatalogColumn, CatalogPartition, RegisteredTable
from framework.plan.catalogs.target import CatalogTarget
from framework.vocabulary import CatalogKind, TableType

__all__ = [
    "GOLDEN",
    "SCHEMA",
    "WRITER",
    "a_target",
    "facts",
    "golden",
    "golden_partitions",
    "golden_table",
]

FILE: Final = Path(__file__).parents[1] / "golden" / "catalogs" / "hudi-1.2.0.json"
GOLDEN: Final[dict[str, Any]] = json.loads(FILE.read_text())
WRITER: Final = "hudi_writer_version"
"""A property that only Apache Hudi writes."""

SCHEMA: Final = pa.schema(
    [
        ("id", pa.int64()),
        ("region", pa.string()),
        ("b", pa.bool_()),
        ("i", pa.int32()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("bin", pa.binary()),
        ("day", pa.date32()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("ntz", pa.timestamp("us")),
        ("dec", pa.decimal128(12, 3)),
        ("Arr", pa.list_(pa.struct([("X", pa.int32()), ("y", pa.string())]))),
        ("m", pa.map_(pa.string(), pa.list_(pa.int64()))),
        (
            "st",
            pa.struct(
                [
                    ("Nest", pa.struct([("q", pa.decimal128(30, 10))])),
                    ("t", pa.timestamp("us", tz="UTC")),
                ]
            ),
        ),
        ("year", pa.int32()),
        ("ts_order", pa.int64()),
    ]
)
"""The columns of the tables in `make_catalogs.py`."""


def golden(name: str) -> Any:
    """Return what the metastore held of a table after Apache Hudi's sync."""
    return GOLDEN[name]


def golden_table(name: str) -> RegisteredTable:
    """Return that table as a value; properties with the release of the writer."""
    found = golden(name)
    return RegisteredTable(
        database="shop",
        name=name,
        location=found["location"],
        columns=tuple(CatalogColumn(name=n, type=t) for n, t in found["columns"]),
        partition_columns=tuple(
            CatalogColumn(name=n, type=t) for n, t in found["partition_columns"]
        ),
        input_format=found["input_format"],
        output_format=found["output_format"],
        serde=found["serde"],
        serde_properties=found["serde_properties"],
        properties=found["properties"],
    )


def golden_partitions(name: str) -> list[CatalogPartition]:
    """Return the partitions of that table."""
    return [
        CatalogPartition(values=tuple(each["values"]), location=each["location"])
        for each in golden(name)["partitions"]
    ]


def a_target(table: str = "orders", **changes: Any) -> CatalogTarget:
    """Return a target in the database `shop` of a metastore."""
    uri = "thrift://127.0.0.1:9083"
    fields = {"kind": CatalogKind.HIVE, "database": "shop", "table": table, "uri": uri}
    return CatalogTarget(**{**fields, **changes})


def facts(name: str, partition: tuple[str, ...], kind: TableType, **changes: Any) -> TableFacts:
    """Return the facts of the Hudi table of a golden entry."""
    properties = golden(name)["properties"]
    fields = {
        "location": f"/lake/{name}",
        "type": kind,
        "schema": SCHEMA,
        "partition": partition,
        "last_commit": properties["last_commit_time_sync"],
        "last_completion": properties["last_commit_completion_time_sync"],
        "spark_version": properties["spark.sql.create.version"],
    }
    return TableFacts(**{**fields, **changes})
