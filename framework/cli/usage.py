"""Faults of a command line, reported like any other fault."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from framework.errors import Finding, SpecError, Where
from framework.spec.document.findings import nearest

__all__ = ["is_usage_error", "unknown_command", "usage_error", "usage_fault"]

_QUOTED: Final = re.compile(r"'([^']*)'")


def usage_error(rule: str, message: str, suggestion: str | None = None) -> SpecError:
    """Return the error for a command line that cannot be run; it exits with 1."""
    finding = Finding(
        rule=f"usage/{rule}", key_path="", where=Where(), message=message, suggestion=suggestion
    )
    return SpecError((finding,))


def unknown_command(word: str, commands: Iterable[str], front: str = "") -> SpecError:
    """Return the error for a first word that is neither a command nor a file.

    After `front`, the first word of a group and a space, it must be one of the group's commands.
    """
    known = list(commands)
    close = nearest(word, known)
    hint = f"commands: {', '.join(known)}"
    if close:
        hint = f"did you mean `run-pipeline {front}{close}`?"
    what = f"no command of `{front.strip()}`" if front else "neither a command nor a file"
    return usage_error("unknown-command", f"{word!r} is {what}", hint)


def is_usage_error(error: Exception) -> bool:
    """Return whether the command-line library raised it (perhaps from its own copy of click)."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def usage_fault(error: Any) -> SpecError:
    """Return the library's error as one of ours, with the closest valid spelling."""
    help_line = _help_line(error)
    match type(error).__name__:
        case "NoSuchOption":
            return _unknown_option(error, help_line)
        case "MissingParameter":
            return usage_error("missing-argument", _sentence(error), help_line)
        case "BadParameter":
            return _bad_value(error, help_line)
        case _:
            return usage_error("not-understood", _sentence(error), help_line)


def _unknown_option(error: Any, help_line: str) -> SpecError:
    name = str(error.option_name)
    context = getattr(error, "ctx", None)
    known = [o for p in context.command.params for o in p.opts] if context else []
    close = nearest(name, known)
    hint = f"did you mean {close}?" if close else help_line
    return usage_error("unknown-option", f"there is no option {name}", hint)


def _bad_value(error: Any, help_line: str) -> SpecError:
    """Return the error for an invalid value; the library's message quotes it, then the choices."""
    quoted = _QUOTED.findall(str(error.message))
    close = nearest(quoted[0], quoted[1:]) if quoted else None
    hint = f"did you mean {close}?" if close else help_line
    return usage_error("bad-value", _sentence(error), hint)


def _sentence(error: Any) -> str:
    text = str(error.format_message()).replace("Value error, ", "").rstrip(".")
    return text[:1].lower() + text[1:]


def _help_line(error: Any) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "run-pipeline"
    return f"`{path} --help` shows its options"
