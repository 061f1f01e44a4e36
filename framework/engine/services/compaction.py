"""Compaction: slices with log files become base files, as one instant in Apache Hudi's own form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from framework.engine.audit.rewritten import audit_rewritten
from framework.engine.reading.slice_rows import SliceFiles, SliceTable
from framework.engine.reading.table import Table, open_table
from framework.engine.reading.views import LISTED, latest_slices
from framework.engine.services.rewrite import RewriteJob, SliceWork, rewrite_slices
from framework.engine.services.service_run import ServiceRun, require_table, service_run
from framework.engine.tasks import Tasks
from framework.errors import CommitConflictError, PlanError, Where
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.bootstrap.source_schema import encode_schema
from framework.hudi.commit.intent import Transaction
from framework.hudi.commit.links import check_listing, link_files
from framework.hudi.commit.recovery import roll_back_own
from framework.hudi.commit.state_files import STATE_KEY, find_state
from framework.hudi.commit.transaction import Publication, finish, publish
from framework.hudi.filegroup.merge import MergeRule
from framework.hudi.filegroup.names import BaseFileName
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.properties import TableProperties
from framework.hudi.table.schema import avro_schema, with_meta_columns
from framework.hudi.timeline.clock import Clock, SystemClock
from framework.hudi.timeline.compaction_plan import compaction_plan_bytes
from framework.hudi.timeline.instant import COMPACTIONS, Action
from framework.plan.services.compaction import CompactionPlan, plan_compaction
from framework.vocabulary import TableType

__all__ = ["Compacted", "observe_compaction", "run_compaction"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A published compaction.

    Attributes:
        instant: its requested time.
        files: base files that it wrote.
        rows: rows in them.
        bytes: their sizes.
    """

    instant: str
    files: int
    rows: int
    bytes: int


def observe_compaction(location: str, *, min_logs: int = 1) -> CompactionPlan:
    """Return the plan to compact a table; lists each partition once and changes nothing.

    Raises:
        PlanError: `compaction/copy-on-write`.
        CommitConflictError: `compaction/pending`; another writer has a compaction under way.
        UnsupportedTableError: see `require_table`.
        CorruptFileError: a file that a commit names is missing or damaged.
    """
    storage = open_storage(location)
    properties = require_table(storage)
    if properties.table_type is not TableType.MERGE_ON_READ:
        raise PlanError(
            "compaction/copy-on-write",
            "a copy-on-write table has no log files to compact",
            where=Where(table=storage.location),
            remedy="Nothing is left to do.",
        )
    table = open_table(location)
    pending = [each for each in table.timeline.pending if each.action in COMPACTIONS]
    if pending:
        raise CommitConflictError(
            "compaction/pending",
            f"compaction {pending[0].requested_time} is pending",
            where=Where(table=storage.location, instant=pending[0].requested_time),
            remedy="Execute it with Apache Hudi (run_compaction), then run again.",
        )
    found = latest_slices(table, LISTED, None)
    return plan_compaction(storage.location, found, min_logs=min_logs)


def run_compaction(
    plan: CompactionPlan,
    tasks: Tasks,
    clock: Clock | None = None,
    storage: Storage | None = None,
) -> Compacted | None:
    """Write a base file for each slice of the plan, compare the records, and publish.

    Args:
        plan: the slices.
        tasks: run the work.
        clock: the time; None means the system's.
        storage: the table's; None opens it.

    Returns:
        The published compaction; None if the plan has no slice.

    Raises:
        LeaseHeldError: another run is at work on the table.
        CommitConflictError: `compaction/stale-plan`; the table has changed since it was planned.
        SourceDriftError, CorruptFileError, UnsupportedTableError: a slice cannot be read, or
            `audit/records-differ`; nothing was published.
        AfterCommitError: published, but leftovers could not be removed.
    """
    if not plan.slices:
        return None
    storage = storage or open_storage(plan.location)
    with service_run(storage, clock or SystemClock()) as run:
        table = open_table(plan.location)
        _check_fresh(table, plan)
        requested = compaction_plan_bytes(plan.slices, run.facts)
        transaction = run.begin(Action.COMPACTION, "COMPACT", requested)
        try:
            return _compact(run, transaction, table, plan, tasks)
        except BaseException:
            roll_back_own(storage, run.lease)
            raise


def _compact(
    run: ServiceRun, transaction: Transaction, table: Table, plan: CompactionPlan, tasks: Tasks
) -> Compacted:
    """Write, compare and publish."""
    works = _works(plan, transaction.intent.requested_time)
    job = _job(transaction, table)
    written = rewrite_slices(tasks, job, works)
    files = {each.name: each.files for each in works}
    audited = audit_rewritten(tasks, written, job.slices, files)
    link_files(transaction, written.segments)
    check_listing(transaction, written.segments)
    publication = Publication(extra=_extra(run, table))
    instant = publish(transaction, audited, publication)
    finish(transaction)
    return Compacted(
        instant=instant.requested_time,
        files=written.files,
        rows=written.rows,
        bytes=written.bytes,
    )


def _check_fresh(table: Table, plan: CompactionPlan) -> None:
    """Raise unless the planned slices are still the latest ones.

    Raises:
        CommitConflictError: `compaction/stale-plan`.
    """
    paths = {each.group.partition_path for each in plan.slices}
    latest = {each.group: each for each in latest_slices(table, LISTED, paths)}
    if any(latest.get(each.group) != each for each in plan.slices):
        raise CommitConflictError(
            "compaction/stale-plan",
            "the table has changed since the compaction was planned",
            where=Where(table=table.storage.location),
            remedy="Nothing was changed. Run the command again.",
        )


def _works(plan: CompactionPlan, instant: str) -> tuple[SliceWork, ...]:
    """Return the work on each slice, numbered."""
    return tuple(
        SliceWork(
            number=number,
            partition_path=each.group.partition_path,
            file_id=each.group.file_id,
            name=str(
                BaseFileName(
                    file_id=each.group.file_id, write_token=f"{number}-0-0", instant=instant
                )
            ),
            previous=each.base_instant,
            files=SliceFiles.of(each),
            bytes=each.total_size_bytes + (each.bootstrap.size if each.bootstrap else 0),
        )
        for number, each in enumerate(plan.slices)
    )


def _job(transaction: Transaction, table: Table) -> RewriteJob:
    """Return what every task gets."""
    staging = transaction.intent.staging
    avro = avro_schema(table.schema, table=table.properties.name)
    return RewriteJob(
        table=table.storage.location,
        attempts=staging.attempts,
        folder=staging.segments,
        fence=staging.begin,
        instant=transaction.intent.requested_time,
        schema=encode_schema(table.schema),
        avro_schema=json.dumps(with_meta_columns(avro)),
        bloom=BloomChoice(),
        slices=_slice_table(table, table.properties),
        partition=table.partition,
        layout=table.layout,
    )


def _slice_table(table: Table, properties: TableProperties) -> SliceTable:
    """Return how the table's slices are read."""
    return SliceTable.of(
        table.storage,
        table.timeline,
        table.schema,
        in_folders=[each.name for each in table.partition],
        rule=MergeRule.of(properties),
    )


def _extra(run: ServiceRun, table: Table) -> Mapping[str, str]:
    """Return the commit's `extraMetadata`: the schema, and the state file as it was."""
    avro = avro_schema(table.schema, table=table.properties.name)
    state = find_state(run.storage, table.timeline, table.properties.raw)
    kept = {} if state is None else {STATE_KEY: state.as_json()}
    return {"schema": json.dumps(avro), **kept}
