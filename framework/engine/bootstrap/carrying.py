"""What the first stages of a bootstrap do: from a lease to audited files."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

from framework.engine.audit.gate import AuditPlace, audit
from framework.engine.audit.spill import bucket_bits
from framework.engine.audit.subject import WrittenRows
from framework.engine.beginning import begin_run, settled
from framework.engine.bootstrap.course import begun_job, table_schemas, work_ranges
from framework.engine.bootstrap.job import BootstrapJob, key_source
from framework.engine.bootstrap.resuming import usable_segments
from framework.engine.bootstrap.screening_source import with_gone
from framework.engine.bootstrap.writing import Ledger, write_files
from framework.engine.inspecting import inspect_rows, reported
from framework.engine.tasks import LimitedTasks
from framework.errors import CorruptFileError, Where
from framework.hudi.bootstrap.source_schema import encode_schema
from framework.hudi.commit.files import WrittenFiles, written_files
from framework.hudi.commit.intent import Intent, Transaction
from framework.hudi.commit.journal import Journal
from framework.hudi.commit.segments import SegmentRef
from framework.hudi.storage.opening import open_storage
from framework.hudi.table.layout import join
from framework.hudi.table.schema import with_meta_columns
from framework.hudi.timeline.clock import next_instant
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.facts import INVENTORY_FACT, SPEC_FACT

if TYPE_CHECKING:
    from framework.engine.course import Course, Run
    from framework.hudi.bootstrap.inventory import InventoryHandle
    from framework.hudi.commit.staging import Staging
    from framework.plan.stages import Begin
    from framework.vocabulary import BootstrapMode

__all__ = ["audit_files", "begin_bootstrap", "write_stage"]

_OPERATION: Final = "BOOTSTRAP"


def begin_bootstrap(work: Run, course: Course, stage: Begin) -> Course:
    """Take the lease, freeze the inventory in the run's folder, make the pending instant.

    A resumed run finds its inventory, its intent and the segments that are still whole.
    """

    def prepare(transaction: Transaction) -> BootstrapJob:
        handle = _freeze_inventory(work, transaction.intent.staging)
        return _job(work, transaction.intent, handle)

    course = begin_run(
        work,
        course,
        lambda write_id: _new_intent(work, stage, write_id),
        prepare,
        resumes=stage.resumes,
    )
    with settled(work, lambda: course):
        transaction, job = begun_job(course)
        staging = transaction.intent.staging
        done = _journaled(work, staging, job) if stage.resumes else ()
    return replace(course, segments=done)


def write_stage(work: Run, course: Course, mode: BootstrapMode) -> Course:
    """Write the files of all partitions of one mode that have none yet, batch by batch."""
    transaction, job = begun_job(course)
    journal = Journal(work.storage, transaction.intent.staging)
    target, partitions = work.plan.target, work.plan.of_mode(mode)
    size = target.partitions_per_batch or len(partitions) or 1
    written = before = written_files(course.segments)
    for start in range(0, len(partitions), size):
        written = write_files(
            LimitedTasks(work.tasks, target.parallelism or work.tasks.parallelism),
            job,
            list(with_gone(work_ranges(partitions[start : start + size]), course.screened.gone)),
            Ledger(journal=lambda ref: journal.append(asdict(ref)), done=written.segments),
            events=work.events,
        )
    files = written.files - before.files
    summary = f"{files:,} files, {written.bytes - before.bytes:,} bytes"
    return replace(course, segments=written.segments, summary=summary)


def audit_files(work: Run, course: Course) -> Course:
    """Prove the keys of all written files."""
    transaction, job = begun_job(course)
    place = AuditPlace(
        table=work.storage.location,
        folder=join(transaction.intent.staging.spill, "audit"),
        keys=job.key_source,
    )
    written = _all_files(work, course)
    course = replace(course, input_rows=work.plan.taken.rows)
    inspection = inspect_rows(work, course, _written_rows(work, course))
    audited = audit(work.tasks, written, place, inspection=inspection, events=work.events)
    summary = f"{audited.proof['rows']:,} keys unique and not null ({audited.proof['method']})"
    course = replace(course, audited=audited, summary=summary)
    reported(work, course, inspection)
    return course


def _written_rows(work: Run, course: Course) -> WrittenRows:
    """Return which rows the checks see."""
    transaction, _ = begun_job(course)
    rule, (schema, _) = work.plan.target.key_rule, table_schemas(work.plan)
    return WrittenRows(
        table=work.storage.location,
        segments=written_files(course.segments).segments,
        schema=schema,
        partition=rule.partition,
        layout=rule.layout,
        instant=transaction.intent.requested_time,
        source=work.plan.source,
        key_rule=rule.as_json(),
        completed=transaction.intent.completed.file_name,
        gone={number: each.path for number, each in course.screened.gone.items()},
    )


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
    rows = written.rows + course.screened.rows
    if rows != work.plan.taken.rows:
        raise CorruptFileError(
            "audit/rows-differ",
            f"the source has {work.plan.taken.rows:,} rows, {written.rows:,} were written and"
            f" {course.screened.rows:,} taken out",
            where=Where(table=work.storage.location),
            remedy="Nothing was published. Run again with --fresh.",
        )
    return written
