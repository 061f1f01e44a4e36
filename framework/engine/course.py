"""What a run works with, and how far it has come."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from framework.engine.audit.screening import NOTHING, Screened
from framework.engine.views import LISTED

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from framework.engine.audit.subject import Checker
    from framework.engine.events import Events
    from framework.engine.tasks import Tasks
    from framework.engine.views import Views
    from framework.hudi.commit.files import AuditedFiles
    from framework.hudi.commit.intent import Transaction
    from framework.hudi.commit.lease import Lease
    from framework.hudi.commit.segments import SegmentRef
    from framework.hudi.storage.port import Storage
    from framework.hudi.timeline.clock import Clock
    from framework.plan.definition import Plan
    from framework.plan.input import InputRequest

__all__ = ["SECONDS", "Course", "InputReader", "PinnedInput", "Run", "begun"]


SECONDS: Final = "seconds"
"""Of a commit's audit: wall time from the first look at the source until the commit was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedInput:
    """An input that lies in Parquet files.

    Attributes:
        paths: absolute, in the order of the rows; none where there are no rows.
        schema: the columns, None where the files tell them.
    """

    paths: tuple[str, ...]
    schema: pa.Schema | None = None


class InputReader(Protocol):
    """Reads what only an engine of queries can: other formats, options, SQL."""

    def stage(self, request: InputRequest, folder: str) -> PinnedInput:
        """Write the rows of a request as Parquet files into a new local folder."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run works with.

    Attributes:
        plan: what is to be done.
        storage: the table's.
        tasks: carries work.
        reader: None where only plain Parquet can be loaded.
        checker: None where no check can be made.
        events: who is told.
        clock: the time.
        figures: whether the gate tells figures of each column, which costs a look at all of them.
        views: tells which files make up the table.
        begun: when the run began to look at its source, of `time.monotonic`.
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
        """Return the files with what the commit says of how long the run took until now."""
        seconds = round(time.monotonic() - self.begun, 1)
        return replace(audited, proof={**audited.proof, SECONDS: seconds})


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How far a run has come.

    Attributes:
        lease: the right to write, None before `Begin`.
        transaction: what was begun, None before.
        keeping: what renews the lease until it is closed.
        job: what writing tasks are told, a value of the package whose stages these are; None before
            `Begin`.
        segments: statuses of written files.
        audited: the files with their proof, None before `Audit`.
        instant: the published instant, None before.
        summary: one line about the last stage, for people.
        input_rows: rows that came in, 0 before that is known.
        screened: rows that were taken out.
        seconds: time of each stage so far, by its name.
    """

    lease: Lease | None = None
    transaction: Transaction | None = None
    keeping: ExitStack = field(default_factory=ExitStack)
    job: object = None
    segments: tuple[SegmentRef, ...] = ()
    audited: AuditedFiles | None = None
    instant: str | None = None
    summary: str = ""
    input_rows: int = 0
    screened: Screened = NOTHING
    seconds: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def saying(self, summary: str) -> Course:
        """The same, with another summary."""
        return replace(self, summary=summary)


def begun(course: Course) -> Transaction:
    """Return the transaction that `Begin` made.

    Raises:
        ValueError: a stage came before it.
    """
    if course.transaction is None:
        raise ValueError("no stage comes before `Begin`")
    return course.transaction
