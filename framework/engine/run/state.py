"""One run from start to end: its context, lease, pending instant, stages and quarantined rows.

The context is one frozen value that every step of both pipelines takes. Rows that a run quarantined
are named just before its commit, and removed if there is none.

Arrow's own allocator keeps freed memory, more the longer a run takes: 40 MB in a driver of 200 at
100,000 files. So a run returns it between its steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Protocol, TypeVar

import pyarrow as pa

from framework import errors
from framework.engine.audit.screen import Screened
from framework.engine.audit.subject import Checker
from framework.engine.events import Events, StageFinished, StageStarted
from framework.engine.places import canonical
from framework.engine.quarantine.datasets import clear_place
from framework.engine.quarantine.quarantined_batch import (
    QuarantinedBatch,
    gathering_place,
    name_batch,
    withdraw,
)
from framework.engine.reading.views import LISTED, Views
from framework.engine.tasks import Tasks
from framework.errors import FrameworkError
from framework.hudi.bootstrap.file_list import FileList
from framework.hudi.commit.intent import Intent, Transaction, read_intent
from framework.hudi.commit.lease import Lease, Owner, acquire, current_lease, keep, release
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.recovery import roll_back_own
from framework.hudi.commit.staging import Staging, new_write_id
from framework.hudi.commit.statuses import AuditedFiles
from framework.hudi.commit.transaction import begin
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.clock import Clock
from framework.plan.definition import Plan
from framework.plan.load import InputRequest
from framework.plan.stages import Stage, stage_name

__all__ = [
    "SECONDS",
    "Committed",
    "InputReader",
    "PinnedInput",
    "RunContext",
    "RunState",
    "StageReport",
    "lean_arrow",
    "name_quarantined_rows",
    "quarantine_place",
]

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


T = TypeVar("T")


@dataclass
class StageReport:
    """The report of a finished stage: `summary`, one line for people."""

    summary: str = ""


class RunState:
    """One run from start to end.

    Attributes:
        ctx: the context of the run.
        transaction: the pending instant; None until it is on the timeline.
        seconds: time of each finished stage, by its name.
    """

    def __init__(self, ctx: RunContext) -> None:
        self.ctx = ctx
        self.transaction: Transaction | None = None
        self.seconds: dict[str, float] = {}
        self._lease: Lease | None = None
        self._renewal = ExitStack()

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[StageReport]:
        """Report the start and, unless the block fails, the end of a stage."""
        name, begun, report = stage_name(stage), time.monotonic(), StageReport()
        files, rows = getattr(stage, "files", 0), getattr(stage, "rows", 0)
        self.ctx.events(StageStarted(stage=name, files=files, rows=rows))
        with lean_arrow():
            yield report
        seconds = time.monotonic() - begun
        self.ctx.events(StageFinished(stage=name, seconds=seconds, summary=report.summary))
        self.seconds[name] = seconds

    def begin(
        self,
        new_intent: Callable[[str], Intent],
        prepare: Callable[[Transaction], T],
        *,
        resumes: str | None = None,
    ) -> tuple[Transaction, T]:
        """Take the lease, keep renewing it, and create the pending instant.

        Args:
            new_intent: makes the intent for a write id; not called if a resumed run has one.
            prepare: called with the transaction before the pending instant is created.
            resumes: write id to resume; None for a new one.

        Returns:
            The transaction, and what `prepare` returned.

        Raises:
            LeaseHeldError: another run holds the lease.
        """
        storage, clock = self.ctx.storage, self.ctx.clock
        write_id = resumes or new_write_id()
        self._lease = acquire(storage, Owner.here(write_id), clock)
        self._renewal.enter_context(keep(storage, self._lease, clock))
        intent = read_intent(storage, Staging(write_id=write_id).root) or new_intent(write_id)
        transaction = Transaction(storage=storage, intent=intent, lease=self._lease, clock=clock)
        prepared = prepare(transaction)
        begin(transaction)
        self.transaction = transaction
        return transaction, prepared

    def stop_renewal(self) -> None:
        """Stop renewing the lease; idempotent."""
        self._renewal.close()

    def abandon(self) -> errors.LeaseHeldError | None:
        """Roll back and release the lease; return the loss of the lease, if it is lost.

        Best effort: the next run undoes the rest.
        """
        self.stop_renewal()
        if self._lease is None:
            return None
        if self.transaction is not None:
            _withdraw_quarantined_rows(self.ctx, self.transaction.intent)
        storage, lost = self.ctx.storage, None
        with suppress(errors.FrameworkError):
            try:
                roll_back_own(storage, self._lease)
            except errors.LeaseHeldError as found:
                lost = found
                _drop(self.ctx, self._lease)
            release(storage, self._lease)
        return lost

    def leave(self) -> None:
        """End an interrupted run: its files stay for the next one."""
        self.stop_renewal()
        if self._lease is not None:
            with suppress(errors.FrameworkError):
                release(self.ctx.storage, self._lease)


def _drop(ctx: RunContext, lease: Lease) -> None:
    """Delete the folder that a run without a lease has recreated, unless it is in use.

    Another process may resume the run, or need to.
    """
    write_id = lease.owner.write_id
    holder, pending = current_lease(ctx.storage), find_pending(ctx.storage)
    is_held = holder is not None and holder.owner.write_id == write_id
    is_pending = (
        pending is not None
        and pending.kind is PendingKind.DEAD_RUN
        and pending.write_id == write_id
    )
    if not is_held and not is_pending:
        Staging(write_id=write_id).remove(ctx.storage)


_BOOTSTRAP: Final = "bootstrap"


def quarantine_place(ctx: RunContext, intent: Intent) -> str:
    """Return where a run collects rows, after removing earlier leftovers; "" if it collects none.

    Raises:
        PlanError: `quarantine/of-another-table`.
    """
    location = ctx.plan.target.quality.quarantine
    if location is None:
        return ""
    table = ctx.storage.location
    clear_place(location, table, intent.write_id)
    return gathering_place(location, table, intent.write_id)


def name_quarantined_rows(ctx: RunContext, intent: Intent, screened: Screened) -> None:
    """Name the rows that were quarantined; does nothing if there are none.

    Raises:
        StorageError, CorruptFileError, PlanError: see `name_batch`; nothing may be published.
    """
    quality, load = ctx.plan.target.quality, ctx.plan.load
    if quality.quarantine is None or not screened.quarantined:
        return
    at = datetime.fromtimestamp(ctx.clock.now_ms() / 1000, tz=UTC)
    batch = QuarantinedBatch(
        table=canonical(ctx.storage.location),
        instant=intent.requested_time,
        run_id=intent.write_id,
        rows=screened.quarantined,
        by_rule={name: count for name, count in screened.by_rule.items() if count},
        at=at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        operation=_BOOTSTRAP if load is None else load.operation.value,
        redacted=quality.redacted,
    )
    name_batch(quality.quarantine, batch)


def _withdraw_quarantined_rows(ctx: RunContext, intent: Intent) -> None:
    """Remove the rows that an unpublished run quarantined; the next run sweeps any rest."""
    location = ctx.plan.target.quality.quarantine
    if location is not None:
        with suppress(FrameworkError):
            withdraw(location, ctx.storage.location, intent.write_id, intent.requested_time)
