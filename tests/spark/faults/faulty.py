"""Faults inside Spark tasks: what a worker does in the middle of a file, and a note that it did.

The orders for the real work go through `faulty_write`, which runs in the Python worker.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

from pyspark import TaskContext

from framework.engine.bootstrap.write import write_files_task
from framework.engine.run.durable_files import FileStore
from framework.engine.tasks import Tasks

__all__ = ["Fault", "FaultyTasks", "faulty_write"]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens to the attempts of the writing tasks.

    Attributes:
        kind: `killed` dies by SIGKILL with half of a file written; `raises` fails at that place.
        witness: folder in which each attempt leaves a note.
        attempts: so many attempts of each task meet it; the next one is spared.
        file: which file of the task, counted from 0.
    """

    kind: str
    witness: str
    attempts: int = 1
    file: int = 1

    def notes(self, what: str) -> list[str]:
        """Return the notes of one kind, `started`, `killed`, `raises` or `done`."""
        return sorted(path.name for path in Path(self.witness).glob(f"{what}-*"))


class FaultyTasks:
    """Tasks on `inner`, with a fault in those that write files."""

    def __init__(self, inner: Tasks, fault: Fault) -> None:
        self._inner = inner
        self._fault = fault

    @property
    def parallelism(self) -> int:
        """As of the tasks inside."""
        return self._inner.parallelism

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Yield the statuses."""
        if work is not write_files_task:
            return self._inner.run(work, descriptors)
        fault = asdict(self._fault)
        tasks = [json.dumps({"fault": fault, "work": each}) for each in descriptors]
        return self._inner.run(faulty_write, tasks)


def faulty_write(task: str) -> str:
    """Do the work of a task, unless this attempt is one that fails."""
    fields = json.loads(task)
    fault = Fault(**fields["fault"])
    context = TaskContext.get()
    assert context is not None
    attempt = context.attemptNumber()
    _note(fault, f"started-{attempt}")
    with _meeting(fault, attempt):
        status = write_files_task(fields["work"])
    _note(fault, f"done-{attempt}")
    return status


@contextlib.contextmanager
def _meeting(fault: Fault, attempt: int) -> Iterator[None]:
    """Let the attempt meet the fault, if it is one that does."""
    if attempt >= fault.attempts:
        yield
        return
    store = FileStore._store  # noqa: SLF001  the place where a file is half written

    def half_way(self: FileStore, path: str, data: bytes) -> int:
        """Store a file, or half of it."""
        if len(self._checksums) < fault.file:
            return store(self, path, data)
        with self.storage.create(path) as out:
            out.write(data[: len(data) // 2])
            out.flush()
            _note(fault, f"{fault.kind}-{attempt}")
            if fault.kind == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError(f"no room for {path}")

    FileStore._store = half_way  # type: ignore[method-assign]  # noqa: SLF001  put back below
    try:
        yield
    finally:
        FileStore._store = store  # type: ignore[method-assign]  # noqa: SLF001  put back


def _note(fault: Fault, what: str) -> None:
    """Leave a note that survives the process."""
    Path(fault.witness, f"{what}-{uuid4().hex}").touch()
