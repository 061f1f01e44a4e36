"""Regular expressions of a spec, run by an engine whose time grows with the text alone (ADR 0022).

Python's own engine tries alternatives one after the other: `(a+)+$` takes it hours for fifty `a`
and a `b`. RE2 has no such patterns; it does not know look-around and back-references.
"""

from __future__ import annotations

from typing import Protocol

import re2

__all__ = ["Pattern", "PatternError", "compile_pattern"]

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # they are raised; RE2 would write them to stderr as well


class PatternError(ValueError):
    """The text is no pattern that RE2 knows; the message says why."""


class Pattern(Protocol):
    """A compiled pattern."""

    @property
    def pattern(self) -> str:
        """The text that it was made from."""

    def fullmatch(self, text: str) -> object | None:
        """Return a match of the whole text, or None."""

    def search(self, text: str) -> object | None:
        """Return the first match within the text, or None."""


def compile_pattern(text: str) -> Pattern:
    r"""Return the pattern of a text in RE2's syntax; `\d`, `\w` and `\s` mean ASCII.

    Raises:
        PatternError: it is none, or needs more than RE2's 8 MB to run.
    """
    try:
        found: Pattern = re2.compile(text, _OPTIONS)
    except (re2.error, UnicodeEncodeError) as error:
        raise PatternError(_reason(error)) from error
    return found


def _reason(error: Exception) -> str:
    """Return what RE2 says, which comes as bytes."""
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
