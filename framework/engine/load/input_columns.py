"""The columns of a load: in its files, of its input as it is checked, and of the table after it.

The footers of the input files also have their rows and sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.engine.load import schema_evolution
from framework.engine.load.job import InputFile
from framework.engine.load.schema_evolution import InputSchema
from framework.engine.reading.table import Table
from framework.engine.run.state import PinnedInput
from framework.errors import CorruptFileError, PlanError, SourceDriftError, Where
from framework.hudi.bootstrap.source_schema import partition_type
from framework.hudi.codecs.parquet_seal import UNREADABLE
from framework.hudi.filegroup.merge import MergeRule
from framework.hudi.keygen.rule import KeyFault, KeyRule, key_faults
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Entry
from framework.hudi.table.layout import MetaField, name_of, parent_of
from framework.hudi.table.schema import parquet_schema, unify, with_absent_fields
from framework.plan.load import LoadPlan
from framework.plan.target import Target
from framework.vocabulary import KeyScope, MissingColumns, SchemaEvolution, WriteOperation

__all__ = ["InputColumns", "InputFooters", "input_columns", "input_footers", "merge_rule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputColumns:
    """The columns of a load.

    Attributes:
        found: of the input as it is checked: the files' columns, then the table's other ones,
            null in these rows.
        schema: of the table after the load, without meta columns.
    """

    found: pa.Schema
    schema: pa.Schema


def input_columns(
    target: Target, table: Table | None, plan: LoadPlan, source: tuple[PinnedInput, InputFooters]
) -> InputColumns:
    """Return the columns of a load, after comparing each input file's with the table's.

    Args:
        target: the table that the spec declares.
        table: the current table; None if the load creates it.
        plan: the load.
        source: the pinned input, and its footers.

    Raises:
        PlanError: see `evolved`, `check_holds` and `key_faults`.
        CorruptFileError: `input/schema-conflict`.
    """
    pinned, footers = source
    footers.united()  # raises for files without a common schema
    inputs = _inputs(plan, pinned, footers)
    found, rule = schema_evolution.united(inputs), target.key_rule
    if table is None or plan.operation is not WriteOperation.DELETE:
        schema = _after(target, table, plan, inputs)
        return InputColumns(found=with_absent_fields(found, schema), schema=schema)
    schema_evolution.check_holds(inputs, _taken_by(rule), table=target.location)
    return InputColumns(found=found, schema=table.schema)


def merge_rule(target: Target, table: Table | None) -> MergeRule:
    """Return which version of a record wins: by the table's rule, or the spec's for a new table."""
    if table is not None:
        return MergeRule.of(table.properties)
    return MergeRule(ordering=target.ordering[0] if target.ordering else None)


def _inputs(
    plan: LoadPlan, pinned: PinnedInput, footers: InputFooters
) -> tuple[schema_evolution.InputSchema, ...]:
    """Return the columns of the pinned files."""
    if pinned.schema is not None:
        return (schema_evolution.InputSchema(number=0, schema=pinned.schema),)
    hidden = plan.request.hidden if plan.request and plan.releases is not None else ()
    return tuple(
        replace(each, schema=pa.schema([f for f in each.schema if f.name not in hidden]))
        for each in footers.schemas
    )


def _after(
    target: Target,
    table: Table | None,
    plan: LoadPlan,
    inputs: Sequence[schema_evolution.InputSchema],
) -> pa.Schema:
    """Return the table's columns after the load."""
    rule, location = target.key_rule, target.location
    current = None if table is None else table.schema
    partition = [field.name for field in rule.partition]
    schema_evolution.check_holds(inputs, partition, table=location)
    inputs = schema_evolution.narrowed(inputs, _kinds(rule, current, plan.evolution))
    _check_keys(rule, current, inputs, table=location)
    ordering = merge_rule(target, table).ordering
    following = schema_evolution.Following(
        evolution=plan.evolution,
        missing=MissingColumns.SET_NULL if _adds_quarantined_rows(plan) else plan.missing,
        needed=frozenset({*rule.record_key, *partition, *([ordering] if ordering else [])}),
    )
    return schema_evolution.evolved(current, inputs, following, table=location)


def _kinds(
    rule: KeyRule, current: pa.Schema | None, evolution: SchemaEvolution
) -> dict[str, pa.DataType]:
    """Return the types that key and partition columns keep, by name.

    A partition column has at most its declared type. Under `widen` columns grow up to that, and
    key columns as others do.
    """
    declared = {field.name: partition_type(field.type) for field in rule.partition}
    if current is None or evolution is SchemaEvolution.WIDEN:
        return declared
    names = [name for name in (*rule.record_key, *declared) if name in current.names]
    return declared | {name: current.field(name).type for name in names}


def _check_keys(
    rule: KeyRule,
    current: pa.Schema | None,
    inputs: Sequence[schema_evolution.InputSchema],
    *,
    table: str,
) -> None:
    """Raise if values cannot be read from key and partition columns.

    A column that the table has in the declared type cannot be declared otherwise: it needs a cast.
    """
    for fault in key_faults(rule, schema_evolution.united(inputs)):
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
    """Return whether the declaration can change: the table has the fault too, or is new."""
    there = () if current is None else key_faults(rule, current)
    return current is None or (fault.condition, fault.column) in {
        (each.condition, each.column) for each in there
    }


def _cast(rule: KeyRule, column: str) -> str:
    """Return the remedy for files with a partition column of another type than the table's."""
    kind = next(str(field.type) for field in rule.partition if field.name == column)
    return (
        f"Cast it in a transform, which Spark runs: `CAST({column} AS {kind}) AS {column}`. Without"
        " `spark.sql.ansi.enabled`, Spark 4's default, values that do not fit become null."
    )


def _adds_quarantined_rows(plan: LoadPlan) -> bool:
    """Return whether quarantined rows are added and replace none: columns added since are null."""
    return plan.releases is not None and plan.operation in _ADDING


_ADDING: Final = frozenset({WriteOperation.INSERT, WriteOperation.BULK_INSERT})


def _taken_by(rule: KeyRule) -> list[str]:
    """Return the columns by which a delete selects rows."""
    if rule.is_automatic:
        return [MetaField.RECORD_KEY.value]
    partition = [f.name for f in rule.partition] if rule.scope is KeyScope.PARTITION else []
    return [*rule.record_key, *(name for name in partition if name not in rule.record_key)]


_READERS = 8
_BATCH = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFooters:
    """The files of an input.

    Attributes:
        files: in the order of the input.
        schemas: the columns of the first file, then of each file that differs from the file
            before it; empty without files.
    """

    files: tuple[InputFile, ...]
    schemas: tuple[InputSchema, ...]

    def united(self) -> pa.Schema:
        """Return one schema that all files fit into.

        Raises:
            CorruptFileError: `input/schema-conflict`.
        """
        seen = {each.number: each for each in reversed(self.schemas)}
        first = [seen[number] for number in sorted(seen)]
        found = unify([each.schema for each in first])
        for conflict in found.conflicts:
            raise CorruptFileError(
                "input/schema-conflict",
                f"column '{conflict.column}' is {conflict.right}, but {conflict.left} in"
                f" {first[conflict.left_index].file}",
                where=Where(file=first[conflict.right_index].file),
                remedy="Write it in one type, or move such files to a separate folder and load"
                " them with a transform that casts it.",
            )
        return found.schema


def input_footers(paths: Iterable[str]) -> InputFooters:
    """Read the footers of files, several at once.

    Raises:
        SourceDriftError: `input/drift`; a file is missing.
        CorruptFileError: `input/corrupt-file`.
    """
    files: list[InputFile] = []
    distinct: list[pa.Schema] = []
    schemas: list[InputSchema] = []
    with ThreadPoolExecutor(_READERS) as pool:
        rest = iter(paths)
        while some := list(islice(rest, _BATCH)):
            for path, (entry, metadata) in zip(some, pool.map(_footer, some), strict=True):
                schema = parquet_schema(metadata)
                if schema not in distinct:
                    distinct.append(schema)
                number = distinct.index(schema)
                if not schemas or schemas[-1].number != number:
                    schemas.append(InputSchema(number=number, schema=distinct[number], file=path))
                files.append(
                    InputFile(
                        number=len(files),
                        path=path,
                        size=entry.size,
                        mtime_ns=entry.mtime_ns,
                        rows=metadata.num_rows,
                    )
                )
    return InputFooters(files=tuple(files), schemas=tuple(schemas))


def _footer(path: str) -> tuple[Entry, pq.FileMetaData]:
    """Return a file's current entry, and its footer."""
    folder, name = open_storage(parent_of(path)), name_of(path)
    entry = folder.stat(name)
    if entry is None:
        raise SourceDriftError(
            "input/drift",
            "an input file is missing",
            where=Where(file=path),
            remedy="Nothing was published. Run the same command again.",
        )
    try:
        with folder.open_input(name) as stream:
            return entry, pq.ParquetFile(stream).metadata
    except UNREADABLE as error:
        raise CorruptFileError(
            "input/corrupt-file",
            f"an input file cannot be read: {error}",
            where=Where(file=path),
            remedy="Restore the file, or remove it from the source.",
        ) from error
