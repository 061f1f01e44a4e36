"""The stage that pins the input: its files with their rows, and the columns the table gets."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from framework.engine.audit.spill import bucket_bits
from framework.engine.course import PinnedInput
from framework.engine.reading.slice_rows import SliceTable
from framework.engine.views import address_fields
from framework.engine.writing.assigning import Sizing
from framework.engine.writing.evolving import (
    Following,
    InputSchema,
    check_holds,
    evolved,
    narrowed,
    united,
)
from framework.engine.writing.groups import WriteSettings
from framework.engine.writing.input_footers import InputFooters, input_footers
from framework.engine.writing.job import LoadJob
from framework.engine.writing.load import load_of, load_plan
from framework.errors import NotYetBuiltError, PlanError, Where
from framework.hudi.bootstrap.source_schema import encode_schema, partition_type
from framework.hudi.filegroup.merge_rule import MergeRule
from framework.hudi.keygen.rule import key_faults
from framework.hudi.table.layout import MetaField, join
from framework.hudi.table.properties import table_names
from framework.hudi.table.schema import avro_schema, with_absent_fields, with_meta_columns
from framework.hudi.timeline.timeline import Timeline
from framework.plan.words import count_text
from framework.vocabulary import (
    KeyScope,
    MissingColumns,
    SchemaEvolution,
    TableType,
    WriteOperation,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.engine.course import Course, InputReader, Run
    from framework.engine.writing.load import Load
    from framework.hudi.commit.intent import Transaction
    from framework.hudi.keygen.rule import KeyFault, KeyRule
    from framework.plan.load import LoadPlan

__all__ = ["read_input"]

_BUCKET_ROWS = 4_000_000


def read_input(work: Run, course: Course) -> Course:
    """Pin the input to files, read their footers, and decide the table's columns.

    Raises:
        PlanError: see `evolved` and `check_holds`.
        NotYetBuiltError: `input/needs-spark`; the input is no plain Parquet and there is no reader.
        SourceDriftError, CorruptFileError: an input file is gone or cannot be read.
    """
    transaction, load = load_of(course)
    plan = load_plan(work)
    pinned = _pinned(transaction, plan, work.reader)
    footers = input_footers(pinned.paths)
    footers.united()  # refuses files that no table can hold together
    files, inputs = footers.files, _inputs(plan, pinned, footers)
    schema = _columns(work, load, plan, inputs)
    rows, size = sum(each.rows for each in files), sum(each.size for each in files)
    load = replace(
        load,
        files=files,
        found=_found(load, plan, inputs),
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


def _inputs(plan: LoadPlan, pinned: PinnedInput, footers: InputFooters) -> tuple[InputSchema, ...]:
    """Return the columns of the pinned files."""
    if pinned.schema is not None:
        return (InputSchema(number=0, schema=pinned.schema),)
    hidden = plan.request.hidden if plan.request and plan.releases is not None else ()
    return tuple(
        replace(each, schema=pa.schema([f for f in each.schema if f.name not in hidden]))
        for each in footers.schemas
    )


def _found(load: Load, plan: LoadPlan, inputs: Sequence[InputSchema]) -> pa.Schema:
    """Return the columns that rows are checked by: the files', and what they lack, null there."""
    found = united(inputs)
    if load.table is None or plan.operation is WriteOperation.DELETE:
        return found
    return with_absent_fields(found, load.table.schema)


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


def _columns(work: Run, load: Load, plan: LoadPlan, inputs: Sequence[InputSchema]) -> pa.Schema:
    """Return the table's columns after the load."""
    rule, location = work.plan.target.key_rule, work.storage.location
    current = None if load.table is None else load.table.schema
    if plan.operation is WriteOperation.DELETE and current is not None:
        check_holds(inputs, _taken_by(rule), table=location)
        return current
    partition = [field.name for field in rule.partition]
    check_holds(inputs, partition, table=location)
    inputs = narrowed(inputs, _kinds(rule, current, plan.evolution))
    _check_keys(rule, current, inputs, table=location)
    ordering = _merge_rule(work, load).ordering
    following = Following(
        evolution=plan.evolution,
        missing=MissingColumns.SET_NULL if _adds_rows_set_aside(plan) else plan.missing,
        needed=frozenset({*rule.record_key, *partition, *([ordering] if ordering else [])}),
    )
    return evolved(current, inputs, following, table=location)


def _kinds(
    rule: KeyRule, current: pa.Schema | None, evolution: SchemaEvolution
) -> dict[str, pa.DataType]:
    """Return the types that key and partition columns keep, by name.

    A partition column has at most its declared type. Under `widen` columns grow up to that, and key
    columns as others do.
    """
    declared = {field.name: partition_type(field.type) for field in rule.partition}
    if current is None or evolution is SchemaEvolution.WIDEN:
        return declared
    names = [name for name in (*rule.record_key, *declared) if name in current.names]
    return declared | {name: current.field(name).type for name in names}


def _check_keys(
    rule: KeyRule, current: pa.Schema | None, inputs: Sequence[InputSchema], *, table: str
) -> None:
    """Raise where key and partition columns are none that values can be taken by.

    What the table has in the declared type cannot be declared otherwise: it needs a cast.
    """
    for fault in key_faults(rule, united(inputs)):
        remedy = fault.remedy
        if fault.condition == "partition/type-differs" and not _has_fault(rule, current, fault):
            remedy = _cast(rule, fault.column)
        places = [each.file for each in inputs if fault in key_faults(rule, each.schema)]
        raise PlanError(
            fault.condition,
            fault.message,
            where=Where(table=table, file=next(iter(places), None)),
            remedy=remedy,
        )


def _has_fault(rule: KeyRule, current: pa.Schema | None, fault: KeyFault) -> bool:
    """Whether the table has a fault too, or is not there: then its declaration can change."""
    there = () if current is None else key_faults(rule, current)
    return current is None or (fault.condition, fault.column) in {
        (each.condition, each.column) for each in there
    }


def _cast(rule: KeyRule, column: str) -> str:
    """Return the remedy for files that have a partition column in another type than the table."""
    kind = next(str(field.type) for field in rule.partition if field.name == column)
    return (
        f"Cast it in a transform, which Spark runs: `CAST({column} AS {kind}) AS {column}`. Without"
        " `spark.sql.ansi.enabled`, Spark 4's default, values that do not fit become null."
    )


def _adds_rows_set_aside(plan: LoadPlan) -> bool:
    """Whether rows set aside are added, and replace none: columns that came since are null."""
    return plan.releases is not None and plan.operation in _ADDING


_ADDING: Final = frozenset({WriteOperation.INSERT, WriteOperation.BULK_INSERT})


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
