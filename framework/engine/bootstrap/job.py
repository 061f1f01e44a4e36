"""What the tasks of a bootstrap get from its plan: inventory ranges, columns, keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from framework.engine.audit.keys import KeySource
from framework.hudi.bootstrap.inventory import InventoryHandle
from framework.hudi.bootstrap.key_pass import BloomChoice, key_columns
from framework.hudi.bootstrap.source_schema import encode_schema, with_partition_columns
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.table.properties import table_names
from framework.hudi.table.schema import avro_schema
from framework.plan.definition import Plan
from framework.plan.partitions import PartitionPlan
from framework.vocabulary import BootstrapMode

__all__ = [
    "BootstrapJob",
    "WorkRange",
    "WriteTask",
    "key_source",
    "source_uri",
    "table_schemas",
    "work_ranges",
]


def source_uri(plan: Plan) -> str:
    """Return the full URI of the source's root."""
    location = plan.source or ""
    return location if "://" in location else f"file://{location}"


def work_ranges(partitions: Iterable[PartitionPlan]) -> list[WorkRange]:
    """Return the inventory ranges of the partitions that are part of the table, ascending.

    Adjacent ranges of one mode are merged.
    """
    joined: list[WorkRange] = []
    for part in partitions:
        if part.mode is BootstrapMode.SKIP:
            continue
        last = joined[-1] if joined else None
        if last and last.stop == part.first and last.mode is part.mode:
            joined[-1] = replace(last, stop=part.stop)
        else:
            joined.append(WorkRange(start=part.first, stop=part.stop, mode=part.mode))
    return joined


def table_schemas(plan: Plan) -> tuple[Any, dict[str, Any]]:
    """Return the table's schema without meta columns, as Arrow and as Avro by Hudi's naming."""
    schema = with_partition_columns(plan.schema, plan.target.key_rule.partition)
    return schema, avro_schema(schema, table=table_names(plan.target.name)[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRange:
    """Consecutive files of an inventory that are written in one mode.

    Attributes:
        start: number of the first file, inclusive.
        stop: number after the last file, exclusive.
        mode: their mode.
        gone: path in the table of the places of excluded rows, of a range of one file; "" if no
            row is excluded.
    """

    start: int
    stop: int
    mode: BootstrapMode
    gone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapJob:
    """One bootstrap.

    Attributes:
        keys: how keys are computed, and from what.
        table: location of the storage to write to.
        attempts: folder in it where each attempt of a task makes its own.
        segments: folder in it for statuses and spills.
        instant: requested time of the commit.
        bloom: the filter of each file.
        schema: encoded Arrow schema of the table without meta columns; full records are cast to it.
        avro_schema: the table's Avro schema with meta columns, for footers of full records.
        bits: number of bits of a hash that choose its bucket.
        fence: file in it; without it the run is over and no task may write. "" for none.
    """

    keys: KeySource
    table: str
    attempts: str
    segments: str
    instant: str
    bloom: BloomChoice
    schema: str
    avro_schema: str
    bits: int
    fence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTask:
    """One task's share of a job; `ranges` ascend."""

    job: BootstrapJob
    ranges: tuple[WorkRange, ...]


def key_source(source: str, handle: InventoryHandle, rule: KeyRule, schema: Any) -> KeySource:
    """Return how the keys of a source are computed; `schema` is the unified one of its files."""
    return KeySource(
        source=source,
        inventory=handle,
        rule=rule,
        key_schema=encode_schema(key_columns(schema, rule)),
    )
