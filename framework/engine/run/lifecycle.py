"""The lifecycle of a run: start, end, interruption, and recovery by the next run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum, unique

from framework import errors
from framework.engine.places import missing_parents, remove_empty
from framework.engine.run.inspection import CHECK_NOT_RUN, report_refusal
from framework.engine.run.state import RunContext, RunState
from framework.hudi.commit.lease import Owner, acquire, release
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.recovery import roll_back, roll_forward
from framework.hudi.commit.staging import new_write_id
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.stages import Recover, Recovery

__all__ = ["Interruption", "interruption", "lifecycle", "recover"]

_ROUNDS = 64


@unique
class Interruption(StrEnum):
    """How far an interrupted run got.

    `UNTOUCHED` left nothing, `RESUMABLE` left files that no reader sees, `PUBLISHED` left a
    complete table, perhaps with leftovers beside it; `UNKNOWN` could not be determined.
    """

    UNTOUCHED = "untouched"
    RESUMABLE = "resumable"
    PUBLISHED = "published"
    UNKNOWN = "unknown"

    def sentence(self, spec: str) -> str:
        """Return its meaning and the next step, for the user of a spec."""
        run = f"`run-pipeline run {spec}`"
        match self:
            case Interruption.UNTOUCHED:
                return f"Nothing was published and nothing is left; start again with {run}."
            case Interruption.RESUMABLE:
                return f"Nothing was published; {run} resumes it, or starts over with --fresh."
            case Interruption.PUBLISHED:
                return (
                    f"The table was published and is complete; {run} finishes the remaining steps."
                )
            case Interruption.UNKNOWN:
                return f"Its leftovers could not be read; see `run-pipeline status {spec}`."


@contextmanager
def lifecycle(ctx: RunContext) -> Iterator[RunState]:
    """Provide the block with a run that ends with the block.

    A refusal of the gate is reported before it is raised, and folders that were made above the
    table are removed if nothing was published.

    Raises:
        LeaseHeldError: instead of an `EngineError` caused by the loss of the lease.
    """
    run, parents = RunState(ctx), missing_parents(ctx.plan.target.location)
    try:
        yield run
    except (errors.AfterCommitError, errors.OutcomeUnknownError):
        run.stop_renewal()
        raise
    except errors.FrameworkError as error:
        lost = run.abandon()
        fault = lost if lost is not None and isinstance(error, errors.EngineError) else error
        if isinstance(fault, errors.AuditFailedError) or fault.condition == CHECK_NOT_RUN:
            report_refusal(run, fault)
        remove_empty(parents)
        if fault is not error:
            raise fault from error
        raise
    except BaseException:
        run.leave()
        raise


def interruption(location: str, completed: Sequence[str]) -> Interruption:
    """Return the state of a table's location after an interruption.

    `completed` are the instants that were completed before the run.
    """
    try:
        storage = open_storage(location)
        pending = find_pending(storage)
        now = [each.requested_time for each in load_timeline(storage).completed]
    except errors.FrameworkError:
        return Interruption.UNKNOWN
    if set(now) - set(completed) or (pending and pending.kind is PendingKind.UNFINISHED):
        return Interruption.PUBLISHED
    return Interruption.UNTOUCHED if pending is None else Interruption.RESUMABLE


def recover(run: RunState, stage: Recover | None) -> None:
    """Roll back or finish everything that earlier runs left, under a separate lease.

    Does nothing without a stage, and keeps everything if the run is to be resumed.

    Raises:
        LeaseHeldError: a run is still alive.
        CommitConflictError: it published meanwhile; the next run finds it done.
    """
    if stage is None:
        return
    with run.stage(stage) as report:
        if stage.recovery is Recovery.RESUME:
            report.summary = f"resumes with {stage.files_done:,} files"
            return
        _recover(run.ctx)
        report.summary = f"{stage.recovery.value.replace('_', ' ')}: {stage.reason}"


def _recover(ctx: RunContext) -> None:
    """Roll back or finish one earlier run after the other."""
    write_id = new_write_id()
    lease = acquire(ctx.storage, Owner.here(write_id), ctx.clock)
    try:
        for _ in range(_ROUNDS):
            pending = find_pending(ctx.storage, own=write_id)
            if pending is None or pending.kind is PendingKind.FOREIGN:
                break
            if pending.kind is PendingKind.UNFINISHED:
                roll_forward(ctx.storage, pending, lease)
            else:
                roll_back(ctx.storage, pending, lease)
    finally:
        release(ctx.storage, lease)
