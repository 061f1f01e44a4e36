"""What runs in Spark's Python workers: it finds the pure function by name and calls it.

Nothing of ours is pickled but this module's function and a name.
"""

from __future__ import annotations

import gc
import json
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from zipimport import zipimporter

import pyarrow as pa

from framework.errors import FrameworkError
from framework.spark.task_faults import FaultInTaskError, fault_of, is_lasting, revive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["STATUS_SCHEMA", "carry", "name_of", "status_of"]

STATUS_SCHEMA: Final = "outcome string"
_DONE: Final = "+"
_FAULT: Final = "-"


def name_of(work: Callable[[str], str]) -> str:
    """Return `module:name` of a module-level function.

    Raises:
        ValueError: it is a lambda, a method or lies inside another function.
    """
    if not hasattr(work, "__qualname__") or "." in work.__qualname__ or "<" in work.__qualname__:
        raise ValueError(f"{work!r} is no module-level function")
    return f"{work.__module__}:{work.__qualname__}"


def carry(name: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield one outcome for each descriptor in batches of one string column.

    Args:
        name: of the function, as `name_of` gave it.
        batches: `pyarrow.RecordBatch`es of descriptors.
    """
    module, _, function = name.partition(":")
    work: Callable[[str], str] = getattr(import_module(module), function)
    for batch in batches:
        outcomes = [_outcome(work, descriptor) for descriptor in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_arrays([pa.array(outcomes, pa.string())], names=["outcome"])
    _settle()


def status_of(outcome: str) -> str:
    """Return the status in an outcome, or raise the fault that is in it."""
    if outcome.startswith(_DONE):
        return outcome[len(_DONE) :]
    raise revive(json.loads(outcome[len(_FAULT) :]))


def _settle() -> None:
    """Spare the next task in this process what a worker does between tasks.

    It reads the directory of `pyspark.zip` again for each package that was imported from it, and
    collects garbage among all that was ever imported; both cost more than all else of a small task.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
    _freeze()


@cache
def _freeze() -> None:
    """Keep what lives now out of later collections; once in a process."""
    gc.freeze()


def _outcome(work: Callable[[str], str], descriptor: str) -> str:
    """Return status or lasting fault as text; a passing fault is raised for another attempt."""
    try:
        return _DONE + work(descriptor)
    except FrameworkError as error:
        if is_lasting(error):
            return _FAULT + json.dumps(fault_of(error))
        raise FaultInTaskError(error) from error
