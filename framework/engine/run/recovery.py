"""What an earlier run left: rolled back, or finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.hudi.commit.lease import Owner, acquire, release
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.recovery import roll_back, roll_forward
from framework.hudi.commit.staging import new_write_id
from framework.plan.stages import Recovery

if TYPE_CHECKING:
    from framework.engine.run.context import RunContext
    from framework.engine.run.state import RunState
    from framework.plan.stages import Recover

__all__ = ["recover"]

_ROUNDS = 64


def recover(run: RunState, stage: Recover | None) -> None:
    """Roll back or finish everything that earlier runs left, under a lease of its own.

    Does nothing without a stage, and keeps everything where the run is to be resumed.

    Raises:
        LeaseHeldError: a run is alive after all.
        CommitConflictError: it published while we looked; the next run finds it done.
    """
    if stage is None:
        return
    with run.stage(stage) as report:
        if stage.recovery is Recovery.RESUME:
            report.summary = f"goes on with {stage.files_done:,} files"
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
