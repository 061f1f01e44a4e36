"""Faults of a predicate that can be found without Spark and without data."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from framework.spec.document.findings import nearest
from framework.spec.sql.expressions import Scanned
from framework.spec.sql.spark_types import INTEGER_BITS, TypeTextError, normal_type

__all__ = [
    "META_COLUMNS",
    "PredicateFault",
    "aggregate_faults",
    "column_of",
    "compared_type",
    "literal_faults",
    "reads_as",
    "row_faults",
    "text_faults",
    "unknown_columns",
]


_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_HEX_FLOAT = re.compile(r"[+-]?0[xX][0-9a-fA-F.]+[pP][+-]?[0-9]+[dDfF]?")
_NOT_FINITE = re.compile(r"nan|[+-]?inf(?:inity)?", re.IGNORECASE)
_BOOLEANS = ("t", "true", "y", "yes", "1", "f", "false", "n", "no", "0")
_DATE = re.compile(r"[+-]?([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[T ].*)?)?)?", re.DOTALL)
_TIME = re.compile(r"T?[0-9]{1,2}:[0-9]{1,2}.*", re.DOTALL)
_DATES = ("date", "timestamp", "timestamp_ntz")
_DATE_WORDS = re.compile(r"(?:epoch|now|today|tomorrow|yesterday)\b.*", re.IGNORECASE | re.DOTALL)
_DECIMAL = re.compile(r"decimal\(([0-9]+),([0-9]+)\)")
_CYCLE = 400
_MONTHS = 12

_MAX_DIGITS = 20
META_COLUMNS = (
    *("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key"),
    *("_hoodie_partition_path", "_hoodie_file_name"),
)
"""The columns that Hudi adds to each table."""
_QUALIFIER = "this"
_SHOWN = 60


def reads_as(text: str, kind: str) -> bool:
    """Return whether the text may be a value of the type, which is normalized.

    Any text is a value of a type that is neither a number, a boolean nor a time.
    """
    text = text.strip()
    if kind in INTEGER_BITS:
        bits = INTEGER_BITS[kind]
        return bool(_WHOLE.fullmatch(text)) and _is_within(text, bits)
    if kind in ("float", "double"):
        return _is_float(text)
    if kind == "boolean":
        return text.lower() in _BOOLEANS
    if kind in _DATES:
        return _is_date(text) or (kind != "date" and bool(_TIME.fullmatch(text)))
    decimal = _DECIMAL.fullmatch(kind)
    return decimal is None or _fits(text, int(decimal.group(1)) - int(decimal.group(2)))


def compared_type(kind: str) -> str:
    """Return the type of a text compared with a column of the type, where Spark widens both."""
    if kind in INTEGER_BITS:
        return "bigint"
    return "double" if kind.startswith("decimal") or kind == "float" else kind


def _is_within(text: str, bits: int) -> bool:
    """Return whether the whole number fits into the bits; counts digits first."""
    digits = text.lstrip("+-").lstrip("0")
    return len(digits) < _MAX_DIGITS and -(2**bits) <= int(text) < 2**bits


def _is_float(text: str) -> bool:
    """Return whether Java parses the text as a floating-point number."""
    plain = text[:-1] if text[-1:] in "dDfF" and text[-2:-1].isdigit() else text
    patterns = ((_NUMBER, plain), (_HEX_FLOAT, text), (_NOT_FINITE, text))
    return any(pattern.fullmatch(each) for pattern, each in patterns)


def _fits(text: str, digits: int) -> bool:
    """Return whether the number has at most this number of digits before its point."""
    if not _NUMBER.fullmatch(text):
        return False
    try:
        number = Decimal(text)
    except InvalidOperation:
        return False
    return number == 0 or number.adjusted() < max(digits, 0) or digits <= 0


def _is_date(text: str) -> bool:
    """Return whether the text starts with an existing day, or is a word for one."""
    found = _DATE.fullmatch(text)
    if found is None:
        return bool(_DATE_WORDS.fullmatch(text))
    year, month, day = (int(part) if part else 1 for part in found.groups())
    return 1 <= month <= _MONTHS and 1 <= day <= monthrange(year % _CYCLE + _CYCLE, month)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateFault:
    """One fault; `rule` has no `spec/` prefix, `offset` and `length` count characters."""

    rule: str
    message: str
    offset: int = 0
    length: int = 1
    suggestion: str | None = None


def row_faults(scanned: Scanned) -> Iterator[PredicateFault]:
    """Yield what is not allowed in a row predicate, and a predicate independent of the row."""
    for call in scanned.aggregates:
        yield PredicateFault(
            rule="not-a-row-predicate",
            offset=call.offset,
            length=len(call.name),
            message=f"`{call.name}` aggregates many rows, but `expect` judges each row",
            suggestion="expect_aggregate",
        )
    for what, length, offsets in (
        ("a query", 1, scanned.subqueries),
        ("a window", 4, scanned.windows),
    ):
        for offset in offsets:
            message = f"{what} reads other rows, but `expect` judges each row by itself"
            yield PredicateFault(
                rule="not-a-row-predicate",
                offset=offset,
                length=length,
                message=message,
                suggestion="query",
            )
    if scanned.is_constant and not scanned.aggregates and not scanned.null_comparisons:
        message = "the predicate names no column, so it is the same for every row"
        yield PredicateFault(rule="vacuous-check", message=message)


def aggregate_faults(scanned: Scanned) -> Iterator[PredicateFault]:
    """Yield the fault of an aggregate predicate without an aggregate."""
    if not scanned.may_aggregate:
        message = "it has no aggregate function, such as count, sum or max"
        yield PredicateFault(rule="no-aggregate", message=message, suggestion="expect")


def literal_faults(scanned: Scanned, expression: str) -> Iterator[PredicateFault]:
    """Yield comparisons with NULL, and texts that are not valid for the type they are cast to."""
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
            continue  # Spark has types that tables do not have
        if not reads_as(cast.text, kind):
            message = f"Spark fails here: '{cast.text[:_SHOWN]}' is not a valid {kind}"
            yield PredicateFault(
                rule="bad-literal", offset=cast.offset, length=cast.length, message=message
            )


def unknown_columns(
    scanned: Scanned, known: Mapping[str, str], known_as: str
) -> Iterator[PredicateFault]:
    """Yield columns that are not among the known ones, given by lower-case name.

    `known_as` describes the known ones, such as "the table's columns".
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
    """Yield texts compared with a column that are not valid for its type.

    `types` are normalized types by lower-case column name.
    """
    for found in scanned.text_comparisons:
        kind = types.get(column_of(found.names).lower())
        if kind is None or len(found.names) > 1 or reads_as(found.text, compared_type(kind)):
            continue
        yield PredicateFault(
            rule="bad-literal",
            offset=found.offset,
            length=found.length,
            message=f"`{found.names[0]}` is {kind}, and '{found.text[:_SHOWN]}' is not",
        )


def column_of(names: tuple[str, ...]) -> str:
    """Return the column that a reference names; further names are fields of it."""
    qualified = len(names) > 1 and names[0].lower() == _QUALIFIER
    return names[1] if qualified else names[0]
