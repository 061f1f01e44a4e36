"""The look at the locations of a run by tasks themselves, where executors cannot be asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from framework.engine.inspect.reach import ReachTask, places_seen, reach_task
from framework.engine.tasks import Tasks, encode
from framework.errors import EngineError, TaskError
from framework.spark.cluster.needs import reach_fault

__all__ = ["check_reach"]

_NO_MODULE: Final = re.compile(r"(?:ModuleNotFoundError|ImportError): ([^\[\n]*)")


def check_reach(tasks: Tasks, *, reads: Sequence[str], writes: Sequence[str]) -> None:
    """Let as many tasks as run at once look for the locations of a run.

    Args:
        tasks: runs them.
        reads: locations that tasks read.
        writes: locations that tasks also write to.

    Raises:
        EngineError: `cluster/packages`, `cluster/not-shared`, `cluster/unreached`.
        StorageError: this process itself cannot read or write there.
    """
    with places_seen(reads, writes) as places:
        task = encode(ReachTask(places=places))
        try:
            found = [*tasks.run(reach_task, [task] * tasks.parallelism)]
        except TaskError as error:
            missing = _NO_MODULE.search(f"{error}\n{error.__cause__}")
            if missing is None:
                raise
            raise EngineError(
                "cluster/packages",
                f"tasks cannot import what they need: {missing[1].strip()}",
                remedy="Install the packages of Lakestrap for the Python of the executors, in the"
                " versions of this machine (docs/guide/clusters.md).",
            ) from error
    fault = next(filter(None, map(reach_fault, found)), None)
    if fault is not None:
        raise fault
