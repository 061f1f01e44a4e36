"""Tasks over Spark: descriptors go to a pure function, statuses come back.

Spark moves only descriptors and statuses; the tasks themselves read and write files. A Python task
costs about 0.1 s of CPU, so each descriptor should hold much work. A few jobs of at most
`parallelism` tasks run at a time: while the last task of one still runs, those of the next have
started, and the statuses of each arrive when it is done.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from threading import Event
from typing import TYPE_CHECKING, Any, Final
from zipimport import zipimporter

import pyarrow as pa

from framework.engine.tasks import release_memory
from framework.errors import FrameworkError, TaskError
from framework.spark.jobs import cancel_all, new_tag
from framework.spark.session import check_speculation
from framework.spark.session_jobs import jobs_of
from framework.spark.task_faults import FaultInTaskError, fault_of, is_lasting, revive, typed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["STATUS_SCHEMA", "SparkTasks", "name_of", "run_in_task", "status_of"]


STATUS_SCHEMA: Final = "outcome string"
_DONE: Final = "+"
_FAULT: Final = "-"

_JOBS_AT_A_TIME: Final = 3


def name_of(work: Callable[[str], str]) -> str:
    """Return `module:name` of a module-level function.

    Raises:
        ValueError: it is a lambda, a method or a nested function.
    """
    if not hasattr(work, "__qualname__") or "." in work.__qualname__ or "<" in work.__qualname__:
        raise ValueError(f"{work!r} is not a module-level function")
    return f"{work.__module__}:{work.__qualname__}"


def run_in_task(name: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield one outcome for each descriptor in batches of one string column.

    Args:
        name: of the function, as of `name_of`.
        batches: `pyarrow.RecordBatch`es of descriptors.
    """
    module, _, function = name.partition(":")
    work: Callable[[str], str] = getattr(import_module(module), function)
    for batch in batches:
        outcomes = [_outcome(work, descriptor) for descriptor in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_arrays([pa.array(outcomes, pa.string())], names=["outcome"])
    _clean_up()


def status_of(outcome: str) -> str:
    """Return the status in an outcome, or raise its fault."""
    if outcome.startswith(_DONE):
        return outcome[len(_DONE) :]
    raise revive(json.loads(outcome[len(_FAULT) :]))


def _clean_up() -> None:
    """Spare the next task in this process the work of a Python worker between tasks.

    A worker reads the directory of `pyspark.zip` again for each package imported from it, and
    collects garbage among everything ever imported; both cost more than the rest of a small task.
    A worker that waits for its next task keeps no memory of the last one.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
    release_memory()
    _freeze()


@cache
def _freeze() -> None:
    """Exclude all current objects from later garbage collections; once per process."""
    gc.freeze()


def _outcome(work: Callable[[str], str], descriptor: str) -> str:
    """Return status or lasting fault as text; raise a transient fault for another attempt."""
    try:
        return _DONE + work(descriptor)
    except FrameworkError as error:
        if is_lasting(error):
            return _FAULT + json.dumps(fault_of(error))
        raise FaultInTaskError(error) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """The common parts of the jobs of one `run`."""

    name: str
    tag: str
    stopped: Event
    local: Mapping[str, str]


class SparkTasks:
    """Runs tasks on the executors of a session, which stays open and unchanged."""

    def __init__(self, spark: SparkSession) -> None:
        """Bind to a session.

        Raises:
            PlanError: `spark/speculation-refused`.
        """
        check_speculation(spark)
        self._spark = spark
        self._jobs = jobs_of(spark)

    @property
    def parallelism(self) -> int:
        """Cores of all executors that are there now, as Spark counts them."""
        return self._jobs.parallelism

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Yield statuses, job by job as jobs complete.

        `work` is imported by its name on the executors, to which this package is sent.
        Leaving the iterator early, by an error or an interruption too, cancels running jobs.
        """
        self._jobs.prepare()
        name, size = name_of(work), self.parallelism
        chunks = [descriptors[at : at + size] for at in range(0, len(descriptors), size)]
        tag, stopped, local = new_tag(), Event(), self._jobs.inherited()
        with ThreadPoolExecutor(_JOBS_AT_A_TIME) as pool:
            job = partial(self._job, _Job(name=name, tag=tag, stopped=stopped, local=local))
            pending: set[Future[list[str]]] = {pool.submit(job, chunk) for chunk in chunks}
            try:
                while pending:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield from map(status_of, future.result())
            finally:
                stopped.set()
                cancel_all(partial(self._jobs.cancel, tag), {*pending})

    def _job(self, job: _Job, chunk: Sequence[str]) -> list[str]:
        """Run one job on this thread and return its outcomes; none once it is stopped."""
        if job.stopped.is_set():
            return []
        description = f"{job.name} ({len(chunk)} tasks)"
        with typed(), self._jobs.tagged(job.tag, job.local, description):
            rows = [(descriptor,) for descriptor in chunk]
            frame = self._spark.createDataFrame(rows, "descriptor string")
            answered = frame.mapInArrow(partial(run_in_task, job.name), STATUS_SCHEMA)
            outcomes = [row[0] for row in answered.collect()]
        if len(outcomes) != len(chunk):
            raise _lost(len(chunk), len(outcomes))
        return outcomes


def _lost(expected: int, found: int) -> TaskError:
    """Return the error for a job that returned a wrong number of statuses."""
    return TaskError(
        "task/lost-status",
        f"{expected} tasks returned {found} statuses",
        remedy="Run the same command again.",
    )
