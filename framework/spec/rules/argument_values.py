"""Check a YAML value against a fragment of JSON Schema, and describe what does not fit.

Supported: `type`, `enum`, `anyOf`, `items`, `properties`, `required`, bounds, and the formats
`date` and `date-time`. Messages never show text, only its kind: it may come from a secret.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final

__all__ = ["kind_of", "misfits", "moment"]

_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?P<time>[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?"
)
_KINDS: Final[Mapping[str, Callable[[object], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    ),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
_WORDS: Final = {
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
_FORMATS: Final = {
    "date": "a date as text, such as 2026-11-22",
    "date-time": "a time as text, such as 2026-11-22T09:30:00",
}


def misfits(value: object, schema: Mapping[str, object], path: str) -> Iterator[tuple[str, str]]:
    """Yield the path of each part that does not fit, with a sentence that explains why."""
    if not _fits_alone(value, schema):
        yield path, f"must be {_wanted(schema)}, is {kind_of(value)}"
    elif isinstance(value, dict):
        yield from _misfits_of_mapping(value, schema, path)
    elif isinstance(value, list | tuple):
        items = _mapping(schema.get("items"))
        for index, item in enumerate(value):
            yield from misfits(item, items, f"{path}[{index}]")


def moment(text: str) -> datetime | None:
    """Return the text as a date or a date and time; None if it is neither."""
    if _MOMENT.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # such as the 30th of February
        return None


def kind_of(value: object) -> str:
    """Return a value in words: a number itself, otherwise its kind."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return next((_WORDS[name] for name, has in _KINDS.items() if has(value)), "of another kind")


def _fits_alone(value: object, schema: Mapping[str, object]) -> bool:
    """Return whether a value fits, ignoring its parts."""
    choices = _list(schema.get("anyOf"))
    if choices:
        return any(_fits_alone(value, _mapping(choice)) for choice in choices)
    if "enum" in schema:
        return isinstance(value, str) and value in _list(schema["enum"])
    kinds = _list(schema.get("type"))
    return any(_KINDS[str(kind)](value) for kind in kinds) and _within(value, schema)


def _within(value: object, schema: Mapping[str, object]) -> bool:
    """Return whether a value of the right kind is within the bounds of its schema."""
    if isinstance(value, str):
        long_enough = len(value) >= _number(schema, "minLength", 0)
        return long_enough and _in_format(value, schema.get("format"))
    if isinstance(value, list | tuple | dict):
        least = max(_number(schema, "minItems", 0), _number(schema, "minProperties", 0))
        return least <= len(value) <= _number(schema, "maxItems", math.inf)
    if isinstance(value, int | float):
        low, high = _number(schema, "minimum", -math.inf), _number(schema, "maximum", math.inf)
        return low <= value <= high
    return True


def _in_format(text: str, wanted: object) -> bool:
    """Return whether text is of the format; GX accepts a date as a time and vice versa."""
    return wanted is None or moment(text) is not None


def _misfits_of_mapping(
    value: Mapping[str, object], schema: Mapping[str, object], path: str
) -> Iterator[tuple[str, str]]:
    """Yield the misfits in a mapping; none where the schema does not list its keys."""
    known = _mapping(schema.get("properties"))
    for key in _list(schema.get("required")):
        if key not in value:
            yield path, f"must have `{key}`"
    for key, item in value.items():
        if key in known:
            yield from misfits(item, _mapping(known[key]), f"{path}.{key}")
        elif known:
            yield path, f"has `{key}`; it may have {', '.join(f'`{each}`' for each in known)}"


def _wanted(schema: Mapping[str, object]) -> str:
    """Return in words what the schema accepts."""
    choices = _list(schema.get("anyOf"))
    if choices:
        return " or ".join(_wanted(_mapping(choice)) for choice in choices)
    if "enum" in schema:
        return "one of " + ", ".join(f"`{each}`" for each in _list(schema["enum"]))
    if "format" in schema:
        return _FORMATS[str(schema["format"])]
    kinds = " or ".join(_WORDS[str(kind)] for kind in _list(schema.get("type")))
    return kinds + _bounds(schema)


def _bounds(schema: Mapping[str, object]) -> str:
    """Return the bounds of a schema in words, "" if it has none."""
    if "minimum" in schema:
        low, high = schema["minimum"], schema.get("maximum")
        return f" of at least {low:g}" if high is None else f" from {low:g} to {high:g}"
    if "minItems" in schema:
        least, most = schema["minItems"], schema.get("maxItems")
        return f" of {least}" if least == most else f" of at least {least}"
    return ", and not empty" if "minLength" in schema or "minProperties" in schema else ""


def _mapping(found: object) -> Mapping[str, object]:
    return found if isinstance(found, dict) else {}


def _list(found: object) -> list[object]:
    """Return a part of a schema as a list; a single word becomes a list of one."""
    if found is None:
        return []
    return found if isinstance(found, list) else [found]


def _number(schema: Mapping[str, object], key: str, default: float) -> float:
    """Return a bound of a schema, or the default if it has none."""
    found = schema.get(key, default)
    return found if isinstance(found, int | float) else default
