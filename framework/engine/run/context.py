"""The context of a run: one frozen value that every step of both pipelines takes.

Arrow's own allocator keeps freed memory, more the longer a run takes: 40 MB in a driver of 200 at
100,000 files. So a run returns it between its steps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import pyarrow as pa

from framework.engine.audit.subject import Checker
from framework.engine.events import Events
from framework.engine.reading.views import LISTED, Views
from framework.engine.tasks import Tasks
from framework.hudi.bootstrap.file_list import FileList
from framework.hudi.commit.statuses import AuditedFiles
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import Clock
from framework.plan.definition import Plan
from framework.plan.load import InputRequest

__all__ = ["SECONDS", "Committed", "InputReader", "PinnedInput", "RunContext", "lean_arrow"]

SECONDS: Final = "seconds"
"""Entry of a commit's audit: wall time from the first read of the source to the commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedInput:
    """An input in Parquet files.

    Attributes:
        paths: absolute, in the order of the rows; none if there are no rows.
        schema: the columns; None if the files define them.
    """

    paths: FileList | tuple[str, ...]
    schema: pa.Schema | None = None


class InputReader(Protocol):
    """Reads what only a query engine can read: other formats, options, SQL."""

    def stage(self, request: InputRequest, folder: str) -> PinnedInput:
        """Write the rows of a request as Parquet files into a new local folder."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The context of a run.

    Attributes:
        plan: the plan.
        storage: the table's.
        tasks: run the work.
        reader: None if only plain Parquet can be loaded.
        checker: None if no check can run.
        events: receive progress, notes and reports.
        clock: the time.
        figures: whether the gate reports figures of each column, which costs a scan of all of them.
        views: report which files make up the table.
        begun: when the run started to read its source, of `time.monotonic`.
    """

    plan: Plan
    storage: Storage
    tasks: Tasks
    reader: InputReader | None
    events: Events
    clock: Clock
    checker: Checker | None = None
    figures: bool = False
    views: Views = LISTED
    begun: float = field(default_factory=time.monotonic)

    def timed(self, audited: AuditedFiles) -> AuditedFiles:
        """Return the files with the run's wall time until now added to the proof."""
        seconds = round(time.monotonic() - self.begun, 1)
        return replace(audited, proof={**audited.proof, SECONDS: seconds})


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What a run published: its instant, and the files with their proof."""

    instant: str
    audited: AuditedFiles


@contextmanager
def lean_arrow() -> Iterator[None]:
    """Within the block, let Arrow use the system's allocator; at its end return free memory.

    Applies to the whole process; earlier allocations stay where they are.
    """
    before, lean = pa.default_memory_pool(), pa.system_memory_pool()
    pa.set_memory_pool(lean)
    try:
        yield
    finally:
        lean.release_unused()
        pa.set_memory_pool(before)
