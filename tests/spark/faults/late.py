"""Late attempts: a second attempt of a writing task that is paused until the run is over.

As a program, `python late.py DESCRIPTOR-FILE STEP OUTCOME-FILE`, it stops itself before that step
in the storage; once continued, it writes its result to the outcome file.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from framework.engine.bootstrap import write
from framework.engine.bootstrap.write import write_files_task
from framework.engine.tasks import Tasks
from framework.errors import FrameworkError
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from tests.support.fault_storage import FaultStorage

__all__ = ["DONE", "Shadowed", "attempt"]

DONE = "done"


class Shadowed:
    """Tasks on `inner`; before the first one that writes, `shadow` gets its descriptor."""

    def __init__(self, inner: Tasks, shadow: Callable[[str], object]) -> None:
        self._inner = inner
        self._shadow = shadow
        self._is_cast = False

    @property
    def parallelism(self) -> int:
        """As of the tasks inside."""
        return self._inner.parallelism

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Yield the statuses."""
        if work is write_files_task and not self._is_cast:
            self._is_cast = True
            self._shadow(descriptors[0])
        return self._inner.run(work, descriptors)


def attempt(descriptor: str) -> str:
    """Attempt a writing task and return `DONE`, or the condition of its error."""
    try:
        write_files_task(descriptor)
    except FrameworkError as error:
        return error.condition
    return DONE


def main() -> None:
    """Attempt a task, with a stop before one of its steps."""
    descriptor, step, outcome = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])

    def stop(at: int) -> None:
        """Stop this process."""
        if at == step:
            os.kill(os.getpid(), signal.SIGSTOP)

    def opening(location: str) -> Storage:
        """Open a storage in which the step counts."""
        return FaultStorage(open_storage(location), hook=stop)

    write.open_storage = opening  # type: ignore[attr-defined]  # what the task opens
    outcome.write_text(attempt(descriptor.read_text()))


if __name__ == "__main__":
    main()
