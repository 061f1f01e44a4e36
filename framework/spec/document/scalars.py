"""The meaning of an unquoted YAML scalar.

The YAML 1.2 core schema, but stricter where a reader could be misled: what looks like text stays
text. So `no`, `on`, `12:30`, `010`, `1_000` and `2026-10-01` are text. Only these are not:

    null     null  Null  NULL  ~  and nothing at all
    boolean  true  True  TRUE  false  False  FALSE
    integer  0  -7  +42  0o17  0xFF      (within 64 bits, no leading zero)
    float    1.5  1e3  .5  -.inf  .nan   (no leading zero)
"""

from __future__ import annotations

import math
import re

__all__ = ["ScalarValue", "core_scalar", "quoted", "scalar_text"]

ScalarValue = str | int | float | bool | None
"""The types of a parsed scalar."""

_WORDS: dict[str, bool | float | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{f"{sign}{word}": math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **{f"-{word}": -math.inf for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MAX_DIGITS = 24
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")


def core_scalar(text: str) -> ScalarValue:
    """Return the value of an unquoted scalar.

    Raises:
        OverflowError: an integer outside 64 bits, or a decimal that no float can hold.
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) or _BASED.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if math.isinf(number):
            raise OverflowError(text)
        return number
    return text


def _integer(text: str) -> int:
    """Return the integer; checks the number of digits first, to avoid converting long text."""
    if len(text) > _MAX_DIGITS:
        raise OverflowError(text)
    base = {"0x": 16, "0o": 8}.get(text[:2], 10)
    number = int(text, base)
    if not -(2**63) <= number < 2**63:
        raise OverflowError(text)
    return number


def scalar_text(value: ScalarValue) -> str:
    """Return the value as YAML writes it: `true`, `8`, `0.5`; null is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def quoted(text: str) -> str:
    """Return the text as a YAML scalar that parses as the same text, quoted only if it must be."""
    if _PLAIN.fullmatch(text) and text not in _WORDS:
        return text
    return "'" + text.replace("'", "''") + "'"
