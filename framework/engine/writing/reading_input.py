"""The stage that pins the input: its files with their rows, and the columns the table gets."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from framework.engine.audit.spill import bucket_bits
from framework.engine.course import PinnedInput
from framework.engine.reading.slice_rows import SliceTable
from framework.engine.views import address_fields
from framework.engine.writing.assigning import Sizing
from framework.engine.writing.groups import WriteSettings
from framework.engine.writing.input_columns import input_columns, merge_rule
from framework.engine.writing.input_footers import input_footers
from framework.engine.writing.job import LoadJob
from framework.engine.writing.load import load_of, load_plan
from framework.errors import NotYetBuiltError
from framework.hudi.bootstrap.source_schema import encode_schema
from framework.hudi.table.layout import join
from framework.hudi.table.properties import table_names
from framework.hudi.table.schema import avro_schema, with_meta_columns
from framework.hudi.timeline.timeline import Timeline
from framework.plan.words import count_text
from framework.vocabulary import (
    KeyScope,
    TableType,
    WriteOperation,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from framework.engine.course import Course, InputReader, Run
    from framework.engine.writing.load import Load
    from framework.hudi.commit.intent import Transaction
    from framework.plan.load import LoadPlan

__all__ = ["read_input"]

_BUCKET_ROWS = 4_000_000


def read_input(work: Run, course: Course) -> Course:
    """Pin the input to files, read their footers, and decide the table's columns.

    Raises:
        PlanError: see `input_columns`.
        NotYetBuiltError: `input/needs-spark`; the input is no plain Parquet and there is no reader.
        SourceDriftError, CorruptFileError: an input file is gone or cannot be read.
    """
    transaction, load = load_of(course)
    plan = load_plan(work)
    pinned = _pinned(transaction, plan, work.reader)
    footers = input_footers(pinned.paths)
    files = footers.files
    columns = input_columns(work.plan.target, load.table, plan, (pinned, footers))
    rows, size = sum(each.rows for each in files), sum(each.size for each in files)
    load = replace(
        load,
        files=files,
        found=columns.found,
        schema=columns.schema,
        job=_job(work, transaction, load, columns.schema, rows),
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


def _job(work: Run, transaction: Transaction, load: Load, schema: pa.Schema, rows: int) -> LoadJob:
    """Return what tasks are told."""
    target, intent = work.plan.target, transaction.intent
    rule = target.key_rule
    by_partition = rule.scope is KeyScope.PARTITION and bool(rule.partition)
    merge = merge_rule(target, load.table)
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
