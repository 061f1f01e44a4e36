"""What the plan of a bootstrap says to its steps: ranges of the inventory, columns, the source."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from framework.engine.bootstrap.job import WorkRange
from framework.hudi.bootstrap.source_schema import with_partition_columns
from framework.hudi.table.properties import table_names
from framework.hudi.table.schema import avro_schema
from framework.vocabulary import BootstrapMode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.plan.definition import Plan
    from framework.plan.partitions import PartitionPlan

__all__ = ["source_uri", "table_schemas", "work_ranges"]


def source_uri(plan: Plan) -> str:
    """Return the full URI of the source's root."""
    location = plan.source or ""
    return location if "://" in location else f"file://{location}"


def work_ranges(partitions: Iterable[PartitionPlan]) -> list[WorkRange]:
    """Return the inventory ranges of the partitions that are part of the table, ascending.

    Neighbouring ranges of one mode become one.
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
