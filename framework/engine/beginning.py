"""How a run begins, and how it is settled when it fails."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from framework.engine.quarantine.settling import withdraw_rows_aside
from framework.errors import (
    AfterCommitError,
    EngineError,
    FrameworkError,
    LeaseHeldError,
    OutcomeUnknownError,
)
from framework.hudi.commit.intent import Intent, Transaction, read_intent
from framework.hudi.commit.lease import Owner, acquire, current_lease, keep, release, require
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.recovery import roll_back
from framework.hudi.commit.staging import Staging, new_write_id
from framework.hudi.commit.transaction import begin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from framework.engine.course import Course, Run
    from framework.hudi.commit.lease import Lease

__all__ = ["begin_run", "settled"]


def begin_run(
    work: Run,
    course: Course,
    new_intent: Callable[[str], Intent],
    prepare: Callable[[Transaction], object],
    *,
    resumes: str | None = None,
) -> Course:
    """Take the lease and make the pending instant.

    Args:
        work: what the run works with.
        course: how far it has come.
        new_intent: makes the intent for a write id; not asked where a resumed run has one.
        prepare: is given the transaction before the pending instant is made; what it returns
            becomes the course's job.
        resumes: write id to go on under, None for a new one.
    """
    write_id = resumes or new_write_id()
    lease = acquire(work.storage, Owner.here(write_id), work.clock)
    course = replace(course, lease=lease)
    with settled(work, lambda: course):
        course.keeping.enter_context(keep(work.storage, lease, work.clock))
        root = Staging(write_id=write_id).root
        intent = read_intent(work.storage, root) or new_intent(write_id)
        transaction = Transaction(
            storage=work.storage, intent=intent, lease=lease, clock=work.clock
        )
        job = prepare(transaction)
        begin(transaction)
    return replace(
        course, transaction=transaction, job=job, summary=f"instant {intent.requested_time}"
    )


@contextmanager
def settled(work: Run, course: Callable[[], Course]) -> Iterator[None]:
    """Settle what a run has begun where the block fails; `course` tells how far it came.

    An error rolls back what the run made, an interruption leaves the files for the next run to go
    on with; either gives the lease back. After a commit, and where nobody can tell whether there
    was one, nothing is touched.

    Raises:
        LeaseHeldError: instead of an `EngineError` that the loss of the lease brought about.
    """
    try:
        yield
    except (AfterCommitError, OutcomeUnknownError):
        raise
    except FrameworkError as error:
        lost = _abandon(work, course())
        if lost is not None and isinstance(error, EngineError):
            raise lost from error
        raise
    except BaseException:
        _leave(work, course())
        raise


def _abandon(work: Run, course: Course) -> LeaseHeldError | None:
    """Undo a run that failed and give the lease back; return the loss of the lease, if it is lost.

    Best effort: what cannot be undone now is undone by the next run.
    """
    course.keeping.close()
    if course.lease is None:
        return None
    withdraw_rows_aside(work, course)
    lost = None
    with suppress(FrameworkError):
        try:
            _undo(work, course.lease)
        except LeaseHeldError as found:
            lost = found
            _drop(work, course.lease)
        release(work.storage, course.lease)
    return lost


def _leave(work: Run, course: Course) -> None:
    """End a run that was interrupted: its files stay for the next one, the lease is given back."""
    course.keeping.close()
    if course.lease is not None:
        with suppress(FrameworkError):
            release(work.storage, course.lease)


def _undo(work: Run, lease: Lease) -> None:
    """Roll back what the run with this lease made.

    Raises:
        LeaseHeldError: it has lost its lease.
    """
    require(work.storage, lease)
    pending = find_pending(work.storage)
    if pending is None:
        return
    folders = (folder.rsplit("/", 1)[-1] for folder in pending.folders)
    mine = lease.owner.write_id in {pending.write_id, *folders}
    if mine and pending.kind in {PendingKind.DEAD_RUN, PendingKind.ORPHANS}:
        roll_back(work.storage, pending, lease)


def _drop(work: Run, lease: Lease) -> None:
    """Delete the folder that a run without a lease has made again, unless it is in use.

    Another process may go on with the run, or may have to.
    """
    write_id = lease.owner.write_id
    holder, pending = current_lease(work.storage), find_pending(work.storage)
    is_held = holder is not None and holder.owner.write_id == write_id
    is_pending = (
        pending is not None
        and pending.kind is PendingKind.DEAD_RUN
        and pending.write_id == write_id
    )
    if not is_held and not is_pending:
        Staging(write_id=write_id).remove(work.storage)
