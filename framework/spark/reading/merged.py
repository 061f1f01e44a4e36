"""Slices with log files: each is merged by one task, with Arrow, and its rows go back to Spark."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import types as t

from framework.engine.reading.slice_rows import SliceTable, describe, slice_rows
from framework.errors import FrameworkError
from framework.hudi.filegroup.merge_rule import MergeRule
from framework.hudi.table.partition_path import PartitionField, partition_values
from framework.spark.reading.columns import META_SCHEMA, constants, struct_of
from framework.spark.task_faults import FaultInTaskError
from framework.vocabulary import PartitionType, SourceLayout

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from framework.engine.reading.table import Table
    from framework.hudi.filegroup.slices import FileSlice
    from framework.spark.reading.files import Partition

__all__ = ["merged_frame"]

_BATCH_ROWS: Final = 1 << 16


def merged_frame(
    spark: SparkSession, table: Table, slices: Sequence[tuple[Partition, FileSlice]]
) -> DataFrame:
    """Return the rows of some slices with logs: meta columns, then the table's columns.

    One task a slice; columns and rows that a query leaves out are read all the same.

    Raises:
        UnsupportedTableError: `merge/payload-class`, `merge/ordering-fields`.
    """
    read_as = SliceTable.of(
        table.storage,
        table.timeline,
        table.schema,
        in_folders=[field.name for field in table.partition],
        rule=MergeRule.of(table.properties),
    )
    context = json.dumps(
        {
            "table": asdict(read_as),
            "fields": [asdict(field) for field in table.partition],
            "layout": table.layout,
        }
    )
    texts = [json.dumps({"path": part.path, **describe(found)}) for part, found in slices]
    frame = constants(spark, {"slice": texts}).repartition(len(texts))
    schema = t.StructType([*META_SCHEMA, *struct_of(table.schema)])
    return frame.mapInArrow(partial(_rows, context), schema)


def _rows(context: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the rows of the slices that a task was given."""
    told = json.loads(context)
    table = SliceTable(**told["table"])
    fields = [PartitionField(name=f["name"], type=PartitionType(f["type"])) for f in told["fields"]]
    layout = SourceLayout(told["layout"])
    for batch in batches:
        for text in batch.column(0).to_pylist():
            found = json.loads(text)
            values = partition_values(found["path"], fields, layout)
            yield from _merged(table, found, values).to_batches(max_chunksize=_BATCH_ROWS)


def _merged(table: SliceTable, found: dict[str, Any], values: dict[str, Any]) -> Any:
    """Return the rows of one slice; a fault travels in a form that the driver understands."""
    try:
        return slice_rows(table, found, values)
    except FrameworkError as error:
        raise FaultInTaskError(error) from error
