"""Runs whose executor is killed while rows are looked at: `python gate_executor_loss.py FOLDER`.

Prints one JSON object: `killed`, the stages of the run in which an executor died, `lost` executors,
and the proof of the commit. Two executors of one core each; predicates are slow, so that there is
something to kill.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from framework.engine.events import Event, StageStarted
from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import run
from framework.spark.checking.checker import SparkChecker
from framework.spark.loading.preview import SparkInput
from framework.spark.tasks import SparkTasks
from tests.spark.faults.executor_loss import executors, history, session_on_executors
from tests.support.checks import Gate, good_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["BAD", "ROWS", "SLOW"]

ROWS = 40
BAD = (12, 31)
SLOW = "length(regexp_replace(repeat(cast(id AS string), 200000), '[0-9]', 'xy')) > 0"
"""True, after a while."""
_EXECUTORS = 2
_PATIENCE_S = 60.0
_MOMENT_S, _WORKED_TICKS = 0.4, 10


def main(folder: Path) -> None:
    """Load through a gate and print the outcome."""
    gate = Gate(folder=folder / "gate", operation="insert")
    for name in range(4):
        first = name * ROWS // 4
        ids = range(first, first + ROWS // 4)
        gate.put(f"f{name}", good_rows(ids, bad=BAD))
    spec = gate.spec(
        {"name": "taken", "expect": f"amount >= 0 AND {SLOW}", "on_fail": "quarantine"},
        {"name": "strict", "expect": f"amount >= 0 AND {SLOW}"},
        {"name": "all", "expect_aggregate": f"bool_and({SLOW})"},
    )
    with session_on_executors(folder / "events") as spark, _Killer(spark).at_work() as killer:
        tasks = SparkTasks(spark)
        with TemporaryDirectory() as scratch:
            plan = prepare(
                Request(path=spec), PlanningContext(tasks=tasks, scratch=Path(scratch))
            ).plan
            result = run(
                plan,
                tasks,
                reader=SparkInput(spark),
                checker=SparkChecker(spark),
                events=killer.listen,
            )
    outcome = {"killed": killer.killed, "proof": result.proof, **history(folder / "events")}
    sys.stdout.write(f"{json.dumps(outcome)}\n")


class _Killer:
    """Kills one executor in each stage of a run that looks at rows, once it works at a task."""

    def __init__(self, spark: SparkSession) -> None:
        self._context: Any = spark.sparkContext
        self._tracker = spark.sparkContext.statusTracker()
        self._over = threading.Event()
        self._wanted = ""
        self.killed: list[str] = []

    def listen(self, event: Event) -> None:
        """Hear which stage of the run has begun; one that looks at rows waits for its executors."""
        if isinstance(event, StageStarted):
            looks = event.stage in {"screen", "audit"}
            if looks:
                self._await_executors()
            self._wanted = event.stage if looks else ""

    def _await_executors(self) -> None:
        """Wait until two are registered: one that was killed is replaced after some seconds."""
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            tracker = self._context._jsc.sc().statusTracker()  # noqa: SLF001  Python's has no such call
            known = tracker.getExecutorInfos()  # the driver's among them
            if len(known) > len(executors()) >= _EXECUTORS:
                return
            time.sleep(0.1)

    @contextmanager
    def at_work(self) -> Iterator[_Killer]:
        """Watch on a thread of its own."""
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            thread.join()

    def _watch(self) -> None:
        while not self._over.is_set():
            time.sleep(0.02)
            stage = self._wanted
            if stage and stage not in self.killed and (busy := self._busy()):
                self.killed.append(stage)
                os.kill(busy, signal.SIGKILL)

    def _busy(self) -> int | None:
        """Return the executor that worked most at one stage of Spark for a moment; None: none did.

        Spark reports running tasks up to seconds later.
        """
        stages = self._tracker.getActiveStageIds()
        before = {each: _cpu_ticks(each) for each in executors()} if stages else {}
        time.sleep(_MOMENT_S)
        spent = {each: _cpu_ticks(each) - ticks for each, ticks in before.items()}
        busiest = max(spent, key=spent.__getitem__, default=None)
        if busiest is None or spent[busiest] < _WORKED_TICKS:
            return None
        return busiest if self._tracker.getActiveStageIds() == stages else None


def _cpu_ticks(process: int) -> int:
    """Return the CPU time of a process in hundredths of a second, 0 if it has exited."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    program = importlib.import_module("tests.spark.faults.gate_executor_loss")
    program.main(Path(sys.argv[1]))
