"""Foreign text made fit to be shown: bounded, on one line where asked, nothing invisible in it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from framework.plan.words import number_text

__all__ = ["block_text", "cut", "line_text", "plain", "plain_mapping"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufff9-\ufffb]")
_DIRECTION: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BREAKS: Final = {"\n": "⏎", "\t": "⇥"}


def line_text(text: object, most: int = 200) -> str:
    r"""Return text on one line, at most `most` characters of it and then how many there are.

    Control characters and those that turn the direction of writing become escapes such as
    `\x1b`; line breaks and tabs become signs.
    """
    found = block_text(text, most)
    for sign, shown in _BREAKS.items():
        found = found.replace(sign, shown)
    return found


def block_text(text: object, most: int = 1000) -> str:
    """Return text as `line_text` does, with its line breaks and tabs."""
    found = cut(str(text), most).replace("\r\n", "\n")
    found = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", found)
    found = _CONTROL.sub(_escape, found)
    return _DIRECTION.sub(_escape, found)


def cut(text: str, most: int) -> str:
    """Return the first characters of a text that is too long, and how many it has."""
    if len(text) <= most:
        return text
    return f"{text[:most]}… ({number_text(len(text))} characters)"


def plain(value: object) -> object:
    """Return a value that every JSON parser reads; numbers that JSON has not become text."""
    if isinstance(value, Mapping):
        return plain_mapping(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", str(value))


def plain_mapping(values: Mapping[str, object]) -> dict[str, object]:
    """Return a mapping of values that every JSON parser reads."""
    return {str(plain(str(name))): plain(value) for name, value in values.items()}


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004  as in Python
