"""Slices with log files: base files are scanned natively, tasks read what their logs change.

A task reads a slice's log files, and the keys of its base file, and returns two things: the rows of
the base file to exclude, and the rows to add. So columns and filters are pushed into the scan of
the base files, and none of their rows pass through Python. If the logs are too large to send the
excluded rows to every task, slices are merged whole instead, one task each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t
from pyspark.sql.functions import col

from framework.engine.reading.slice_rows import (
    SliceFiles,
    SliceTable,
    slice_changes,
    slice_gone,
    slice_rows,
)
from framework.engine.reading.table import Table
from framework.engine.tasks import decode, encode
from framework.errors import FrameworkError
from framework.hudi.filegroup.merge import MergeRule
from framework.hudi.table.partition_path import PartitionField, PartitionValue, partition_values
from framework.spark.reading.adopted import (
    GONE_FILE,
    GONE_ROW,
    as_stored,
    in_table_types,
    scan_adopted,
    whole_as_stored,
    without,
)
from framework.spark.reading.columns import META_SCHEMA, constants, quoted, struct_of
from framework.spark.reading.files import Logged, LoggedSlice
from framework.spark.reading.scan import FileScanner
from framework.spark.session_jobs import jobs_of
from framework.spark.task_faults import FaultInTaskError
from framework.vocabulary import SourceLayout

_Values = Mapping[str, PartitionValue]
_Work = Callable[[SliceTable, "MergedSlice", _Values], Iterator[Any]]

__all__ = ["MergeContext", "MergedSlice", "merged_frames"]

_BATCH_ROWS: Final = 1 << 16
_MOST_LOG_BYTES: Final = 32 << 20
_LOG_BYTES_AT_ONCE: Final = 8 << 20
_TASKS_PER_CORE: Final = 4
_FILE: Final = "_lakestrap_file"
_ROW: Final = "_lakestrap_row"
_GONE: Final = t.StructType(
    [t.StructField(GONE_FILE, t.StringType()), t.StructField(GONE_ROW, t.LongType())]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedSlice:
    """A slice for a task.

    Attributes:
        path: of its partition.
        files: those of the slice.
        text: the base file's name in the scan; "" if no task needs it.
    """

    path: str
    files: SliceFiles
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeContext:
    """The parts of the table that every task needs: how slices are read and folders named."""

    table: SliceTable
    fields: tuple[PartitionField, ...]
    layout: SourceLayout


def merged_frames(
    scanner: FileScanner, table: Table, logged: Logged, *, most_bytes: int = _MOST_LOG_BYTES
) -> Iterator[DataFrame]:
    """Yield frames that together are the rows of slices with logs, meta columns first.

    With more than `most_bytes` of log files, each slice is read and merged whole by one task; then
    columns and rows that a query does not need are read too.

    Raises:
        UnsupportedTableError: `merge/payload-class`, `merge/ordering-fields`,
            `read/no-meta-columns`.
    """
    table.require_meta_columns("merging log files")
    jobs_of(scanner.spark).prepare()
    merger = _Merger(scanner=scanner, table=table)
    slices = logged.slices
    if sum(log.size for each in slices for log in each.slice.logs) > most_bytes:
        yield merger.whole(slices)
        return
    for adopted, columns in as_stored(table, logged.adopted, scanner.spark.version):
        gone = partial(merger.gone, adopted.logged)
        yield scan_adopted(scanner, table, adopted, columns, gone)
    yield from merger.below_whole(logged)
    yield merger.changed(slices)


@dataclass(frozen=True, kw_only=True)
class _Merger:
    """Makes frames from the results of tasks over one table's slices."""

    scanner: FileScanner
    table: Table

    def whole(self, slices: Sequence[LoggedSlice]) -> DataFrame:
        """Return all rows of slices, each merged by one task."""
        return self._asked(_whole_rows, self._schema, _merged(slices), len(slices))

    def changed(self, slices: Sequence[LoggedSlice]) -> DataFrame:
        """Return the remaining rows of log files; small logs share one task per core."""
        size = sum(log.size for each in slices for log in each.slice.logs)
        tasks = self._tasks if size > _LOG_BYTES_AT_ONCE else self._cores
        return self._asked(_changed_rows, self._schema, _merged(slices), tasks)

    def gone(self, slices: Sequence[LoggedSlice], texts: Sequence[str]) -> DataFrame:
        """Return `GONE_FILE` and `GONE_ROW` of the excluded rows of base files.

        `texts` are the names of the base files in the scan, in the order of the slices.
        """
        named = [
            replace(each, text=text) for each, text in zip(_merged(slices), texts, strict=True)
        ]
        return self._asked(_gone_rows, _GONE, named, self._tasks)

    def below_whole(self, logged: Logged) -> Iterator[DataFrame]:
        """Yield the remaining rows of base files."""
        scanner = self.scanner
        names = quoted([*META_SCHEMA.names, *self.table.schema.names])
        file = col("_metadata.file_path").alias(_FILE)
        for places, columns in whole_as_stored(
            self.table, logged.whole.paths, scanner.spark.version
        ):
            stored = t.StructType([*META_SCHEMA, *columns])
            scan = scanner.scan(logged.whole.some(places), stored, with_rows=True)
            typed = in_table_types(self.table, columns)
            row = col(scanner.row_index).alias(_ROW)
            rows = scan.frame.select(*META_SCHEMA.names, *typed, file, row)
            gone = self.gone([logged.over_whole[at] for at in places], scan.texts)
            yield without(rows, gone, file=_FILE, row=_ROW).select(*names)

    @property
    def _schema(self) -> t.StructType:
        """Meta columns, then the table's."""
        return t.StructType([*META_SCHEMA, *struct_of(self.table.schema)])

    @property
    def _tasks(self) -> int:
        """The number of tasks for work that is short for each slice."""
        return self._cores * _TASKS_PER_CORE

    @property
    def _cores(self) -> int:
        """The number of tasks into which Spark splits local rows by default."""
        return self.scanner.cores

    def _asked(
        self, work: _Work, schema: t.StructType, slices: Sequence[MergedSlice], tasks: int
    ) -> DataFrame:
        """Return the results of `work` for slices, in at most one task per slice.

        With one task per core there is no shuffle.
        """
        texts = [encode(each) for each in slices]
        frame = constants(self.scanner.spark, {"slice": texts})
        if tasks != self._cores:
            frame = frame.repartition(max(1, min(tasks, len(texts))))
        return frame.mapInArrow(partial(_run_in_task, work, self._context), schema)

    @cached_property
    def _context(self) -> str:
        """The `MergeContext` as JSON."""
        table = self.table
        read_as = SliceTable.of(
            table.storage,
            table.timeline,
            table.schema,
            in_folders=[field.name for field in table.partition],
            rule=MergeRule.of(table.properties),
        )
        return encode(
            MergeContext(table=read_as, fields=tuple(table.partition), layout=table.layout)
        )


def _merged(slices: Sequence[LoggedSlice]) -> list[MergedSlice]:
    return [
        MergedSlice(path=each.partition.path, files=SliceFiles.of(each.slice)) for each in slices
    ]


def _run_in_task(work: _Work, text: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the results of `work` for the slices of a task; wrap a fault for the driver."""
    context = decode(MergeContext, text)
    try:
        for batch in batches:
            for each in batch.column(0).to_pylist():
                found = decode(MergedSlice, each)
                values = partition_values(found.path, context.fields, context.layout)
                yield from work(context.table, found, values)
    except FrameworkError as error:
        raise FaultInTaskError(error) from error


def _whole_rows(table: SliceTable, found: MergedSlice, values: _Values) -> Iterator[Any]:
    yield from slice_rows(table, found.files, values).to_batches(max_chunksize=_BATCH_ROWS)


def _changed_rows(table: SliceTable, found: MergedSlice, values: _Values) -> Iterator[Any]:
    """Yield the remaining rows of a slice's log files."""
    yield from slice_changes(table, found.files, values).to_batches(max_chunksize=_BATCH_ROWS)


def _gone_rows(table: SliceTable, found: MergedSlice, _: _Values) -> Iterator[Any]:
    """Yield file and position of the excluded rows of base files."""
    gone = pa.array(slice_gone(table, found.files), pa.int64())
    files = pa.repeat(pa.scalar(found.text, pa.string()), len(gone))
    yield pa.RecordBatch.from_arrays([files, gone], names=_GONE.names)
