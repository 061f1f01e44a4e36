"""One whole bootstrap in this process: `python one_run.py SPEC SCRATCH`; exits as it should."""

from __future__ import annotations

import sys
from pathlib import Path

from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError

__all__ = ["run_once"]


def run_once(spec: Path, scratch: Path) -> int:
    """Prepare and run; return 0 also where there is nothing to do."""
    scratch.mkdir(parents=True, exist_ok=True)
    tasks = InProcessTasks(1)
    try:
        prepared = prepare(Request(path=spec), PlanningContext(tasks=tasks, scratch=scratch))
        if prepared.plan.has_changes:
            run(prepared.plan, tasks)
    except FrameworkError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(run_once(Path(sys.argv[1]), Path(sys.argv[2])))
