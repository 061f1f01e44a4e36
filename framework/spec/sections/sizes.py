"""Sizes of files as a spec writes them: bytes as a whole number, or text such as `120MB`."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictInt, WithJsonSchema

from framework.spec.document.references import LooseText
from framework.spec.sections.fields import fault

__all__ = ["MAX_SIZE", "UNITS", "Size", "parse_size", "size_schema", "size_text"]

UNITS = {"KB": 2**10, "MB": 2**20, "GB": 2**30}
"""What a unit multiplies by: powers of 1024, as Hudi's own defaults are counted."""

MAX_SIZE = 2**40
"""More than any one file: a greater number is a slip of the unit."""

_SIZE = re.compile(r"([0-9]{1,13}) ?(KB|MB|GB)")
_LOOSE = re.compile(r"\s*([0-9]{1,13}(?:\.[0-9]{1,6})?)\s*(?:([kmgt])i?)?b?\s*", re.IGNORECASE)
_LETTERS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_size(value: str | int) -> int:
    """The size in bytes; a number is one already.

    Raises:
        PydanticCustomError: `bad-size`; the text is not a whole number and a unit.
    """
    if isinstance(value, int):
        return value
    sized = _SIZE.fullmatch(value)
    if sized is None:
        message = f"`{value[:40]}` is no size: write bytes as a number, or a number with KB, MB, GB"
        raise fault("bad-size", message, _likely(value))
    return int(sized.group(1)) * UNITS[sized.group(2)]


def size_text(size_bytes: int) -> str:
    """The size as a spec would write it, in the greatest unit that leaves a whole number."""
    for unit, factor in reversed(UNITS.items()):
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return str(size_bytes)


def _likely(text: str) -> str | None:
    """The size that another spelling means, such as `120 mb`, `1.5GB` or `120MiB`."""
    loose = _LOOSE.fullmatch(text)
    if loose is None:
        return None
    return size_text(int(float(loose.group(1)) * _LETTERS[(loose.group(2) or "").upper()]))


def _bytes(value: object) -> object:
    """Text as bytes; whatever is neither text nor a number is left to the number's own check."""
    typed = value.typed() if isinstance(value, LooseText) else value
    return parse_size(typed) if isinstance(typed, str) else typed


def size_schema(least_bytes: int) -> dict[str, Any]:
    """What editors may know of a size: its form, and of plain numbers the bounds."""
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
