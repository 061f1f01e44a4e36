"""The step that pins the input: its files with their rows, and the columns the table gets."""

from __future__ import annotations

import json

import pyarrow as pa

from framework.engine.audit.spill import bucket_bits
from framework.engine.load.begin import load_plan
from framework.engine.load.input_columns import input_columns, input_footers, merge_rule
from framework.engine.load.job import BUCKET_ROWS, LoadJob, Opened, Pinned
from framework.engine.reading.slice_rows import SliceTable
from framework.engine.run.state import InputReader, PinnedInput, RunContext, RunState
from framework.errors import NotYetBuiltError
from framework.hudi.bootstrap.source_schema import encode_schema
from framework.hudi.commit.intent import Transaction
from framework.hudi.table.layout import join
from framework.hudi.table.properties import table_names
from framework.hudi.table.schema import avro_schema, with_meta_columns
from framework.hudi.timeline.timeline import Timeline
from framework.plan.stages import ReadInput
from framework.plan.words import count_text
from framework.vocabulary import KeyScope

__all__ = ["read_input"]


def read_input(run: RunState, opened: Opened, stage: ReadInput) -> Pinned:
    """Pin the input to files, read their footers, and decide the table's columns.

    Raises:
        PlanError: see `input_columns`.
        NotYetBuiltError: `input/needs-spark`; the input is not plain Parquet, and no reader given.
        SourceDriftError, CorruptFileError: an input file is missing or cannot be read.
    """
    ctx, plan = run.ctx, load_plan(run.ctx)
    with run.stage(stage) as report:
        pinned = _pinned(opened.transaction, stage, ctx.reader)
        footers = input_footers(pinned.paths)
        files = footers.files
        columns = input_columns(ctx.plan.target, opened.table, plan, (pinned, footers))
        rows, size = sum(each.rows for each in files), sum(each.size for each in files)
        report.summary = f"{count_text(len(files), 'file')}, {count_text(rows, 'row')}"
        return Pinned(
            files=files,
            found=columns.found,
            schema=columns.schema,
            job=_job(ctx, opened, columns.schema, rows),
            rows=rows,
            row_bytes=max(size / rows, 1.0) if rows else 1.0,
        )


def _pinned(transaction: Transaction, stage: ReadInput, reader: InputReader | None) -> PinnedInput:
    """Return the files that hold the input's rows."""
    request = stage.request
    if not stage.copies and request.files is not None:
        return PinnedInput(paths=request.files)
    if reader is None:
        raise NotYetBuiltError(
            "input/needs-spark",
            f"reading a source in {request.format} needs Spark",
            remedy="Run it with a Spark session.",
        )
    storage = transaction.storage
    folder = join(transaction.intent.staging.root, "input")
    return reader.stage(request, f"{storage.location}/{folder}")


def _job(ctx: RunContext, opened: Opened, schema: pa.Schema, rows: int) -> LoadJob:
    """Return the job of the tasks."""
    target, intent = ctx.plan.target, opened.intent
    rule, table = target.key_rule, opened.table
    by_partition = rule.scope is KeyScope.PARTITION and bool(rule.partition)
    merge = merge_rule(target, table)
    avro = avro_schema(schema, table=table_names(target.name)[1])
    slices = SliceTable.of(
        ctx.storage,
        table.timeline if table else Timeline(instants=()),
        schema,
        in_folders=[field.name for field in rule.partition],
        rule=merge,
    )
    return LoadJob(
        table=ctx.storage.location,
        attempts=intent.staging.attempts,
        folder=intent.staging.segments,
        fence=intent.staging.begin,
        instant=intent.requested_time,
        operation=load_plan(ctx).operation,
        rule=rule,
        schema=encode_schema(schema),
        avro_schema=json.dumps(with_meta_columns(avro)),
        ordering=merge.ordering,
        bloom=target.bloom,
        slices=slices,
        buckets=0 if by_partition else max(1, -(-rows // BUCKET_ROWS)),
        bits=bucket_bits(rows),
        view=ctx.views.address(table) if table else None,
    )
