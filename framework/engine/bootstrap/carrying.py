"""What the first stages of a bootstrap do: from a lease to audited files."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

from framework.engine.audit.gate import AuditPlace, audit
from framework.engine.audit.spill import bucket_bits
from framework.engine.bootstrap.course import (
    INVENTORY_FACT,
    SPEC_FACT,
    Course,
    Run,
    begun,
    table_schemas,
    work_ranges,
)
from framework.engine.bootstrap.job import BootstrapJob, key_source
from framework.engine.bootstrap.resuming import usable_segments
from framework.engine.bootstrap.writing import Ledger, write_files
from framework.engine.tasks import LimitedTasks
from framework.errors import (
    AfterCommitError,
    CorruptFileError,
    EngineError,
    FrameworkError,
    LeaseHeldError,
    OutcomeUnknownError,
    Where,
)
from framework.hudi.bootstrap.source_schema import encode_schema
from framework.hudi.commit.files import WrittenFiles, written_files
from framework.hudi.commit.intent import Intent, Transaction, read_intent
from framework.hudi.commit.journal import Journal
from framework.hudi.commit.lease import Owner, acquire, current_lease, keep, release, require
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.recovery import roll_back
from framework.hudi.commit.segments import SegmentRef
from framework.hudi.commit.staging import Staging, new_write_id
from framework.hudi.commit.transaction import begin
from framework.hudi.storage.opening import open_storage
from framework.hudi.table.layout import join
from framework.hudi.table.schema import with_meta_columns
from framework.hudi.timeline.clock import next_instant
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from framework.hudi.bootstrap.inventory import InventoryHandle
    from framework.hudi.commit.lease import Lease
    from framework.plan.stages import Begin
    from framework.vocabulary import BootstrapMode

__all__ = ["audit_files", "begin_run", "settled", "write_stage"]

_OPERATION: Final = "BOOTSTRAP"


def begin_run(work: Run, course: Course, stage: Begin) -> Course:
    """Take the lease, freeze the inventory in the run's folder, make the pending instant.

    A resumed run finds its inventory, its intent and the segments that are still whole.
    """
    write_id = stage.resumes or new_write_id()
    staging = Staging(write_id=write_id)
    lease = acquire(work.storage, Owner.here(write_id), work.clock)
    course = replace(course, lease=lease)
    with settled(work, lambda: course):
        course.keeping.enter_context(keep(work.storage, lease, work.clock))
        intent = read_intent(work.storage, staging.root) or _new_intent(work, stage, write_id)
        transaction = Transaction(
            storage=work.storage, intent=intent, lease=lease, clock=work.clock
        )
        handle = _freeze_inventory(work, staging)
        begin(transaction)
        job = _job(work, intent, handle)
        done = _journaled(work, staging, job) if stage.resumes else ()
    return replace(
        course,
        transaction=transaction,
        job=job,
        segments=done,
        summary=f"instant {intent.requested_time}",
    )


def write_stage(work: Run, course: Course, mode: BootstrapMode) -> Course:
    """Write the files of all partitions of one mode that have none yet, batch by batch."""
    transaction, job = begun(course)
    journal = Journal(work.storage, transaction.intent.staging)
    target, partitions = work.plan.target, work.plan.of_mode(mode)
    size = target.partitions_per_batch or len(partitions) or 1
    written = before = written_files(course.segments)
    for start in range(0, len(partitions), size):
        written = write_files(
            LimitedTasks(work.tasks, target.parallelism or work.tasks.parallelism),
            job,
            work_ranges(partitions[start : start + size]),
            Ledger(journal=lambda ref: journal.append(asdict(ref)), done=written.segments),
            events=work.events,
        )
    files = written.files - before.files
    summary = f"{files:,} files, {written.bytes - before.bytes:,} bytes"
    return replace(course, segments=written.segments, summary=summary)


def audit_files(work: Run, course: Course) -> Course:
    """Prove the keys of all written files."""
    transaction, job = begun(course)
    place = AuditPlace(
        table=work.storage.location,
        folder=join(transaction.intent.staging.spill, "audit"),
        keys=job.key_source,
    )
    audited = audit(work.tasks, _all_files(work, course), place, events=work.events)
    summary = f"{audited.proof['rows']:,} keys unique and not null ({audited.proof['method']})"
    return replace(course, audited=audited, summary=summary)


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


def _new_intent(work: Run, stage: Begin, write_id: str) -> Intent:
    instant = stage.instant or next_instant(work.clock, load_timeline(work.storage))
    handle = work.plan.inventory
    return Intent(
        write_id=write_id,
        requested_time=instant,
        action=Action(stage.action),
        operation=_OPERATION,
        is_new_table=True,
        facts={
            SPEC_FACT: work.plan.target.spec_hash,
            INVENTORY_FACT: handle.sha256 if handle else "",
        },
    )


def _freeze_inventory(work: Run, staging: Staging) -> InventoryHandle:
    """Copy the plan's inventory to where every task can read it; return its handle there."""
    handle = work.plan.inventory
    if handle is None:
        raise ValueError("a plan without an inventory makes no table")
    if work.storage.stat(staging.inventory) is None:
        folder, _, name = handle.path.rpartition("/")
        with (
            open_storage(folder).open_input(name) as source,
            work.storage.create(staging.inventory) as out,
        ):
            while block := source.read(1 << 22):
                out.write(block)
    return replace(handle, path=f"{work.storage.location}/{staging.inventory}")


def _job(work: Run, intent: Intent, handle: InventoryHandle) -> BootstrapJob:
    plan = work.plan
    schema, avro = table_schemas(plan)
    return BootstrapJob(
        keys=asdict(key_source(plan.source or "", handle, plan.target.key_rule, plan.schema)),
        table=work.storage.location,
        attempts=intent.staging.attempts,
        segments=intent.staging.segments,
        instant=intent.requested_time,
        bloom=asdict(plan.target.bloom),
        schema=encode_schema(schema),
        avro_schema=json.dumps(with_meta_columns(avro)),
        bits=bucket_bits(plan.taken.rows),
        fence=intent.staging.begin,
    )


def _journaled(work: Run, staging: Staging, job: BootstrapJob) -> tuple[SegmentRef, ...]:
    """The segments of an earlier process of this run whose files are still whole."""
    records = Journal(work.storage, staging).records()
    return tuple(usable_segments(work.storage, [SegmentRef(**r) for r in records], job))


def _all_files(work: Run, course: Course) -> WrittenFiles:
    """The written files, which must be as many as the plan takes."""
    written = written_files(course.segments)
    if written.files != work.plan.taken.files:
        raise CorruptFileError(
            "bootstrap/file-count",
            f"{work.plan.taken.files} files were planned, {written.files} were written",
            where=Where(table=work.storage.location),
            remedy="Nothing was published. Run again with --fresh.",
        )
    return written
