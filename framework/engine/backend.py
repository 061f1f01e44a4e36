"""The backend of a run: one value, whether the work is done in process or on Spark."""

from __future__ import annotations

from dataclasses import dataclass

from framework.engine.audit.subject import Checker
from framework.engine.events import Events, silent
from framework.engine.reading.views import LISTED, Views
from framework.engine.run.context import InputReader
from framework.engine.runner import RunResult, run
from framework.engine.tasks import Tasks
from framework.plan.definition import Plan

__all__ = ["Backend"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """The backend of a run. The one on Spark comes from `framework.spark.backend`.

    Attributes:
        tasks: read and write files.
        reader: reads everything but plain Parquet; None: such a load is refused.
        checker: runs the checks of the spec; None: such a spec is refused.
        views: report which files make up the table.
    """

    tasks: Tasks
    reader: InputReader | None = None
    checker: Checker | None = None
    views: Views = LISTED

    def run(
        self,
        plan: Plan,
        *,
        figures: bool = False,
        events: Events = silent,
        begun: float | None = None,
    ) -> RunResult:
        """Run the stages of a plan; arguments, result and errors are those of `runner.run`."""
        return run(
            plan,
            self.tasks,
            reader=self.reader,
            checker=self.checker,
            views=self.views,
            figures=figures,
            events=events,
            begun=begun,
        )
