"""Conditions on a partition's value, as in rules: `'>= 2026-10-01 and < 2027-01-01'`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from framework.spec.sections.fields import fault
from framework.vocabulary import PartitionType

__all__ = ["OPERATORS", "Comparison", "PartitionValue", "parse_comparisons"]

PartitionValue = str | int | bool | date
"""A partition's value in its declared type."""

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""The operators that may precede a value."""

_AND = re.compile(r"\s+and\s+(?=[=!<>])", re.IGNORECASE)
_OPERATOR = re.compile(r"[=!<>]+")
_INTEGER = re.compile(r"[-+]?[0-9]{1,19}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_OTHER_SPELLINGS = {"==": "=", "<>": "!=", "=>": ">=", "=<": "<="}
_BITS = {PartitionType.INT: 31, PartitionType.LONG: 63}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One typed condition on one partition column."""

    column: str
    operator: str
    value: PartitionValue

    def holds(self, value: PartitionValue | None) -> bool:
        """Return whether a partition's value meets the condition; a missing value never does."""
        return value is not None and OPERATORS[self.operator](value, self.value)


def parse_comparisons(column: str, text: str, kind: PartitionType) -> tuple[Comparison, ...]:
    """Return the conditions that the text joins by `and`; a value without operator means `=`.

    Text values compare by code point; surrounding quotes are dropped.

    Raises:
        PydanticCustomError: `bad-comparison`; an unknown operator, or a value not of the type.
    """
    return tuple(_one(column, part.strip(), kind) for part in _AND.split(text.strip()))


def _one(column: str, text: str, kind: PartitionType) -> Comparison:
    """Return the comparison of one operator and one value."""
    found = _OPERATOR.match(text)
    sign = found.group() if found else "="
    rest = text[found.end() :].strip() if found else text
    if sign not in OPERATORS:
        right = _OTHER_SPELLINGS.get(sign)
        message = f"`{sign}` is not a comparison; use one of {' '.join(OPERATORS)}"
        raise fault("bad-comparison", message, f"'{right} {rest}'" if right else None)
    if kind is PartitionType.BOOLEAN and sign not in ("=", "!="):
        raise fault("bad-comparison", "a boolean can be compared with = or != only")
    return Comparison(column=column, operator=sign, value=_value(_unquoted(rest), kind))


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _value(text: str, kind: PartitionType) -> PartitionValue:
    """Return the text in the partition's type."""
    value: PartitionValue | None
    match kind:
        case PartitionType.STRING:
            value = text or None
        case PartitionType.INT | PartitionType.LONG:
            value = _integer(text, _BITS[kind])
        case PartitionType.DATE:
            value = _date(text)
        case PartitionType.BOOLEAN:
            value = {"true": True, "false": False}.get(text)
    if value is None:
        raise fault("bad-comparison", f"`{text[:60]}` is not a valid {kind}")
    return value


def _integer(text: str, bits: int) -> int | None:
    """Return the integer, or None if it is not one that fits into `bits` bits and a sign."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**bits) <= number < 2**bits else None


def _date(text: str) -> date | None:
    """Return the date, or None if the text is not one."""
    try:
        return date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None
