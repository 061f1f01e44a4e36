"""Where table services run their tasks: in this process, or on Spark if its options are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from framework.cli.places import in_process
from framework.cli.spark_session import spark_session
from framework.engine.tasks import Tasks

__all__ = ["service_tasks"]


@contextmanager
def service_tasks(master: str | None, conf: Mapping[str, str]) -> Iterator[Callable[[], Tasks]]:
    """Yield a function that returns the tasks of a service; without options, of this process.

    The first call starts Spark, so that a plan with nothing to do starts none; the session serves
    all tables of the command and is stopped with the block.

    Args:
        master: Spark's master; None means the default, if there are settings.
        conf: Spark's settings.
    """
    if master is None and not conf:
        yield in_process
        return
    with ExitStack() as stack:
        opened: list[Tasks] = []

        def tasks() -> Tasks:
            if not opened:
                from framework.spark.tasks import SparkTasks

                opened.append(SparkTasks(stack.enter_context(spark_session(master, conf))))
            return opened[0]

        yield tasks
