"""Checks on a terminal: one line each, samples below, failures first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.text import Text

from framework.cli.render.console import clean, write
from framework.engine.reporting import words
from framework.vocabulary import Outcome

if TYPE_CHECKING:
    from rich.console import Console

    from framework.engine.results import AuditReport, CheckResult

__all__ = ["write_checks"]

_COLOURS: Final = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "bold red",
    Outcome.WARNED: "yellow",
    Outcome.QUARANTINED: "magenta",
    Outcome.DROPPED: "magenta",
}
_OUTCOME_WIDTH: Final = max(map(len, Outcome))
_INDENT: Final = 2 + _OUTCOME_WIDTH + 2
_SAMPLES: Final = 5


def write_checks(console: Console, report: AuditReport) -> None:
    """Write a line of totals, then each check with its result; nothing without checks.

    For a check that did not pass, also writes its condition and a few bad rows.
    """
    results = words.by_gravity(report.checks)
    if not results:
        return
    tally = words.tally_text(Counter(each.outcome for each in results))
    write(console, Text.assemble(("checks  ", "bold"), tally), hang=8)
    width = _name_width(results, console)
    for result in results:
        for line in _lines(result, width):
            write(console, line, hang=_INDENT)
    if report.fate is not None and (report.fate.quarantined or report.fate.dropped):
        rows = words.fate_text(report.fate, published=report.passed)
        write(console, Text.assemble(("rows    ", "bold"), rows), hang=8)


def _name_width(results: Sequence[CheckResult], console: Console) -> int:
    """Return the width of the name column: the widest name, at most a third of the terminal."""
    widest = max(cell_len(_name(each)) for each in results)
    return min(widest, max(16, console.width // 3)) if console.is_terminal else widest


def _lines(result: CheckResult, width: int) -> Iterator[Text]:
    """Yield the check's line, its condition, and its bad rows; one line if it passed."""
    colour = _COLOURS[result.outcome]
    name = _name(result)
    pad = " " * max(0, width - cell_len(name))
    head = Text.assemble(
        "  ", (f"{result.outcome:<{_OUTCOME_WIDTH}}  ", colour), (name, "bold"), f"{pad}  "
    )
    demanded = clean(words.meaning(result.check))
    yield head + Text(clean(words.result_text(result)))
    if result.outcome is Outcome.PASSED:
        return
    indent = " " * _INDENT
    yield Text(f"{indent}{demanded}", style="dim")
    shown = result.samples[:_SAMPLES]
    for row in shown:
        place, values = clean(words.place_text(row)), clean(words.sample_text(row))
        yield Text.assemble(indent, (f"{place}  " if place else "", "cyan"), values)
    hidden = result.failed - len(shown)
    if shown and hidden > 0:
        yield Text(f"{indent}… and {hidden:,} more", style="dim")


def _name(result: CheckResult) -> str:
    return words.line_text(result.check.name, 60)
