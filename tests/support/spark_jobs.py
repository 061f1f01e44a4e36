"""Pure functions for tests of Spark tasks: they return, fail, die or wait."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

from framework.errors import AuditFailedError, SourceDriftError, StorageError, Where

__all__ = [
    "die_each_time",
    "die_once",
    "drift",
    "echo",
    "fail_storage",
    "refuse",
    "trip",
    "wait_for",
]


def echo(descriptor: str) -> str:
    """Return the descriptor and the process that had it."""
    return f"{descriptor}:{os.getpid()}"


def die_once(descriptor: str) -> str:
    """Kill the worker on the first attempt at the descriptor, a file to leave a trace in."""
    trace = Path(descriptor)
    if _attempts(trace) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return descriptor


def die_each_time(descriptor: str) -> str:
    """Kill the worker on each attempt."""
    os.kill(os.getpid(), signal.SIGKILL)
    return descriptor


def drift(descriptor: str) -> str:
    """Raise a fault that another attempt meets too; the descriptor counts attempts."""
    _attempts(Path(descriptor))
    raise SourceDriftError(
        "source/drift",
        'it is "gone": é\n',
        where=Where(file="/a b/c", partition="p=1", offset=7),
        remedy="Wait.",
    )


def refuse(descriptor: str) -> str:
    """Raise a fault that has a report."""
    raise AuditFailedError("audit/duplicates", "two alike", report={"rows": [descriptor]})


def fail_storage(descriptor: str) -> str:
    """Raise a fault that passes, until the attempt that the descriptor wants: `[file, attempt]`."""
    file, wanted = json.loads(descriptor)
    if _attempts(Path(file)) < wanted:
        raise StorageError("storage/full", "no space", where=Where(file=file), remedy="Make some.")
    return "done"


def trip(descriptor: str) -> str:
    """Raise an unexpected error."""
    raise ZeroDivisionError(f"over {descriptor}")


def wait_for(descriptor: str) -> str:
    """Say so in `[folder, name]`, then wait a minute, unless the name is `quick`."""
    folder, name = map(str, json.loads(descriptor))
    (Path(folder) / name).touch()
    if name != "quick":
        time.sleep(60)
        (Path(folder) / f"{name}-ended").touch()
    return name


def _attempts(trace: Path) -> int:
    """Leave a trace of this attempt and return how many there are."""
    with trace.open("a") as out:
        out.write("x")
    return len(trace.read_text())
