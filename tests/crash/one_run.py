"""One whole run in this process, for a fork to be killed in."""

from __future__ import annotations

import sys
from pathlib import Path

from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError

__all__ = ["run_once"]


def run_once(spec: str, scratch: str) -> int:
    """Prepare and run; return 0 also where there is nothing to do."""
    place = Path(scratch)
    place.mkdir(parents=True, exist_ok=True)
    tasks = InProcessTasks(1)
    try:
        prepared = prepare(Request(path=Path(spec)), PlanningContext(tasks=tasks, scratch=place))
        if prepared.plan.has_changes:
            run(prepared.plan, tasks)
    except FrameworkError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0
