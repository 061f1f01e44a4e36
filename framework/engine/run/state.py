"""One run from start to end: its lease, its pending instant, its stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from framework import errors
from framework.engine.events import StageFinished, StageStarted
from framework.engine.run.context import RunContext, lean_arrow
from framework.engine.run.quarantined_rows import withdraw_quarantined_rows
from framework.hudi.commit.intent import Intent, Transaction, read_intent
from framework.hudi.commit.lease import Lease, Owner, acquire, current_lease, keep, release
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.recovery import roll_back_own
from framework.hudi.commit.staging import Staging, new_write_id
from framework.hudi.commit.transaction import begin
from framework.plan.stages import Stage, stage_name

__all__ = ["RunState", "StageReport"]

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
            withdraw_quarantined_rows(self.ctx, self.transaction.intent)
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
