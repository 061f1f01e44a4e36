"""What is wrong with a predicate, of what can be known without Spark and without data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from framework.spec.document.findings import nearest
from framework.spec.sql.literals import compared_type, reads_as
from framework.spec.sql.spark_types import TypeTextError, normal_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.spec.sql.expressions import Scanned

__all__ = [
    "META_COLUMNS",
    "PredicateFault",
    "aggregate_faults",
    "column_of",
    "literal_faults",
    "row_faults",
    "text_faults",
    "unknown_columns",
]

META_COLUMNS = (
    *("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key"),
    *("_hoodie_partition_path", "_hoodie_file_name"),
)
"""The columns that Hudi adds to each table."""

_QUALIFIER = "this"
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateFault:
    """One fault; `rule` comes without `spec/`, `offset` and `length` count characters."""

    rule: str
    message: str
    offset: int = 0
    length: int = 1
    suggestion: str | None = None


def row_faults(scanned: Scanned) -> Iterator[PredicateFault]:
    """What no predicate over single rows can hold, or one that says nothing of the row."""
    for call in scanned.aggregates:
        yield PredicateFault(
            rule="not-a-row-predicate",
            offset=call.offset,
            length=len(call.name),
            message=f"`{call.name}` makes one value of many rows, and `expect` judges each row",
            suggestion="expect_aggregate",
        )
    for what, length, offsets in (
        ("a query", 1, scanned.subqueries),
        ("a window", 4, scanned.windows),
    ):
        for offset in offsets:
            message = f"{what} looks at other rows, and `expect` judges each row by itself"
            yield PredicateFault(
                rule="not-a-row-predicate",
                offset=offset,
                length=length,
                message=message,
                suggestion="query",
            )
    if scanned.is_constant and not scanned.aggregates and not scanned.null_comparisons:
        message = "the predicate names no column, so it says the same of every row"
        yield PredicateFault(rule="vacuous-check", message=message)


def aggregate_faults(scanned: Scanned) -> Iterator[PredicateFault]:
    """A predicate over all rows that has no value of all rows."""
    if not scanned.may_aggregate:
        message = "no function in it makes one value of many rows, as count, sum or max do"
        yield PredicateFault(rule="no-aggregate", message=message, suggestion="expect")


def literal_faults(scanned: Scanned, expression: str) -> Iterator[PredicateFault]:
    """Comparisons with NULL, and texts that are no value of the type that they are cast to."""
    for offset in scanned.null_comparisons:
        differs = expression[offset : offset + 2] in ("<>", "!=")
        yield PredicateFault(
            rule="vacuous-check",
            offset=offset,
            message="a comparison with NULL is never true",
            suggestion="IS NOT NULL" if differs else "IS NULL",
        )
    for cast in scanned.casts:
        try:
            kind = normal_type(cast.type)
        except TypeTextError:
            continue  # Spark knows types that tables do not have
        if not reads_as(cast.text, kind):
            message = f"Spark fails here, since '{cast.text[:_SHOWN]}' is no {kind}"
            yield PredicateFault(
                rule="bad-literal", offset=cast.offset, length=cast.length, message=message
            )


def unknown_columns(
    scanned: Scanned, known: Mapping[str, str], known_as: str
) -> Iterator[PredicateFault]:
    """Columns that are not among the known ones, which are given by name in small letters.

    `known_as` says what the known ones are, such as "the table's columns".
    """
    for reference in scanned.columns:
        name = column_of(reference.names)
        if name.lower() not in known:
            yield PredicateFault(
                rule="unknown-column",
                offset=reference.offset,
                length=reference.length,
                message=f"`{name[:_SHOWN]}` is not among {known_as}",
                suggestion=nearest(name, known.values()),
            )


def text_faults(scanned: Scanned, types: Mapping[str, str]) -> Iterator[PredicateFault]:
    """Texts that a column is compared with and that are no value of its type.

    `types` are normal texts by the columns' names in small letters.
    """
    for found in scanned.text_comparisons:
        kind = types.get(column_of(found.names).lower())
        if kind is None or len(found.names) > 1 or reads_as(found.text, compared_type(kind)):
            continue
        yield PredicateFault(
            rule="bad-literal",
            offset=found.offset,
            length=found.length,
            message=f"`{found.names[0]}` is {kind}, and '{found.text[:_SHOWN]}' is none",
        )


def column_of(names: tuple[str, ...]) -> str:
    """The column that a reference names; what follows are fields of it."""
    qualified = len(names) > 1 and names[0].lower() == _QUALIFIER
    return names[1] if qualified else names[0]
