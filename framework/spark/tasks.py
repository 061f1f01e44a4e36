"""Tasks over Spark: the pure function and its descriptors travel, statuses come back.

Spark moves only descriptors and statuses; files are read and written by the tasks themselves.
A Python task costs about 0.1 s of CPU, so whoever packs descriptors gives each one much to do.
A few jobs of at most `parallelism` tasks are under way at a time: while the last task of one still
runs, those of the next have begun, and the statuses of each arrive when it is done.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Final

from framework.errors import TaskError
from framework.spark.jobs import cancel, inherited, new_tag, tagged
from framework.spark.session import check_speculation
from framework.spark.spark_faults import typed
from framework.spark.task_worker import STATUS_SCHEMA, carry, name_of, status_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

__all__ = ["SparkTasks"]

_JOBS_AT_A_TIME: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What the jobs of one `run` have in common."""

    name: str
    tag: str
    stopped: Event
    local: Mapping[str, str]


class SparkTasks:
    """Runs tasks on the executors of a session, which stays open and as it was."""

    def __init__(self, spark: SparkSession) -> None:
        """Take a session.

        Raises:
            PlanError: `spark/speculation-refused`.
        """
        check_speculation(spark)
        self._spark = spark
        self._parallelism = max(1, spark.sparkContext.defaultParallelism)

    @property
    def parallelism(self) -> int:
        """Cores of all executors, as Spark counts them when the tasks are made."""
        return self._parallelism

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Yield statuses, job by job as jobs complete.

        `work` is found by its name on the executors, where this package must be installed.
        Leaving the iterator early, by an error or an interruption too, cancels what is under way.
        """
        name, size = name_of(work), self._parallelism
        chunks = [descriptors[at : at + size] for at in range(0, len(descriptors), size)]
        context, tag, stopped = self._spark.sparkContext, new_tag(), Event()
        local = inherited(context)
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
                cancel(context, tag, pending)

    def _job(self, job: _Job, chunk: Sequence[str]) -> list[str]:
        """Run one job on this thread and return its outcomes; none once it is stopped."""
        if job.stopped.is_set():
            return []
        context = self._spark.sparkContext
        with typed(), tagged(context, job.tag, job.local):
            context.setJobDescription(f"{job.name} ({len(chunk)} tasks)")
            rows = [(descriptor,) for descriptor in chunk]
            frame = self._spark.createDataFrame(rows, "descriptor string")
            carried = frame.mapInArrow(partial(carry, job.name), STATUS_SCHEMA)
            outcomes = [row[0] for row in carried.collect()]
        if len(outcomes) != len(chunk):
            raise _lost(len(chunk), len(outcomes))
        return outcomes


def _lost(expected: int, found: int) -> TaskError:
    """Return the error for a job that returned too few or too many statuses."""
    return TaskError(
        "task/lost-status",
        f"{expected} tasks returned {found} statuses",
        remedy="Run the same command again.",
    )
