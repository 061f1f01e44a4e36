"""The steps that compaction, materialize and clustering share: observe, check, write, publish.

All rewrite slices as base files whose rows keep their commit times and sequence numbers, and
compare the stored files with the slices before the instant is published.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from framework.engine.audit.rewritten import audit_rewritten
from framework.engine.reading.slice_rows import SliceFiles, SliceTable
from framework.engine.reading.table import Table, open_table
from framework.engine.reading.views import LISTED, latest_slices
from framework.engine.services.rewrite import RewriteJob, SliceWork, rewrite_slices
from framework.engine.services.service_run import ServiceRun, require_table, service_run
from framework.engine.services.slice_sources import check_sources
from framework.engine.tasks import Tasks
from framework.errors import CommitConflictError, PlanError, UnsupportedTableError, Where
from framework.hudi.bootstrap.key_pass import BloomChoice
from framework.hudi.bootstrap.source_schema import encode_schema
from framework.hudi.commit.intent import Transaction
from framework.hudi.commit.links import check_listing, link_files
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.commit.recovery import roll_back_own
from framework.hudi.commit.state_files import STATE_KEY, find_state
from framework.hudi.commit.statuses import AuditedFiles
from framework.hudi.commit.transaction import Publication, finish, publish
from framework.hudi.filegroup.merge import MergeRule
from framework.hudi.filegroup.slices import BaseFileName, FileSlice
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import PROPERTIES
from framework.hudi.table.properties import TableProperties
from framework.hudi.table.schema import avro_schema, with_meta_columns
from framework.hudi.table.supported import unsupported_entries
from framework.hudi.timeline.clock import Clock, SystemClock
from framework.plan.words import listing

__all__ = [
    "Rewritten",
    "are_latest",
    "observed",
    "publish_rewrite",
    "require_rewritable",
    "rewrite_in_place",
    "rewrite_job",
    "rewriting",
    "slices_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A published instant of a service that rewrote slices.

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


def observed(location: str) -> Table:
    """Return a table that a service may rewrite slices of; changes nothing.

    Raises:
        CommitConflictError: `table/foreign-pending`; an instant of another writer is pending.
        UnsupportedTableError: see `require_rewritable` and `open_table`.
    """
    storage = open_storage(location)
    require_rewritable(storage)
    found = find_pending(storage)
    if found is not None and found.kind is PendingKind.FOREIGN and found.instant is not None:
        time, action = found.instant.requested_time, found.instant.action
        raise CommitConflictError(
            "table/foreign-pending",
            f"{action} {time} of another writer is pending",
            where=Where(table=storage.location, instant=time),
            remedy="Wait for that writer, or let Apache Hudi roll back its failed write.",
        )
    return open_table(location)


def require_rewritable(storage: Storage) -> TableProperties:
    """Return the properties of a table whose files Lakestrap can write.

    Raises:
        UnsupportedTableError: `table/property-not-supported`, or see `require_table`.
    """
    found = require_table(storage)
    for entry in unsupported_entries(found):
        raise UnsupportedTableError(
            "table/property-not-supported",
            f"the table has {entry.key}={entry.value}: {entry.why}",
            where=Where(table=storage.location, file=PROPERTIES),
            remedy="Use Apache Hudi, or make a new table from its rows.",
        )
    return found


def slices_of(table: Table, partitions: Collection[str]) -> list[FileSlice]:
    """Return the latest slices of some partitions, no names meaning all; lists each once.

    Raises:
        PlanError: `service/no-such-partition`.
        CorruptFileError: a file that a commit names is missing or damaged.
    """
    if partitions:
        with LISTED.opened(table) as view:
            missing = set(partitions) - set(view.partitions())
        if missing:
            raise PlanError(
                "service/no-such-partition",
                f"the table has no partition {listing(tuple(sorted(missing)))}",
                where=Where(table=table.storage.location),
                remedy="Name partitions by their paths in the table, such as day=2026-01-01.",
            )
    return list(latest_slices(table, LISTED, partitions or None))


def are_latest(table: Table, slices: Sequence[FileSlice]) -> bool:
    """Return whether planned slices are still the latest ones; lists their partitions."""
    paths = {each.group.partition_path for each in slices}
    latest = {each.group: each for each in latest_slices(table, LISTED, paths)}
    return all(latest.get(each.group) == each for each in slices)


@contextmanager
def rewriting(
    location: str, storage: Storage | None, clock: Clock | None
) -> Iterator[tuple[ServiceRun, Table]]:
    """Yield a run with the table's lease, and the table; an error rolls back what it has made.

    Raises:
        LeaseHeldError: another run is at work on the table.
    """
    storage = storage or open_storage(location)
    with service_run(storage, clock or SystemClock()) as run:
        try:
            yield run, open_table(location)
        except BaseException:
            roll_back_own(storage, run.lease)
            raise


def rewrite_in_place(
    run: ServiceRun,
    table: Table,
    slices: Sequence[FileSlice],
    tasks: Tasks,
    begin: Callable[[], Transaction],
) -> Rewritten:
    """Write a base file of each slice, in its own file group, and publish them as one instant.

    Args:
        run: with the lease.
        table: the table.
        slices: its latest slices that are rewritten.
        tasks: run the work.
        begin: makes the pending instant.

    Raises:
        SourceDriftError, CorruptFileError, UnsupportedTableError: a slice cannot be read, or
            `audit/records-differ`; nothing was published.
        AfterCommitError: published, but leftovers could not be removed.
    """
    check_sources(tasks, table.storage.location, slices)
    transaction = begin()
    works = _works(slices, transaction.intent.requested_time)
    job = rewrite_job(transaction, table)
    written = rewrite_slices(tasks, job, works)
    audited = audit_rewritten(tasks, written, job.slices, {each.name: each.files for each in works})
    check_sources(tasks, table.storage.location, slices)
    return publish_rewrite(run, transaction, table, audited)


def publish_rewrite(  # noqa: PLR0913  the parts of a commit
    run: ServiceRun,
    transaction: Transaction,
    table: Table,
    audited: AuditedFiles,
    *,
    replaced: Mapping[str, tuple[str, ...]] | None = None,
    extra: Mapping[str, str] | None = None,
) -> Rewritten:
    """Link audited files to their names and publish the instant.

    Args:
        run: with the lease.
        transaction: its pending instant.
        table: the table.
        audited: the files.
        replaced: file ids that a replacecommit hides, by partition path.
        extra: further `extraMetadata`.

    Raises:
        AfterCommitError: published, but leftovers could not be removed.
    """
    written = audited.written
    link_files(transaction, written.segments)
    check_listing(transaction, written.segments)
    publication = Publication(
        extra={**(extra or {}), **_extra(run, table, transaction.intent.requested_time)},
        replaced=replaced or {},
    )
    instant = publish(transaction, audited, publication)
    finish(transaction)
    return Rewritten(
        instant=instant.requested_time,
        files=written.files,
        rows=written.rows,
        bytes=written.bytes,
    )


def rewrite_job(transaction: Transaction, table: Table) -> RewriteJob:
    """Return what every task of a rewrite gets."""
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
        slices=SliceTable.of(
            table.storage,
            table.timeline,
            table.schema,
            in_folders=[each.name for each in table.partition],
            rule=MergeRule.of(table.properties),
        ),
        partition=table.partition,
        layout=table.layout,
    )


def _works(slices: Sequence[FileSlice], instant: str) -> tuple[SliceWork, ...]:
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
            bytes=each.bytes_to_read,
        )
        for number, each in enumerate(slices)
    )


def _extra(run: ServiceRun, table: Table, instant: str) -> Mapping[str, str]:
    """Return the commit's `extraMetadata`: the schema, and the state file as of the instant.

    A later one is removed if its commit is rolled back.
    """
    avro = avro_schema(table.schema, table=table.properties.name)
    state = find_state(run.storage, table.timeline.as_of(instant), table.properties.raw)
    kept = {} if state is None else {STATE_KEY: state.as_json()}
    return {"schema": json.dumps(avro), **kept}
