"""Numbers with units as a spec writes them: sizes of files, and spans of time.

A size is a whole number of bytes, or text such as `120MB`; a span is whole hours or days, such as
`36h` or `7d`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictInt, WithJsonSchema

from framework.spec.document.references import LooseText
from framework.spec.sections.fields import fault

__all__ = [
    "MAX_SIZE",
    "UNITS",
    "Hours",
    "Size",
    "hours_text",
    "parse_hours",
    "parse_size",
    "size_schema",
    "size_text",
]

UNITS = {"KB": 2**10, "MB": 2**20, "GB": 2**30}
"""Bytes per unit: powers of 1024, as in Hudi's own defaults."""

MAX_SIZE = 2**40
"""Larger than any single file: a greater number has the wrong unit."""

_SIZE = re.compile(r"([0-9]{1,13}) ?(KB|MB|GB)")
_LOOSE_SIZE = re.compile(r"\s*([0-9]{1,13}(?:\.[0-9]{1,6})?)\s*(?:([kmgt])i?)?b?\s*", re.IGNORECASE)
_LETTERS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_size(value: str | int) -> int:
    """Return the size in bytes; a number is returned unchanged.

    Raises:
        PydanticCustomError: `bad-size`; the text is not a whole number and a unit.
    """
    if isinstance(value, int):
        return value
    sized = _SIZE.fullmatch(value)
    if sized is None:
        message = f"`{value[:40]}` is not a size: write bytes, or a number with KB, MB or GB"
        raise fault("bad-size", message, _likely(value))
    return int(sized.group(1)) * UNITS[sized.group(2)]


def size_text(size_bytes: int) -> str:
    """Return the size as a spec writes it, in the largest unit that gives a whole number."""
    for unit, factor in reversed(UNITS.items()):
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return str(size_bytes)


def _likely(text: str) -> str | None:
    """Return the size that another spelling means, such as `120 mb`, `1.5GB` or `120MiB`."""
    loose = _LOOSE_SIZE.fullmatch(text)
    if loose is None:
        return None
    return size_text(int(float(loose.group(1)) * _LETTERS[(loose.group(2) or "").upper()]))


def _bytes(value: object) -> object:
    """Convert text to bytes; other values are left to the number's own validation."""
    typed = value.typed() if isinstance(value, LooseText) else value
    return parse_size(typed) if isinstance(typed, str) else typed


def size_schema(least_bytes: int) -> dict[str, Any]:
    """Return the JSON Schema of a size: its form, and the bounds of plain numbers."""
    return {
        "anyOf": [
            {"type": "integer", "minimum": least_bytes, "maximum": MAX_SIZE},
            {"type": "string", "pattern": r"^[0-9]{1,13} ?(KB|MB|GB)$|\$\{"},
        ]
    }


Size = Annotated[
    StrictInt,
    Field(ge=0, le=MAX_SIZE),
    BeforeValidator(_bytes),
    WithJsonSchema(size_schema(0)),
]


_MAX_HOURS = 24 * 36_600
"""A hundred years."""

_HOURS_OF = {"h": 1, "d": 24}
_WRITTEN_SPAN = re.compile(r"([0-9]{1,6})(h|d)")
_LOOSE_SPAN = re.compile(r"\s*([0-9]{1,6})\s*(h|d)(?:ours?|ays?|r|rs)?\s*", re.IGNORECASE)
_SPAN: dict[str, Any] = {"type": "string", "pattern": r"^[0-9]{1,6}(h|d)$|\$\{"}


def parse_hours(text: str) -> int:
    """Return the whole hours of a text such as `36h` or `7d`.

    Raises:
        PydanticCustomError: `bad-duration`; the text is no whole number of hours or days.
    """
    found = _WRITTEN_SPAN.fullmatch(text)
    if found is None:
        loose = _LOOSE_SPAN.fullmatch(text)
        suggestion = f"{int(loose[1])}{loose[2].lower()}" if loose else None
        message = f"`{text[:40]}` is not a duration: write a number of hours or days, as `7d`"
        raise fault("bad-duration", message, suggestion)
    return int(found[1]) * _HOURS_OF[found[2]]


def hours_text(hours: int) -> str:
    """Return the duration as a spec writes it, in days if they are whole."""
    return f"{hours // 24}d" if hours and hours % 24 == 0 else f"{hours}h"


def _hours(value: object) -> object:
    """Convert text to hours; a bare number has no unit and is refused."""
    typed = value.typed() if isinstance(value, LooseText) else value
    if isinstance(typed, int) and not isinstance(typed, bool):
        return parse_hours(str(typed))
    return parse_hours(typed) if isinstance(typed, str) else typed


Hours = Annotated[
    StrictInt, Field(ge=1, le=_MAX_HOURS), BeforeValidator(_hours), WithJsonSchema(_SPAN)
]
