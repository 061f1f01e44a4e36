"""The stage between what comes in and what is written, for loads and for bootstraps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.engine.bootstrap.screening_source import screen_source
from framework.engine.writing.screening_input import screen_input

if TYPE_CHECKING:
    from framework.engine.course import Course, Run

__all__ = ["screen_rows"]


def screen_rows(work: Run, course: Course) -> Course:
    """Have the checks understood, and the rows taken out that are not to be written."""
    if work.plan.load is not None:
        return screen_input(work, course)
    return screen_source(work, course)
