"""The filters and tests of SQL templates.

Jinja has many more. These take time and space in proportion to their values, or check the length
before they build a text, and give the same result on every machine and day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jinja2 import Undefined

from framework.spec.document.scalars import ScalarValue, scalar_text

__all__ = [
    "FILTERS",
    "MAX_ITEMS",
    "MAX_LENGTH",
    "TESTS",
    "TemplateLimitError",
    "TemplateValueError",
    "bounded",
    "shown",
]

MAX_LENGTH = 20_000
"""Maximum length of a named text in a template, in characters."""

MAX_ITEMS = 5_000
"""Maximum number of items of a named list."""


class TemplateValueError(ValueError):
    """A value that a template cannot use; caught and reported as a finding within this package."""


class TemplateLimitError(TemplateValueError):
    """A value or an amount of work beyond the limits of templates."""


def shown(value: object) -> str:
    """Return the value as SQL text: text unchanged, numbers and booleans as in YAML."""
    if isinstance(value, Undefined):
        return str(value)
    if not isinstance(value, str | int | float):
        kind = "null" if value is None else "a list" if isinstance(value, list | tuple) else "this"
        message = f"{kind} cannot be used in SQL; use text, a number or a boolean"
        raise TemplateValueError(message)
    return value if isinstance(value, str) else scalar_text(value)


def bounded(value: object, *, levels: int = 2) -> object:
    """Return the value, if it and its items may have a name.

    Lists nested three deep are refused: each could contain the previous one twice.
    """
    if isinstance(value, str):
        _check_length(len(value))
    elif isinstance(value, list | tuple):
        if len(value) > MAX_ITEMS:
            raise TemplateLimitError(f"a list of more than {MAX_ITEMS:,} items")
        if levels == 0:
            raise TemplateLimitError("lists may be nested two deep, no deeper")
        for item in value:
            bounded(item, levels=levels - 1)
    return value


def _check_length(length: int) -> None:
    if length > MAX_LENGTH:
        raise TemplateLimitError(f"a text of more than {MAX_LENGTH:,} characters")


def _upper(value: object) -> str:
    return shown(value).upper()


def _lower(value: object) -> str:
    return shown(value).lower()


def _trim(value: object) -> str:
    return shown(value).strip()


def _length(value: object) -> int:
    """Return the number of items, or of characters."""
    return len(value) if isinstance(value, list | tuple | range) else len(shown(value))


def _int(value: object) -> int:
    """Return a whole number, or the text of one."""
    return value if isinstance(value, int) else int(shown(value))


def _split(value: object, separator: str = ",") -> list[str]:
    """Return the stripped parts between separators; none for empty text."""
    text = shown(value)
    return [part.strip() for part in text.split(separator)] if text.strip() else []


def _join(value: object, separator: str = "") -> str:
    if not isinstance(value, list | tuple | range):
        raise TemplateValueError("`join` takes a list")
    items = [shown(item) for item in value]
    _check_length(sum(map(len, items)) + len(separator) * len(items))
    return separator.join(items)


def _replace(value: object, old: str, new: str) -> str:
    """Return the text with one part replaced by another; checks the resulting length first."""
    text = shown(value)
    if not old:
        raise TemplateValueError("`replace` needs something to look for")
    _check_length(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def _default(value: object, instead: ScalarValue) -> object:
    """Return the value, or `instead` if the variable is not defined."""
    return instead if isinstance(value, Undefined) else value


FILTERS: Mapping[str, Callable[..., object]] = {
    "default": _default,
    "int": _int,
    "join": _join,
    "length": _length,
    "lower": _lower,
    "replace": _replace,
    "split": _split,
    "trim": _trim,
    "upper": _upper,
}
"""The filters: the words allowed after a `|`."""

TESTS: Mapping[str, Callable[..., bool]] = {
    "defined": lambda value: not isinstance(value, Undefined),
    "undefined": lambda value: isinstance(value, Undefined),
}
"""The tests: the words allowed after `is`."""
