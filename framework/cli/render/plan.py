"""A plan on a terminal: the planner's lines, in colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.text import Text

from framework.cli.render.console import clean, write
from framework.plan.render.explain import Line, LineKind, explain_text
from framework.plan.render.text import diff_lines

if TYPE_CHECKING:
    from rich.console import Console

    from framework.plan.definition import Plan

__all__ = ["write_outcome", "write_plan"]

_STYLES: Final = {
    LineKind.TITLE: "bold",
    LineKind.HEADING: "bold",
    LineKind.STAGE: "",
    LineKind.DETAIL: "dim",
    LineKind.WARNING: "yellow",
    LineKind.RESULT: "bold",
}


def write_plan(console: Console, plan: Plan) -> None:
    """Write each line of the plan in the style of its kind."""
    _write(console, explain_text(plan))


def write_outcome(console: Console, plan: Plan) -> None:
    """Write title, differences from the table, and result of a plan that does nothing."""
    lines = explain_text(plan)
    _write(console, (lines[0], *diff_lines(plan), lines[-1]))


def _write(console: Console, lines: Sequence[Line]) -> None:
    for line in lines:
        write(console, Text(clean(line.text), style=_STYLES[line.kind]))
