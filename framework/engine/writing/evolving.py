"""Which columns the table has after a load, and whether the input may go into it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from framework.errors import PlanError, Where
from framework.hudi.table.layout import META_COLUMNS
from framework.hudi.table.schema import check_schema, full_record_schema, unify
from framework.vocabulary import SchemaEvolution

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["check_holds", "evolved"]

_RESERVED: Final = "_hoodie_"


def evolved(
    current: pa.Schema | None, found: pa.Schema, policy: SchemaEvolution, *, table: str
) -> pa.Schema:
    """Return the table's columns after a load, without meta columns.

    Columns of the table keep their order, new ones follow. A column may come in a narrower type
    than the table's.

    Args:
        current: columns of the table, None where the load makes it.
        found: columns of the input; Hudi's five meta columns are left aside.
        policy: how far the table's schema follows.
        table: the table's location, for errors.

    Raises:
        PlanError: `input/schema-differs` with everything that does not fit, `input/no-columns` or
            `input/reserved-column`; for types that no reader could use, what `check_schema` says.
    """
    schema = pa.schema([field for field in found if field.name not in META_COLUMNS])
    _check_names(schema, table)
    for issue in check_schema(schema):
        raise PlanError(
            issue.condition, issue.message, where=Where(table=table), remedy=issue.remedy
        )
    readable = full_record_schema(schema)
    if current is None:
        return pa.schema([field.with_nullable(True) for field in readable])
    faults = list(_faults(_Meeting(current=current, found=readable, policy=policy)))
    if faults:
        raise _differs(faults, table)
    return unify([current, readable]).schema


def _check_names(schema: pa.Schema, table: str) -> None:
    """Raise where the input has no columns, or one that Hudi gives a meaning of its own."""
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
                f"column '{name}' has a name of Hudi's own",
                where=Where(table=table),
                remedy="Leave it out by a transform; rows are deleted by `operation: delete`.",
            )


def check_holds(found: pa.Schema, names: Sequence[str], *, table: str) -> None:
    """Raise unless the input has the columns that a delete takes rows by.

    Raises:
        PlanError: `input/schema-differs`.
    """
    missing = [f"column '{name}' is missing" for name in names if name not in found.names]
    if missing:
        raise _differs(missing, table)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meeting:
    """The table's columns, those of the input, and how far the first follow the second."""

    current: pa.Schema
    found: pa.Schema
    policy: SchemaEvolution


def _faults(meeting: _Meeting) -> Iterator[str]:
    """Yield everything that does not fit."""
    current, found = meeting.current, meeting.found
    for name in current.names:
        if name not in found.names:
            yield f"column '{name}' is missing"
        else:
            yield from _type_faults(current.field(name), found.field(name), meeting.policy)
    if meeting.policy is SchemaEvolution.FREEZE:
        for name in found.names:
            if name not in current.names:
                yield f"column '{name}' is new, which `schema_evolution: freeze` refuses"


def _type_faults(current: pa.Field, found: pa.Field, policy: SchemaEvolution) -> Iterator[str]:
    """Yield what speaks against one column's type."""
    union = unify([pa.schema([current]), pa.schema([found])])
    if union.conflicts:
        yield f"column '{current.name}' is {found.type}, in the table {current.type}"
    elif union.schema.field(0).type != current.type and policy is not SchemaEvolution.WIDEN:
        yield (
            f"column '{current.name}' is {found.type}, which is wider than the table's"
            f" {current.type}; `schema_evolution: widen` allows it"
        )


def _differs(faults: Sequence[str], table: str) -> PlanError:
    """Return the error for an input that does not fit the table."""
    return PlanError(
        "input/schema-differs",
        f"the input does not fit the table: {'; '.join(faults)}",
        where=Where(table=table),
        remedy="Select and cast the columns in a transform, or set `write.schema_evolution`.",
    )
