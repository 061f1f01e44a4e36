"""An attempt that outlives its run: whatever it still writes, nothing of it stays."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import TYPE_CHECKING

import pytest

from framework.engine.bootstrap import write
from framework.engine.bootstrap.write import write_files_task
from framework.engine.inspect.status import table_status
from framework.engine.tasks import InProcessTasks, Tasks
from framework.errors import SourceDriftError
from framework.hudi.commit.staging import Staging, new_write_id
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.plan.build import Earlier
from framework.spark.tasks import SparkTasks
from tests.spark.faults.late import Shadowed, attempt
from tests.support.fault_storage import FaultStorage
from tests.support.lakes import Lake, layout
from tests.support.scenes import adopt
from tests.support.started import Started, started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = Path(__file__).with_name("late.py")
ENDS = {"commit/fenced", "storage/not-found"}
STEPS = range(1, 9)


class LateThread:
    """A late attempt on a thread of this process."""

    def __init__(self, step: int) -> None:
        self._step = step
        self._stands, self._go = Event(), Event()
        self._thread: Thread | None = None
        self.outcome = ""

    def __call__(self, descriptor: str) -> None:
        """Start; return once it is paused."""
        self._thread = Thread(target=self._attempt, args=(descriptor,))
        self._thread.start()
        assert self._stands.wait(60)

    def open(self, location: str) -> Storage:
        """Open a storage; the late attempt's pauses before its step."""
        storage = open_storage(location)
        is_late = current_thread() is self._thread
        return FaultStorage(storage, hook=self._stop) if is_late else storage

    def go_on(self) -> str:
        """Let it run to completion, and return its outcome."""
        assert self._thread is not None
        self._go.set()
        self._thread.join()
        return self.outcome

    def _stop(self, at: int) -> None:
        if at == self._step:
            self._stands.set()
            assert self._go.wait(60)

    def _attempt(self, descriptor: str) -> None:
        self.outcome = attempt(descriptor)
        self._stands.set()


@pytest.mark.parametrize("step", STEPS)
def test_late_attempt_after_the_commit_leaves_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Delayed before any of its steps, it finds the run's folder deleted, and cleans up."""
    late = LateThread(step)
    monkeypatch.setattr(write, "open_storage", late.open)
    adopt(lake.scene, tasks=Shadowed(InProcessTasks(1), late))
    lake.check_whole()
    assert not late.outcome, "it did not stand still"
    assert late.go_on() in ENDS
    lake.check_whole()


def test_late_attempt_without_the_fence_would_leave_something(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests above see what they look for: with the fence off, its files are there."""
    late = LateThread(STEPS[-1])
    monkeypatch.setattr(write, "open_storage", late.open)
    monkeypatch.setattr(write, "FencedStorage", lambda storage, _: storage)
    adopt(lake.scene, tasks=Shadowed(InProcessTasks(1), late))
    assert late.go_on() == "done"
    assert layout(lake.table) != lake.whole


@pytest.mark.long
@pytest.mark.parametrize("earlier", [Earlier.AUTO, Earlier.FRESH])
@pytest.mark.parametrize("step", STEPS)
def test_late_attempt_of_a_dead_run_leaves_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, step: int, earlier: Earlier
) -> None:
    """Its run was killed, and another one resumed it, or undid it and began again."""
    late = LateThread(step)
    monkeypatch.setattr(write, "open_storage", late.open)
    with pytest.raises(KeyboardInterrupt):
        adopt(lake.scene, tasks=Stopped(Shadowed(InProcessTasks(1), late), KeyboardInterrupt()))
    adopt(lake.scene, earlier=earlier)
    lake.check_whole()
    assert late.go_on() in ENDS
    lake.check_whole()


@pytest.mark.parametrize("step", [1, STEPS[-1]])
def test_late_attempt_of_a_failed_run_leaves_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """A run that failed and was undone is not brought back by its tasks, not even its folder."""
    late = LateThread(step)
    monkeypatch.setattr(write, "open_storage", late.open)
    drift = SourceDriftError("source/drift", "as if a file had changed")
    with pytest.raises(SourceDriftError):
        adopt(lake.scene, tasks=Stopped(Shadowed(InProcessTasks(1), late), drift))
    lake.check_absent()
    assert late.go_on() in ENDS
    lake.check_absent()


def test_leftovers_of_a_late_attempt_are_reported_and_removed_by_the_next_run(lake: Lake) -> None:
    """What an attempt leaves that is killed while it cleans up is an orphan, and no part of it."""
    adopt(lake.scene)
    staging = Staging(write_id=new_write_id())
    storage = open_storage(str(lake.table))
    for folder in (staging.attempts, staging.segments):
        with storage.create(f"{folder}/late.parquet") as out:
            out.write(b"half")
    assert "leftovers" in table_status(str(lake.table)).pending
    assert lake.check_absent_or_whole()
    adopt(lake.scene)
    assert not table_status(str(lake.table)).pending
    lake.check_whole()
    assert adopt(lake.scene) is None


@pytest.mark.spark
@pytest.mark.parametrize("step", [1, 5])
def test_late_process_after_a_commit_on_spark_leaves_nothing(
    spark: SparkSession, lake: Lake, tmp_path: Path, step: int
) -> None:
    """A process with the same task as Spark's is stopped, and continues after the commit."""
    late = LateProcess(tmp_path, step)
    with contextlib.closing(late):
        adopt(lake.scene, tasks=Shadowed(SparkTasks(spark), late))
        lake.check_whole()
        assert late.go_on() in ENDS
        lake.check_whole()


class LateProcess:
    """A late attempt in a process of its own."""

    def __init__(self, folder: Path, step: int) -> None:
        self._folder, self._step = folder, step
        self._outcome = folder / "outcome"
        self._held = contextlib.ExitStack()
        self._process: Started | None = None

    def __call__(self, descriptor: str) -> None:
        """Start; return once it is paused."""
        orders = self._folder / "orders"
        orders.write_text(descriptor)
        words = [PROGRAM, orders, self._step, self._outcome]
        command = [sys.executable, *map(str, words)]
        self._process = self._held.enter_context(started(command, self._folder / "late"))
        process = self._process
        assert process.wait_until(lambda: process.state == "T")

    def go_on(self) -> str:
        """Let it run to completion, and return its outcome."""
        assert self._process is not None
        assert not self._outcome.exists()
        self._process.send(signal.SIGCONT)
        ended = self._process.end()
        assert ended.code == 0, ended.err
        return self._outcome.read_text()

    def close(self) -> None:
        """End the process, if it has not ended."""
        self._held.close()


class Stopped:
    """Tasks on `inner`; the run ends by an error after the first segment was journaled."""

    def __init__(self, inner: Tasks, error: BaseException) -> None:
        self._inner = inner
        self._error = error
        self._waves = 0

    @property
    def parallelism(self) -> int:
        """As of the tasks inside."""
        return self._inner.parallelism

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Yield the statuses, or raise."""
        if work is write_files_task:
            self._waves += 1
            if self._waves > 1:
                raise self._error
        return self._inner.run(work, descriptors)
