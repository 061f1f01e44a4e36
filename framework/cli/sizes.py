"""Sizes on the command line, as in specs."""

from __future__ import annotations

from framework.cli.usage import usage_error
from framework.spec.sections.sizes import parse_size

__all__ = ["size_of"]


def size_of(text: str, option: str) -> int:
    """Return the bytes that an option names.

    Raises:
        SpecError: `usage/bad-value`; it is no size, or 0.
    """
    try:
        found = parse_size(int(text) if text.isascii() and text.isdigit() else text)
    except ValueError as error:
        raise usage_error(
            "bad-value", f"{option} {text!r} is not a size", "such as 256MB"
        ) from error
    if not found:
        raise usage_error("bad-value", f"{option} must not be 0", "such as 256MB")
    return found
