"""The stage that pins the input: its files with their rows, and the columns the table gets."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.audit.spill import bucket_bits
from framework.engine.course import PinnedInput
from framework.engine.reading.slice_rows import SliceTable
from framework.engine.views import address_fields
from framework.engine.writing.assigning import Sizing
from framework.engine.writing.evolving import check_holds, evolved
from framework.engine.writing.groups import WriteSettings
from framework.engine.writing.job import InputFile, LoadJob
from framework.engine.writing.load import load_of, load_plan
from framework.errors import (
    CorruptFileError,
    NotYetBuiltError,
    PlanError,
    SourceDriftError,
    Where,
)
from framework.hudi.bootstrap.source_schema import encode_schema
from framework.hudi.filegroup.merge_rule import MergeRule
from framework.hudi.keygen.rule import key_faults
from framework.hudi.storage.opening import open_storage
from framework.hudi.table.layout import MetaField, join, name_of, parent_of
from framework.hudi.table.properties import table_names
from framework.hudi.table.schema import avro_schema, parquet_schema, unify, with_meta_columns
from framework.hudi.timeline.timeline import Timeline
from framework.plan.words import count_text
from framework.vocabulary import KeyScope, TableType, WriteOperation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.engine.course import Course, InputReader, Run
    from framework.engine.writing.load import Load
    from framework.hudi.commit.intent import Transaction
    from framework.hudi.keygen.rule import KeyRule
    from framework.hudi.storage.port import Entry
    from framework.plan.load import LoadPlan

__all__ = ["input_footers", "read_input"]

_BUCKET_ROWS = 4_000_000
_READERS = 8
_BATCH = 4096


def read_input(work: Run, course: Course) -> Course:
    """Pin the input to files, read their footers, and decide the table's columns.

    Raises:
        PlanError: `input/schema-differs`, or see `evolved`.
        NotYetBuiltError: `input/needs-spark`; the input is no plain Parquet and there is no reader.
        SourceDriftError, CorruptFileError: an input file is gone or cannot be read.
    """
    transaction, load = load_of(course)
    plan = load_plan(work)
    pinned = _pinned(transaction, plan, work.reader)
    files, found = input_footers(pinned.paths)
    if pinned.schema is not None:
        found = pinned.schema
    if plan.releases is not None:
        found = _as_set_aside(load, plan, found)
    schema = _columns(work, load, plan, found)
    rows, size = sum(each.rows for each in files), sum(each.size for each in files)
    load = replace(
        load,
        files=tuple(files),
        found=found,
        schema=schema,
        job=_job(work, transaction, load, schema, rows),
        settings=WriteSettings(
            sizing=Sizing(
                target_bytes=plan.target_file_size,
                small_bytes=0
                if plan.operation is WriteOperation.BULK_INSERT
                else plan.small_file_limit,
                row_bytes=max(size / rows, 1.0) if rows else 1.0,
                appends=work.plan.target.table_type is TableType.MERGE_ON_READ,
            ),
            parallelism=plan.parallelism,
        ),
    )
    summary = f"{count_text(len(files), 'file')}, {count_text(rows, 'row')}"
    return replace(course, job=load, summary=summary, input_rows=rows)


def _as_set_aside(load: Load, plan: LoadPlan, found: pa.Schema) -> pa.Schema:
    """Return the columns of rows set aside, and those that the table has got since, null there."""
    hidden = plan.request.hidden if plan.request else ()
    shown = pa.schema([field for field in found if field.name not in hidden])
    if load.table is None or plan.operation is WriteOperation.DELETE:
        return shown
    later = [field for field in load.table.schema if field.name not in shown.names]
    return pa.schema([*shown, *later])


def _pinned(transaction: Transaction, plan: LoadPlan, reader: InputReader | None) -> PinnedInput:
    """Return the files that hold the input's rows."""
    request = plan.request
    if request is None:
        return PinnedInput(paths=())
    if request.is_plain_parquet and request.files is not None:
        return PinnedInput(paths=request.files)
    if reader is None:
        raise NotYetBuiltError(
            "input/needs-spark",
            f"a source in {request.format} is read by Spark",
            remedy="Run it with a Spark session.",
        )
    storage = transaction.storage
    folder = join(transaction.intent.staging.root, "input")
    return reader.stage(request, f"{storage.location}/{folder}")


def input_footers(paths: Sequence[str]) -> tuple[list[InputFile], pa.Schema]:
    """Return the files with what their footers say, and one schema for all of them.

    Raises:
        SourceDriftError: `input/drift`; a file is gone.
        CorruptFileError: `input/corrupt-file`, `input/schema-conflict`.
    """
    files: list[InputFile] = []
    schemas: list[pa.Schema] = []
    with ThreadPoolExecutor(_READERS) as pool:
        for first in range(0, len(paths), _BATCH):
            some = paths[first : first + _BATCH]
            for path, (entry, metadata) in zip(some, pool.map(_footer, some), strict=True):
                schema = parquet_schema(metadata)
                if schema not in schemas:
                    schemas.append(schema)
                files.append(
                    InputFile(
                        number=len(files),
                        path=path,
                        size=entry.size,
                        mtime_ns=entry.mtime_ns,
                        rows=metadata.num_rows,
                    )
                )
    return files, _unified(schemas)


def _footer(path: str) -> tuple[Entry, pq.FileMetaData]:
    """Return a file as it is now, and its footer."""
    folder, name = open_storage(parent_of(path)), name_of(path)
    entry = folder.stat(name)
    if entry is None:
        raise SourceDriftError(
            "input/drift",
            "an input file is gone",
            where=Where(file=path),
            remedy="Nothing was published. Run the same command again.",
        )
    try:
        with folder.open_input(name) as stream:
            return entry, pq.ParquetFile(stream).metadata
    except (OSError, pa.ArrowException) as error:
        raise CorruptFileError(
            "input/corrupt-file",
            f"an input file cannot be read: {error}",
            where=Where(file=path),
            remedy="Restore the file, or take it out of the source.",
        ) from error


def _unified(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return one schema for all files."""
    found = unify(schemas)
    for conflict in found.conflicts:
        raise CorruptFileError(
            "input/schema-conflict",
            f"column '{conflict.column}' is {conflict.left} in some files and {conflict.right}"
            " in others",
            remedy="Cast it in a transform, or load the files apart.",
        )
    return found.schema


def _columns(work: Run, load: Load, plan: LoadPlan, found: pa.Schema) -> pa.Schema:
    """Return the table's columns after the load."""
    rule, location = work.plan.target.key_rule, work.storage.location
    current = None if load.table is None else load.table.schema
    if plan.operation is WriteOperation.DELETE and current is not None:
        check_holds(found, _taken_by(rule), table=location)
        return current
    check_holds(found, [field.name for field in rule.partition], table=location)
    for fault in key_faults(rule, found):
        raise PlanError(
            fault.condition, fault.message, where=Where(table=location), remedy=fault.remedy
        )
    return evolved(current, found, plan.evolution, table=location)


def _taken_by(rule: KeyRule) -> list[str]:
    """Return the columns that a delete takes rows by."""
    if rule.is_automatic:
        return [MetaField.RECORD_KEY.value]
    partition = [f.name for f in rule.partition] if rule.scope is KeyScope.PARTITION else []
    return [*rule.record_key, *(name for name in partition if name not in rule.record_key)]


def _job(work: Run, transaction: Transaction, load: Load, schema: pa.Schema, rows: int) -> LoadJob:
    """Return what tasks are told."""
    target, intent = work.plan.target, transaction.intent
    rule = target.key_rule
    by_partition = rule.scope is KeyScope.PARTITION and bool(rule.partition)
    merge = _merge_rule(work, load)
    avro = avro_schema(schema, table=table_names(target.name)[1])
    table = load.table
    slices = SliceTable.of(
        work.storage,
        table.timeline if table else Timeline(instants=()),
        schema,
        in_folders=[field.name for field in rule.partition],
        rule=merge,
    )
    return LoadJob(
        table=work.storage.location,
        attempts=intent.staging.attempts,
        folder=intent.staging.segments,
        fence=intent.staging.begin,
        instant=intent.requested_time,
        operation=load_plan(work).operation.value,
        rule=rule.as_json(),
        schema=encode_schema(schema),
        avro_schema=json.dumps(with_meta_columns(avro)),
        ordering=merge.ordering,
        bloom=asdict(target.bloom),
        slices=asdict(slices),
        buckets=0 if by_partition else max(1, -(-rows // _BUCKET_ROWS)),
        bits=bucket_bits(rows),
        view=address_fields(work.views.address(table)) if table else None,
    )


def _merge_rule(work: Run, load: Load) -> MergeRule:
    """Return which version of a record stays: as the table says, or as the spec where it begins."""
    if load.table is not None:
        return MergeRule.of(load.table.properties)
    ordering = work.plan.target.ordering
    return MergeRule(ordering=ordering[0] if ordering else None)
