"""Settling what an earlier run left: rolled back, or finished."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from framework.hudi.commit.lease import Owner, acquire, release
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.recovery import roll_back, roll_forward
from framework.hudi.commit.staging import new_write_id

if TYPE_CHECKING:
    from framework.engine.course import Course, Run
    from framework.plan.stages import Recover

__all__ = ["recover"]

_ROUNDS = 64


def recover(work: Run, course: Course, stage: Recover) -> Course:
    """Settle everything that earlier runs left, under a lease of its own.

    Raises:
        LeaseHeldError: a run is alive after all.
        CommitConflictError: it published while we looked; the next run finds it done.
    """
    write_id = new_write_id()
    lease = acquire(work.storage, Owner.here(write_id), work.clock)
    try:
        for _ in range(_ROUNDS):
            pending = find_pending(work.storage, own=write_id)
            if pending is None or pending.kind is PendingKind.FOREIGN:
                break
            if pending.kind is PendingKind.UNFINISHED:
                roll_forward(work.storage, pending, lease)
            else:
                roll_back(work.storage, pending, lease)
    finally:
        release(work.storage, lease)
    return replace(course, summary=f"{stage.recovery.value.replace('_', ' ')}: {stage.reason}")
