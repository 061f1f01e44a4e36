"""Findings as code frames: the place, the faulty line, a caret and a suggestion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.text import Text

from framework.cli.render.console import clean, write

if TYPE_CHECKING:
    from rich.console import Console

    from framework.errors import Finding, Where

__all__ = ["count_words", "write_findings"]

_COLOURS: Final = {"error": "red", "warning": "yellow"}
_BEFORE: Final = 12


def write_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Draw each finding as a code frame, then a line of totals if any is about a file."""
    for finding in findings:
        _write_frame(console, finding)
    if any(finding.where.file for finding in findings):
        write(console, Text(count_words(findings), style="bold"))


def count_words(findings: Sequence[Finding]) -> str:
    """Return text such as `2 errors, 1 warning`."""
    errors = sum(each.severity == "error" for each in findings)
    counts = ((errors, "error"), (len(findings) - errors, "warning"))
    return ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts if n)


def _write_frame(console: Console, finding: Finding) -> None:
    colour = _COLOURS.get(finding.severity, "red")
    rule, message = (f"[{finding.rule}]", colour), (f": {clean(finding.message)}", "bold")
    write(console, Text.assemble((finding.severity, f"bold {colour}"), rule, message), hang=2)
    where = finding.where
    number = str(where.line or "")
    gutter = " " * len(number)
    place = _place(where)
    if place:
        write(console, Text.assemble((f"{gutter}--> ", "blue"), place), hang=4)
    if finding.source_line is not None and where.column is not None:
        _write_line(console, finding, number, colour)
    if finding.suggestion:
        parts = (f"{gutter} = ", "blue"), ("help: ", "cyan"), clean(finding.suggestion)
        write(console, Text.assemble(*parts), hang=len(gutter) + 9)
    console.print()


def _place(where: Where) -> str:
    """Return `file:line:column`, and the partition if there is one."""
    place = ":".join(clean(p) for p in (where.file, where.line, where.column) if p is not None)
    return place + (f" (partition {clean(where.partition)})" if where.partition else "")


def _write_line(console: Console, finding: Finding, number: str, colour: str) -> None:
    """Write the faulty line and its underline; if it is too wide, the part around the fault."""
    line = _one_line(finding.source_line or "")
    start = (finding.where.column or 1) - 1
    gutter = " " * len(number)
    room = console.width - len(gutter) - 3 if console.is_terminal else cell_len(line)
    skip = max(0, start - _BEFORE) if cell_len(line) > room else 0
    lead = "…" if skip else ""
    shown = Text(lead + line[skip:])
    shown.truncate(room, overflow="ellipsis")
    console.print(Text.assemble((f"{gutter} |\n{number} | ", "blue"), shown))
    pad = cell_len(lead + line[skip:start])
    under = max(1, min(cell_len(line[start : start + finding.length]), room - pad))
    console.print(Text.assemble((f"{gutter} | ", "blue"), (" " * pad + "^" * under, colour)))


def _one_line(text: str) -> str:
    """Return the text with one printable character for each of its characters."""
    return "".join(c if c.isprintable() else " " if c == "\t" else "?" for c in text)
