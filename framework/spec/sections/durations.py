"""Spans of time as a spec writes them: whole hours or days, such as `36h` or `7d`."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictInt, WithJsonSchema

from framework.spec.document.references import LooseText
from framework.spec.sections.fields import fault

__all__ = ["MAX_HOURS", "Hours", "hours_text", "parse_hours"]

MAX_HOURS = 24 * 36_600
"""A hundred years."""

_UNITS = {"h": 1, "d": 24}
_WRITTEN = re.compile(r"([0-9]{1,6})(h|d)")
_LOOSE = re.compile(r"\s*([0-9]{1,6})\s*(h|d)(?:ours?|ays?|r|rs)?\s*", re.IGNORECASE)
_SCHEMA: dict[str, Any] = {"type": "string", "pattern": r"^[0-9]{1,6}(h|d)$|\$\{"}


def parse_hours(text: str) -> int:
    """Return the whole hours of a text such as `36h` or `7d`.

    Raises:
        PydanticCustomError: `bad-duration`; the text is no whole number of hours or days.
    """
    found = _WRITTEN.fullmatch(text)
    if found is None:
        loose = _LOOSE.fullmatch(text)
        suggestion = f"{int(loose[1])}{loose[2].lower()}" if loose else None
        message = f"`{text[:40]}` is not a duration: write a number of hours or days, as `7d`"
        raise fault("bad-duration", message, suggestion)
    return int(found[1]) * _UNITS[found[2]]


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
    StrictInt, Field(ge=1, le=MAX_HOURS), BeforeValidator(_hours), WithJsonSchema(_SCHEMA)
]
