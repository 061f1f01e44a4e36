"""The columns of a table after a load, and whether the input fits them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from framework.errors import PlanError, Where
from framework.hudi.table.layout import META_COLUMNS
from framework.hudi.table.schema import (
    Difference,
    DifferenceKind,
    absent_fields,
    check_schema,
    differences,
    full_record_schema,
    unify,
)
from framework.vocabulary import MissingColumns, SchemaEvolution

__all__ = ["Following", "InputSchema", "check_holds", "evolved", "narrowed", "united"]

_RESERVED: Final = "_hoodie_"
_CASTS: Final = "Cast the column in a transform."
_WRITES: Final = "Write such columns into every file of the source."
_SETS_NULL: Final = (
    "Write the missing columns into every file of the source, or set"
    " `write.missing_columns: set_null`: it writes null for them, also into rows that had a value."
)
_ADDS: Final = "Set `write.schema_evolution: add_columns`, or exclude them in a transform."
_WIDENS: Final = "Set `write.schema_evolution: widen`, or cast the columns in a transform."


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSchema:
    """Columns of an input file, and of those after it up to the next `InputSchema`.

    Attributes:
        number: the same for files with the same columns.
        schema: Hudi's five meta columns are ignored.
        file: path of the file; None for rows that come from no file of the user.
    """

    number: int
    schema: pa.Schema
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """How far a table's schema follows, and how columns that a file lacks are treated.

    Attributes:
        evolution: whether columns are added, and types grow.
        missing: whether columns may be missing.
        needed: columns that no file may ever lack: those of keys, partitions and ordering.
    """

    evolution: SchemaEvolution = SchemaEvolution.FREEZE
    missing: MissingColumns = MissingColumns.REFUSE
    needed: frozenset[str] = frozenset()


def evolved(
    current: pa.Schema | None,
    inputs: Sequence[InputSchema],
    following: Following,
    *,
    table: str,
) -> pa.Schema:
    """Return the table's columns after a load, without meta columns.

    Columns of the table keep their order, new ones follow. A column may have a narrower type than
    the table's. Files count as loaded one after the other: a column is missing from a file if the
    table or an earlier file has it.

    Args:
        current: columns of the table; None if the load creates it.
        inputs: columns of the input files, in the order of the files; not empty.
        following: how far the table's schema follows.
        table: the table's location, for errors.

    Raises:
        PlanError: `input/schema-differs` with everything that does not fit, `input/no-columns` or
            `input/reserved-column`; for types that no reader could use, see `check_schema`.
    """
    schema = _data_columns(united(inputs))
    _check_names(schema, table)
    for issue in check_schema(schema):
        raise PlanError(
            issue.condition, issue.message, where=Where(table=table), remedy=issue.remedy
        )
    found = full_record_schema(schema)
    faults = [*_missing(current, inputs, following)]
    if current is not None:
        faults += filter(
            None, (_fault(e, following.evolution) for e in differences(current, found))
        )
    if faults:
        raise _differs(faults, table)
    if current is None:
        return pa.schema([field.with_nullable(True) for field in found])
    return unify([current, found]).schema


def united(inputs: Sequence[InputSchema]) -> pa.Schema:
    """Return one schema that all input files fit into."""
    return unify({each.number: each.schema for each in inputs}.values()).schema


def narrowed(
    inputs: Sequence[InputSchema], kinds: Mapping[str, pa.DataType]
) -> tuple[InputSchema, ...]:
    """Return the inputs with some top-level columns in narrower types.

    Values are then checked against the narrower type. Only integers and decimals are narrowed: a
    value either is the same in both types or does not fit. Columns of other types, and narrower
    ones, stay as they are.

    Args:
        inputs: columns of the input files.
        kinds: the types to read columns in, by name.
    """
    return tuple(
        replace(each, schema=pa.schema([_narrowed(field, kinds) for field in each.schema]))
        for each in inputs
    )


def _narrowed(field: pa.Field, kinds: Mapping[str, pa.DataType]) -> pa.Field:
    """Return a column in its narrower type, if it has one."""
    kind = kinds.get(field.name)
    if kind is None or not any(check(kind) for check in _NARROWED):
        return field
    wider = next(differences(pa.schema([(field.name, kind)]), pa.schema([field])), None)
    is_wider = wider is not None and wider.kind is DifferenceKind.WIDER
    return field.with_type(kind) if is_wider else field


_NARROWED: Final = (pa.types.is_signed_integer, pa.types.is_decimal128)


def _data_columns(schema: pa.Schema) -> pa.Schema:
    """Return a schema without Hudi's meta columns."""
    return pa.schema([field for field in schema if field.name not in META_COLUMNS])


def _check_names(schema: pa.Schema, table: str) -> None:
    """Raise if the input has no columns, or one with a name that Hudi reserves."""
    if not schema.names:
        raise PlanError(
            "input/no-columns",
            "the input has no columns",
            where=Where(table=table),
            remedy="Correct `source.path`, or select columns in a transform.",
        )
    for name in schema.names:
        if name.lower().startswith(_RESERVED):
            raise PlanError(
                "input/reserved-column",
                f"column '{name}' has a name that Hudi reserves",
                where=Where(table=table),
                remedy="Exclude it in a transform; to delete rows, use `operation: delete`.",
            )


def check_holds(inputs: Iterable[InputSchema], names: Sequence[str], *, table: str) -> None:
    """Raise unless every input file has some top-level columns.

    Raises:
        PlanError: `input/schema-differs`.
    """
    faults = [
        _Fault(message=f"column '{name}' is missing", remedy=_WRITES, file=each.file)
        for each in inputs
        for name in names
        if name not in each.schema.names
    ]
    if faults:
        raise _differs(faults, table)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    """A mismatch, its remedy, and the first file that has it."""

    message: str
    remedy: str
    file: str | None = None


def _missing(
    current: pa.Schema | None, inputs: Sequence[InputSchema], following: Following
) -> Iterator[_Fault]:
    """Yield the columns and fields that files lack, each once, with the first file."""
    known = pa.schema([]) if current is None else current
    checked: set[int] = set()
    named: set[str] = set()
    for each in inputs:
        if each.number in checked:
            continue
        found = _data_columns(each.schema)
        for path, field in absent_fields(known, found):
            fault = _absence(path, field, following, each.file)
            if fault and path not in named:
                named.add(path)
                yield fault
        grown = unify([known, _nullable(found)]).schema
        checked = {*checked, each.number} if grown == known else {each.number}
        known = grown


def _nullable(schema: pa.Schema) -> pa.Schema:
    """Return the columns as the table gets them, all nullable."""
    return pa.schema([field.with_nullable(True) for field in schema])


def _absence(path: str, field: pa.Field, following: Following, file: str | None) -> _Fault | None:
    """Return the fault of a file without a column or field; None if that may be null."""
    if path in following.needed:
        return _Fault(message=f"column '{path}' is missing", remedy=_WRITES, file=file)
    if following.missing is MissingColumns.REFUSE:
        return _Fault(message=f"column '{path}' is missing", remedy=_SETS_NULL, file=file)
    if field.nullable or following.evolution is SchemaEvolution.WIDEN:
        return None
    message = f"column '{path}' is missing, but may not be null in the table"
    return _Fault(message=message, remedy=_WRITES, file=file)


def _fault(difference: Difference, policy: SchemaEvolution) -> _Fault | None:
    """Return the fault of a difference between table and input; None if it is allowed."""
    path, found, current = difference.path, difference.found, difference.current
    if difference.kind is DifferenceKind.NEW or current is None:
        message = f"column '{path}' is new, which `schema_evolution: freeze` refuses"
        return _Fault(message=message, remedy=_ADDS) if policy is SchemaEvolution.FREEZE else None
    if difference.kind is DifferenceKind.CONFLICT:
        message = f"column '{path}' is {found.type}, but {current.type} in the table"
        return _Fault(message=message, remedy=_CASTS)
    if policy is SchemaEvolution.WIDEN:
        return None
    if found.type == current.type:
        message = f"column '{path}' may be null, but not in the table"
    else:
        message = f"column '{path}' is {found.type}, which is wider than the table's {current.type}"
    return _Fault(message=message, remedy=_WIDENS)


def _differs(faults: Sequence[_Fault], table: str) -> PlanError:
    """Return the error for an input that does not fit the table; it names the first file."""
    file = next((each.file for each in faults if each.file), None)
    return PlanError(
        "input/schema-differs",
        f"the input does not fit the table: {'; '.join(each.message for each in faults)}",
        where=Where(table=table, file=file),
        remedy=" ".join(dict.fromkeys(each.remedy for each in faults)),
    )
