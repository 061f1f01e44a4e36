"""Several processes that adopt one source at the same moment, round after round.

`python racers.py FOLDER ROUNDS`; one line of JSON a round: how each of them ended.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import sys
import time
import traceback
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import TemporaryDirectory

from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import run
from framework.engine.tasks import InProcessTasks, Tasks
from framework.errors import FrameworkError
from framework.plan.build import Earlier
from tests.support.lakes import a_lake
from tests.support.meddling import WRITING, Meddling

FORK = multiprocessing.get_context("fork")
RACERS = 3
DEAD = 9
RETRY = 4
_MADE = "made"
_NOTHING = "nothing to do"


def race(spec: Path, barrier: Barrier, results: Path, seed: int) -> None:
    """Adopt once all are ready, repeating while the error is retryable; record each outcome."""
    draw = random.Random(f"{seed}-{os.getpid()}")
    earlier = draw.choice([Earlier.AUTO, Earlier.AUTO, Earlier.FRESH])
    barrier.wait()
    ended: list[str] = []
    while not ended or ended[-1].startswith("4 "):
        time.sleep(draw.uniform(0, 0.01))
        ended.append(_ending(spec, earlier))
    with results.open("a") as out:
        out.write("\n".join(sorted(set(ended))) + "\n")


def _ending(spec: Path, earlier: Earlier) -> str:
    """Adopt and return how that ended."""
    try:
        return adopt(spec, earlier)
    except FrameworkError as error:
        calls = " > ".join(each.name for each in traceback.extract_tb(error.__traceback__))
        where = f" in {calls}" if error.exit_code != RETRY else ""
        return f"{error.exit_code} {error.condition}{where}"
    except Exception as error:  # noqa: BLE001  is what the race is about
        return f"{type(error).__name__}: {error}"


def adopt(spec: Path, earlier: Earlier, tasks: Tasks | None = None) -> str:
    """Adopt as the command does."""
    tasks = tasks or InProcessTasks(1)
    with TemporaryDirectory() as scratch:
        planning = PlanningContext(tasks=tasks, scratch=Path(scratch))
        plan = prepare(Request(path=spec, earlier=earlier), planning).plan
        if not plan.has_changes:
            return _NOTHING
        return _MADE if run(plan, tasks).instant else _NOTHING


def die(spec: Path) -> None:
    """Adopt, and die after some files were journaled."""
    adopt(spec, Earlier.AUTO, Meddling(after=WRITING, act=lambda: os._exit(DEAD)))


def main() -> None:
    """Race; every other round begins with a run that has died."""
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    lake = a_lake(folder)
    spec = lake.scene.spec
    for number in range(rounds):
        lake.reset()
        if number % 2:
            dead = FORK.Process(target=die, args=(spec,))
            dead.start()
            dead.join()
            assert dead.exitcode == DEAD
        results = folder / f"results-{number}"
        _race_all(spec, results, number)
        ended = sorted(results.read_text().splitlines())
        line = {"ended": ended, "is_whole": lake.is_whole}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def _race_all(spec: Path, results: Path, seed: int) -> None:
    """Let all of them race."""
    barrier = FORK.Barrier(RACERS)
    work = [FORK.Process(target=race, args=(spec, barrier, results, seed)) for _ in range(RACERS)]
    for racer in work:
        racer.start()
    for racer in work:
        racer.join()


if __name__ == "__main__":
    main()
