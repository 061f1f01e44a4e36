"""Attempts that do all of their work and are lost before anybody hears of it."""

from __future__ import annotations

import importlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

from pyspark import TaskContext

from framework.engine.tasks import Tasks

__all__ = ["LosingTasks", "execute", "work_and_die"]


class LosingTasks:
    """Tasks on `inner`, run by `lose`: the first attempt of each dies when its work is done.

    Its files exist, and its second attempt writes them all again.
    """

    def __init__(
        self, inner: Tasks, witness: Path, lose: Callable[[str], str] | None = None
    ) -> None:
        self._inner = inner
        self._witness = witness
        self._lose = lose or work_and_die

    @property
    def parallelism(self) -> int:
        """As of the tasks inside."""
        return self._inner.parallelism

    @property
    def lost(self) -> dict[str, int]:
        """Attempts that were lost, by the name of their function."""
        names = [path.name.partition("-")[0] for path in self._witness.iterdir()]
        return {name: names.count(name) for name in names}

    def run(self, work: Callable[[str], str], descriptors: Sequence[str]) -> Iterator[str]:
        """Yield the results."""
        name = [work.__module__, work.__qualname__, str(self._witness)]
        tasks = [json.dumps([*name, each]) for each in descriptors]
        return self._inner.run(self._lose, tasks)


def execute(task: str) -> tuple[str, str, Path]:
    """Do the work of a task; return its result, the function's name and the witness."""
    module, name, witness, descriptor = json.loads(task)
    work: Callable[[str], str] = getattr(importlib.import_module(module), name)
    return work(descriptor), name, Path(witness)


def work_and_die(task: str) -> str:
    """Do the work of a task; at the first attempt, die with the result in hand."""
    result, name, witness = execute(task)
    context = TaskContext.get()
    assert context is not None
    if not context.attemptNumber():
        (witness / f"{name}-{uuid4().hex}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return result
