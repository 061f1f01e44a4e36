"""Whether Spark, in its ANSI mode, casts a text to a type: `CAST('abc' AS INT)` fails there.

What cannot be seen at a glance, such as the hour of a timestamp, counts as fitting.
"""

from __future__ import annotations

import re
from calendar import monthrange
from decimal import Decimal, InvalidOperation

from framework.spec.sql.spark_types import INTEGER_BITS

__all__ = ["compared_type", "reads_as"]

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


def reads_as(text: str, kind: str) -> bool:
    """Whether the text may be a value of the type, which is in its normal text.

    Every text is one of a type that is neither a number, a boolean nor a time.
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
    """The type that a text becomes beside a column of the type, where Spark widens both."""
    if kind in INTEGER_BITS:
        return "bigint"
    return "double" if kind.startswith("decimal") or kind == "float" else kind


def _is_within(text: str, bits: int) -> bool:
    """Whether the whole number has no more bits; digits are counted first."""
    digits = text.lstrip("+-").lstrip("0")
    return len(digits) < _MAX_DIGITS and -(2**bits) <= int(text) < 2**bits


_MAX_DIGITS = 20


def _is_float(text: str) -> bool:
    """Whether Java reads the text as a floating-point number."""
    plain = text[:-1] if text[-1:] in "dDfF" and text[-2:-1].isdigit() else text
    patterns = ((_NUMBER, plain), (_HEX_FLOAT, text), (_NOT_FINITE, text))
    return any(pattern.fullmatch(each) for pattern, each in patterns)


def _fits(text: str, digits: int) -> bool:
    """Whether the number has at most so many digits before its point."""
    if not _NUMBER.fullmatch(text):
        return False
    try:
        number = Decimal(text)
    except InvalidOperation:
        return False
    return number == 0 or number.adjusted() < max(digits, 0) or digits <= 0


def _is_date(text: str) -> bool:
    """Whether the text begins with a day that there is, or is a word for one."""
    found = _DATE.fullmatch(text)
    if found is None:
        return bool(_DATE_WORDS.fullmatch(text))
    year, month, day = (int(part) if part else 1 for part in found.groups())
    return 1 <= month <= _MONTHS and 1 <= day <= monthrange(year % _CYCLE + _CYCLE, month)[1]
