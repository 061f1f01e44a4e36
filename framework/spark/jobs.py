"""Jobs on threads of their own, so that they can be cancelled when the caller is interrupted.

An interruption during a call to Java would leave its answer to the next call, and the job running.
So the thread that may be interrupted waits, while other threads call Java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

from py4j.protocol import Py4JError

from framework.spark.task_faults import typed

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["cancel", "cancel_all", "cancel_tagged", "inherited", "new_tag", "run_job", "tagged"]

Result = TypeVar("Result")

_CANCEL_AGAIN_S: Final = 0.2
_INHERITED: Final = ("spark.scheduler.pool", "spark.jobGroup.id")


def run_job(context: SparkContext, description: str, work: Callable[[], Result]) -> Result:
    """Return the result of `work`, which runs its jobs on a thread of its own.

    The jobs are in the pool and the job group of the calling thread. Spark's errors are raised as
    ours. If the wait ends by an error or an interruption, the jobs are cancelled, and none is
    running when it is raised.
    """
    tag, local = new_tag(), inherited(context)

    def tagged_work() -> Result:
        with typed(), tagged(context, tag, local):
            context.setJobDescription(description)
            return work()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(tagged_work)
        try:
            return future.result()
        finally:
            cancel(context, tag, {future})


def new_tag() -> str:
    """Return a unique tag for jobs."""
    return f"lakestrap-{uuid4().hex}"


def inherited(context: SparkContext) -> dict[str, str]:
    """Return the properties that jobs inherit from the calling thread: pool and job group."""
    with typed():
        found = {key: context.getLocalProperty(key) for key in _INHERITED}
    return {key: value for key, value in found.items() if value is not None}


@contextmanager
def tagged(context: SparkContext, tag: str, local: Mapping[str, str]) -> Iterator[None]:
    """Tag the jobs of this thread, and make their tasks interruptible."""
    for key, value in local.items():
        context.setLocalProperty(key, value)
    context.addJobTag(tag)
    context.setInterruptOnCancel(True)
    try:
        yield
    finally:
        with suppress(Py4JError):  # if the JVM has ended
            context.removeJobTag(tag)


def cancel(context: SparkContext, tag: str, pending: set[Future[Any]]) -> None:
    """Cancel jobs and wait until none is running; does nothing if all are done."""
    cancel_all(partial(cancel_tagged, context, tag), pending)


def cancel_tagged(context: SparkContext, tag: str) -> None:
    """Cancel the jobs with a tag."""
    with suppress(Py4JError):  # if the JVM has ended, and the jobs with it
        context.cancelJobsWithTag(tag)


def cancel_all(cancel_running: Callable[[], None], pending: set[Future[Any]]) -> None:
    """Cancel the jobs of futures and wait until none is running; nothing if all are done."""
    for future in pending:
        future.cancel()
    pending = {future for future in pending if not future.done()}
    while pending:
        cancel_running()
        pending = wait(pending, timeout=_CANCEL_AGAIN_S).not_done
