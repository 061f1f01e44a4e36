"""The first step of a bootstrap: a lease, the frozen inventory, a pending instant."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from framework.engine.audit.spill import SpillReader, bucket_bits
from framework.engine.bootstrap.job import BootstrapJob, key_source, table_schemas
from framework.engine.run.state import RunContext, RunState
from framework.errors import CorruptFileError, StorageError
from framework.hudi.bootstrap.inventory import InventoryHandle
from framework.hudi.bootstrap.source_schema import encode_schema
from framework.hudi.commit.intent import Intent, Transaction
from framework.hudi.commit.segments import Journal, SegmentRef, read_segment
from framework.hudi.commit.staging import Staging
from framework.hudi.storage.checksum import file_crc32c
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import join
from framework.hudi.table.schema import with_meta_columns
from framework.hudi.timeline.clock import next_instant
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.facts import INVENTORY_FACT, SPEC_FACT
from framework.plan.stages import BeginBootstrap

__all__ = ["Begun", "begin_bootstrap", "usable_segments"]

_OPERATION: Final = "BOOTSTRAP"


def begin_bootstrap(run: RunState, stage: BeginBootstrap) -> Begun:
    """Take the lease, freeze the inventory in the run's folder, create the pending instant.

    A resumed run uses its existing inventory and intent, and the segments that are still intact.
    """
    ctx = run.ctx

    def prepare(transaction: Transaction) -> BootstrapJob:
        handle = _freeze_inventory(ctx, transaction.intent.staging)
        return _job(ctx, transaction.intent, handle)

    with run.stage(stage) as report:
        transaction, job = run.begin(
            lambda write_id: _new_intent(ctx, stage, write_id), prepare, resumes=stage.resumes
        )
        report.summary = f"instant {transaction.intent.requested_time}"
        done = _journaled(ctx, transaction.intent.staging, job) if stage.resumes else ()
    return Begun(transaction=transaction, job=job, done=done)


def usable_segments(
    storage: Storage, segments: Iterable[SegmentRef], job: BootstrapJob
) -> Iterator[SegmentRef]:
    """Yield the segments whose statuses, hashes and files are all as they were written.

    Reads each of them once. Damaged or missing ones are skipped, so their work is repeated. The
    inventory's hash and the drift check verify that the source is unchanged.
    """
    for segment in segments:
        try:
            usable = _is_whole(storage, segment, job)
        except (CorruptFileError, StorageError):
            continue
        if usable:
            yield segment


def _is_whole(storage: Storage, segment: SegmentRef, job: BootstrapJob) -> bool:
    """Return whether the segment is complete and unchanged.

    Raises:
        CorruptFileError, StorageError: part of it cannot be read.
    """
    spill = SpillReader(storage, f"{segment.path}.spill")
    spill.verify()
    if spill.bits != job.bits or spill.total != segment.rows:
        return False
    columns = ("staged", "partition_path", "name", "size", "crc32c")
    for batch in read_segment(storage, segment):
        rows = zip(*(batch[name].to_pylist() for name in columns), strict=True)
        for staged, partition, name, size, crc32c in rows:
            path = _present(storage, staged, join(partition, name), size)
            if path is None or file_crc32c(storage, path) != crc32c:
                return False
    return True


def _present(storage: Storage, staged: str, placed: str, size: int) -> str | None:
    """Return where the file is: still staged, or already at its name; None if neither."""
    for path in (staged, placed):
        entry = storage.stat(path)
        if entry is not None and entry.size == size:
            return path
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A bootstrap whose instant is pending.

    Attributes:
        transaction: the pending instant.
        job: what the writing tasks get.
        done: statuses of files that an earlier process of the run wrote.
    """

    transaction: Transaction
    job: BootstrapJob
    done: tuple[SegmentRef, ...] = ()

    @property
    def intent(self) -> Intent:
        """The intent that the run publishes."""
        return self.transaction.intent


def _new_intent(ctx: RunContext, stage: BeginBootstrap, write_id: str) -> Intent:
    instant = stage.instant or next_instant(ctx.clock, load_timeline(ctx.storage))
    handle = ctx.plan.inventory
    return Intent(
        write_id=write_id,
        requested_time=instant,
        action=Action(stage.action),
        operation=_OPERATION,
        is_new_table=True,
        facts={
            SPEC_FACT: ctx.plan.target.spec_hash,
            INVENTORY_FACT: handle.sha256 if handle else "",
        },
    )


def _freeze_inventory(ctx: RunContext, staging: Staging) -> InventoryHandle:
    """Copy the plan's inventory to where every task can read it; return its handle there."""
    handle = ctx.plan.inventory
    if handle is None:
        raise ValueError("a plan without an inventory cannot create a table")
    if ctx.storage.stat(staging.inventory) is None:
        folder, _, name = handle.path.rpartition("/")
        with (
            open_storage(folder).open_input(name) as source,
            ctx.storage.create(staging.inventory) as out,
        ):
            while block := source.read(1 << 22):
                out.write(block)
    return replace(handle, path=f"{ctx.storage.location}/{staging.inventory}")


def _job(ctx: RunContext, intent: Intent, handle: InventoryHandle) -> BootstrapJob:
    plan = ctx.plan
    schema, avro = table_schemas(plan)
    return BootstrapJob(
        keys=key_source(plan.source or "", handle, plan.target.key_rule, plan.schema),
        table=ctx.storage.location,
        attempts=intent.staging.attempts,
        segments=intent.staging.segments,
        instant=intent.requested_time,
        bloom=plan.target.bloom,
        schema=encode_schema(schema),
        avro_schema=json.dumps(with_meta_columns(avro)),
        bits=bucket_bits(plan.taken.rows),
        fence=intent.staging.begin,
    )


def _journaled(ctx: RunContext, staging: Staging, job: BootstrapJob) -> tuple[SegmentRef, ...]:
    """Return the intact segments of an earlier process of this run."""
    records = Journal(ctx.storage, staging).records()
    return tuple(usable_segments(ctx.storage, [SegmentRef(**r) for r in records], job))
