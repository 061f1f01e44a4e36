"""A table that has no plan, as Markdown for a pull request: its name and every error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.errors import SpecError
from framework.plan.render.markdown import cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.errors import FrameworkError

__all__ = ["failure_text"]


def failure_text(spec: str, error: FrameworkError) -> str:
    """Return the errors of a spec as GitHub-flavoured Markdown that ends in a newline."""
    return "\n".join([f"### `{cell(spec)}`: failed", "", *_errors(error), ""])


def _errors(error: FrameworkError) -> Iterator[str]:
    """Yield one line for each error; a faulty spec has one a finding."""
    if not isinstance(error, SpecError):
        yield _line(error.condition, str(error.where), error.message, error.remedy)
        return
    for each in error.findings:
        near = f"write {each.suggestion}" if each.suggestion else ""
        level = "" if each.severity == "error" else f"{each.severity}: "
        yield _line(each.rule, str(each.where), f"{level}{each.message}", near)


def _line(condition: str, where: str, message: str, remedy: str) -> str:
    """Return one error as an item of a list."""
    place = f"{cell(where)}: " if where else ""
    advice = f" ({cell(remedy)})" if remedy else ""
    return f"- **error** {place}{cell(message)} `{condition}`{advice}"
