"""A run that is paused just before one of its steps, while another one takes over and ends the job.

`python paused.py FOLDER STEP...`; one line of JSON a step. The paused run's clock is behind, so
that its lease is over for everybody else at once, as if it had been paused for longer than that.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from framework.engine import runner
from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.tasks import InProcessTasks
from framework.errors import FrameworkError
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import SystemClock
from framework.plan.build import Earlier
from tests.support.fault_storage import FaultStorage
from tests.support.lakes import Lake, a_lake

_FORK = multiprocessing.get_context("fork")
_BEHIND_MS = 600_000


class Behind:
    """A clock that is ten minutes late."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        return SystemClock().now_ms() - _BEHIND_MS


def adopt(spec: Path, earlier: Earlier, step: int = 0) -> str:
    """Adopt like the command and return the outcome; pause before the step, if any."""

    def stop(at: int) -> None:
        """Stop until a SIGCONT arrives."""
        if at == step:
            os.kill(os.getpid(), signal.SIGSTOP)

    def opening(location: str) -> Storage:
        """Open a storage in which steps count."""
        return FaultStorage(open_storage(location), hook=stop)

    if step:
        runner.open_storage = opening  # type: ignore[attr-defined]  # what the driver opens
    tasks = InProcessTasks(1)
    try:
        with TemporaryDirectory() as scratch:
            planning = PlanningContext(tasks=tasks, scratch=Path(scratch))
            plan = prepare(Request(path=spec, earlier=earlier), planning).plan
            if plan.has_changes:
                runner.run(plan, tasks, clock=Behind() if step else None)
    except FrameworkError as error:
        return f"{error.exit_code} {error.condition}"
    return "0"


def in_child(results: Path, spec: Path, earlier: Earlier, step: int = 0) -> None:
    """Adopt and note how it ended."""
    results.write_text(adopt(spec, earlier, step))


def one(lake: Lake, folder: Path, step: int, earlier: Earlier) -> dict[str, object] | None:
    """Pause before one step, take over, continue; return None if there is no such step."""
    lake.reset()
    spec = lake.scene.spec
    paused, other, third = (folder / name for name in ("paused", "other", "third"))
    child = _FORK.Process(target=in_child, args=(paused, spec, Earlier.AUTO, step))
    child.start()
    _, status = os.waitpid(child.pid or 0, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        return None
    found: dict[str, object] = {"step": step, "earlier": earlier.value}
    found["absent or whole"] = lake.check_absent_or_whole()
    _run(other, spec, earlier)
    found["other"] = other.read_text()
    whole_then = lake.is_whole
    os.kill(child.pid or 0, signal.SIGCONT)
    os.waitpid(child.pid or 0, 0)
    found["paused"] = paused.read_text()
    found["whole"] = [whole_then, lake.check_absent_or_whole(), lake.is_whole]
    _run(third, spec, Earlier.AUTO)
    found["third"] = third.read_text()
    found["in the end"] = lake.is_whole
    return found


def main() -> None:
    """Pause at the steps of the command line, or at all."""
    folder = Path(sys.argv[1])
    lake = a_lake(folder)
    steps = [int(word) for word in sys.argv[2:]] or range(1, 10_000)
    for step in steps:
        for earlier in (Earlier.AUTO, Earlier.FRESH):
            found = one(lake, folder, step, earlier)
            if found is None:
                return
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


def _run(results: Path, spec: Path, earlier: Earlier) -> None:
    """Adopt in a child and wait for it."""
    child = _FORK.Process(target=in_child, args=(results, spec, earlier))
    child.start()
    child.join()


if __name__ == "__main__":
    main()
