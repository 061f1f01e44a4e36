"""The steps from a pending to a completed instant: begin, publish, finish.

Between begin and publish, `links` adds the files. After a crash, all steps may be repeated with the
same intent: each detects what is done and does the rest.

The completed instant is one exclusive link out of the staging folder. Every precondition is checked
after its bytes are staged and before that link, so a run that was paused in between, and fenced
meanwhile, no longer finds its staged file. On a store without moves it is an upload without a name
instead of a staged file (see `fence`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, BinaryIO, Final

import pyarrow as pa

from framework import errors
from framework.hudi.commit.fence import (
    abort_uploads,
    begin_upload,
    check_no_other_run,
    sweep_dead,
)
from framework.hudi.commit.intent import AUDIT_KEY, PROPERTIES_KEY, WRITE_ID_KEY, Transaction
from framework.hudi.commit.lease import release, renew, require
from framework.hudi.commit.links import by_partition
from framework.hudi.commit.placement import place_bytes, read_bytes
from framework.hudi.commit.segments import merge_segments
from framework.hudi.commit.statuses import AuditedFiles
from framework.hudi.filegroup.slices import LogFileName
from framework.hudi.storage.port import Move, uploads_of
from framework.hudi.table import layout
from framework.hudi.timeline import commit_metadata
from framework.hudi.timeline.instant import Action, Instant
from framework.hudi.timeline.timeline import load_timeline

__all__ = [
    "Publication",
    "begin",
    "check_clear",
    "check_empty",
    "check_unmoved",
    "finish",
    "publish",
    "stats_of",
]

_COLUMNS: Final = (
    "file_id",
    "name",
    "rows",
    "size",
    "inserts",
    "updates",
    "deletes",
    "previous",
    "base_name",
)


def check_clear(transaction: Transaction) -> None:
    """Raise unless this transaction may write to the table.

    That is: every other instant is completed and older, or a compaction that is pending and older,
    there is no metadata table, and a new table has no properties yet. Beside the execution of a
    pending compaction there may be any instant but pending ones that may write to its slices.

    Raises:
        CommitConflictError: `commit/foreign-pending`, `commit/newer-instant`,
            `commit/instant-taken` or `commit/table-exists`.
        UnsupportedTableError: `commit/metadata-table`.
    """
    storage, intent = transaction.storage, transaction.intent
    if storage.stat(layout.METADATA_TABLE) is not None:
        raise errors.UnsupportedTableError(
            "commit/metadata-table",
            "the table has a metadata table; a commit that does not update it would lose rows",
            where=errors.Where(file=f"{storage.location}/{layout.METADATA_TABLE}"),
            remedy="Disable and delete it with Apache Hudi (hoodie.metadata.enable=false).",
        )
    if intent.is_new_table:
        for path in (layout.PROPERTIES, layout.PROPERTIES_BACKUP):
            if storage.stat(path) is not None:
                raise _conflict("table-exists", "another writer has made this table", path)
    for instant in load_timeline(storage).instants:
        if instant not in (intent.requested, intent.inflight):
            _check_other(transaction, instant)


def check_empty(transaction: Transaction) -> None:
    """Raise if a new table's folder already holds files; hidden files do not count.

    A file that happens to have our instant in its name would become part of the table.

    Raises:
        PlanError: `commit/folder-not-empty`.
    """
    storage = transaction.storage
    for entry in storage.list("") if transaction.intent.is_new_table else ():
        if entry.path != layout.HOODIE and (entry.is_folder or not entry.name.startswith(".")):
            raise errors.PlanError(
                "commit/folder-not-empty",
                "a new table needs an empty folder",
                where=errors.Where(file=f"{storage.location}/{entry.path}"),
                remedy="Choose another location, or move the existing files away.",
            )


def check_unmoved(transaction: Transaction, required: Iterable[str]) -> None:
    """Raise if anything changed under the transaction since it began.

    Renews the lease, which proves that it is ours. Checks that our staging folder was not renamed,
    that our two pending files hold what we wrote, that the `required` paths exist, and
    `check_clear`.

    Raises:
        LeaseHeldError: `commit/lease-lost`.
        CommitConflictError: also `commit/fenced` and `commit/pending-changed`.
    """
    storage, intent = transaction.storage, transaction.intent
    renew(storage, transaction.lease, transaction.clock)
    intent.staging.check_not_fenced(storage)
    check_clear(transaction)
    _check_held(transaction, intent.pending_files())
    for path in required:
        if storage.stat(path) is None:
            raise _conflict("file-missing", "a file of this commit is missing", path)


def _check_held(transaction: Transaction, files: Iterable[tuple[Instant, bytes]]) -> None:
    """Raise unless pending files hold what they are to hold."""
    for instant, data in files:
        if _bytes_or_none(transaction, instant.path) != data:
            raise _conflict(
                "pending-changed",
                "another writer has changed or removed our pending instant",
                instant.path,
            )


def _check_other(transaction: Transaction, instant: Instant) -> None:
    """Raise unless another instant is completed and older, or may be beside this transaction.

    Writers after a pending compaction start new slices, so neither side disturbs the other.
    """
    ours = transaction.intent.requested_time
    is_later = instant.requested_time > ours
    is_beside = is_later and bool(transaction.intent.executes)
    if instant.requested_time == ours:
        raise _conflict("instant-taken", "another writer has our instant", instant.path)
    may_pend = {Action.COMPACTION, Action.DELTACOMMIT} if is_beside else {Action.COMPACTION}
    if not instant.is_completed and instant.action not in may_pend:
        raise _conflict("foreign-pending", "another writer is active, or has crashed", instant.path)
    if is_later and not is_beside:
        raise _conflict("newer-instant", "another writer has committed meanwhile", instant.path)


def _bytes_or_none(transaction: Transaction, path: str) -> bytes | None:
    """Return the bytes of a file, or None if it is missing."""
    try:
        return read_bytes(transaction.storage, path)
    except errors.StorageError as error:
        if error.condition != "storage/not-found":
            raise
        return None


def _conflict(condition: str, message: str, path: str) -> errors.CommitConflictError:
    """Return the error for a change made by another writer."""
    return errors.CommitConflictError(
        f"commit/{condition}",
        message,
        where=errors.Where(file=path),
        remedy="Nothing was published. Check the table with status, then run again.",
    )


def stats_of(
    partition: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[commit_metadata.WriteStat]:
    """Yield the statistics of a partition's files, in the order of their statuses."""
    for batch in batches:
        for status in batch.select(_COLUMNS).to_pylist():
            yield _stat(partition, **status)


def _stat(
    partition: str, *, name: str, base_name: str | None, **counts: Any
) -> commit_metadata.WriteStat:
    """Return the statistics of one file; its name says whether it is a log file."""
    log = LogFileName.parse(name)
    append = (
        commit_metadata.LogAppend(version=log.version, base_file=base_name or "") if log else None
    )
    return commit_metadata.WriteStat(
        path=layout.join(partition, name), partition_path=partition, log=append, **counts
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The content of a commit beyond its files.

    Attributes:
        extra: further `extraMetadata`, including `schema`; our own keys are added.
        properties: text of `hoodie.properties` for a new table, else None. It is also stored in the
            commit, so that the commit alone is enough to finish the table.
        required: paths that must exist before the commit, such as the bootstrap index.
        replaced: ids of the file groups that a replacecommit hides, by partition path; empty for
            every other action.
    """

    extra: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    properties: str | None = None
    required: tuple[str, ...] = ()
    replaced: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))


def begin(transaction: Transaction) -> None:
    """Create the pending instant: requested, then inflight, both with our write id.

    Repeated with the same intent, it changes nothing, except that it drops files which an earlier
    process of this run staged for publishing, so that process can no longer publish.

    Raises:
        CommitConflictError: see `check_clear`; `commit/name-taken` if the pending instant is
            another run's.
        LeaseHeldError: `commit/lease-lost`.
    """
    storage, intent = transaction.storage, transaction.intent
    require(storage, transaction.lease)
    abort_uploads(storage, intent.staging)
    check_no_other_run(storage, intent.write_id)
    check_clear(transaction)
    if intent.executes:
        _check_held(transaction, intent.pending_files()[:1])
    if storage.stat(intent.staging.begin) is None:
        check_empty(transaction)
    storage.delete(intent.staging.publish)
    sweep_dead(storage, transaction.lease)
    begin_file = intent.staging.begin
    place_bytes(storage, intent.staging, begin_file, intent.begin_bytes(), has_begun=False)
    for instant, data in intent.own_files():
        place_bytes(storage, intent.staging, instant.path, data)


def publish(transaction: Transaction, audited: AuditedFiles, publication: Publication) -> Instant:
    """Complete the instant, then create the properties of a new table; return the instant.

    Raises:
        LeaseHeldError, CommitConflictError, StorageError: not committed.
        OutcomeUnknownError: `commit/outcome-unknown`; nothing was deleted.
        AfterCommitError: `commit/properties`; committed, but a new table has no properties yet. The
            next run, or `roll_forward`, creates them.
        ValueError: `replaced` is not empty but the action is no replacecommit; nothing was done.
    """
    storage, intent = transaction.storage, transaction.intent
    if publication.replaced and intent.action is not Action.REPLACECOMMIT:
        raise ValueError(f"a {intent.action} replaces nothing")
    complete = _staged_commit(transaction, audited, publication)
    storage.delete(layout.crc_sidecar(intent.completed.path))
    check_unmoved(transaction, publication.required)
    try:
        complete()
    except errors.StorageError as error:
        _resolve(transaction, error)
    if publication.properties is not None:
        _make_table(transaction, publication.properties)
    return intent.completed


def finish(transaction: Transaction) -> None:
    """Remove markers and the staging folder, and release the lease.

    Raises:
        AfterCommitError: `commit/cleanup`; the commit is valid, and the next run cleans up.
    """
    storage, intent = transaction.storage, transaction.intent
    try:
        storage.delete(layout.temp_folder(intent.requested_time))
        storage.delete(layout.TEMP, only_empty=True)
        intent.staging.remove(storage)
        release(storage, transaction.lease)
    except errors.FrameworkError as error:
        raise _after_commit(transaction, "cleanup", "leftovers could not be removed") from error


def _staged_commit(
    transaction: Transaction, audited: AuditedFiles, publication: Publication
) -> Callable[[], None]:
    """Store the whole commit without its name; return what gives it the name, exclusively."""
    storage, path = transaction.storage, transaction.intent.completed.path
    uploads = uploads_of(storage)
    if uploads is None:
        staged = transaction.intent.staging.new_publish()
        with storage.create(staged) as out:
            _write_commit(transaction, audited, publication, out)
        return lambda: storage.move([Move(source=staged, target=path)])
    held = io.BytesIO()
    _write_commit(transaction, audited, publication, held)
    upload = begin_upload(transaction, path, held.getvalue())
    return lambda: uploads.complete(path, upload)


def _write_commit(
    transaction: Transaction, audited: AuditedFiles, publication: Publication, out: BinaryIO
) -> None:
    """Write the whole commit."""
    intent = transaction.intent
    extra = {**publication.extra, **intent.facts, WRITE_ID_KEY: intent.write_id}
    extra[AUDIT_KEY] = json.dumps(dict(audited.proof), ensure_ascii=False)
    if publication.properties is not None:
        extra[PROPERTIES_KEY] = publication.properties
    rows = merge_segments(transaction.storage, audited.written.segments)
    stats = ((path, stats_of(path, parts)) for path, parts in by_partition(rows))
    replaced = publication.replaced if intent.action is Action.REPLACECOMMIT else None
    head = commit_metadata.CommitHead(
        extra=extra,
        operation=intent.operation,
        compacted=intent.action is Action.COMPACTION,
    )
    files = commit_metadata.write_commit(out, head, stats, replaced=replaced)
    if files != audited.written.files:
        raise errors.CorruptFileError(
            "commit/file-count",
            f"{audited.written.files} files were audited, {files} are in the segments",
            where=errors.Where(instant=intent.requested_time),
            remedy="Nothing was published. Run again with --fresh.",
        )


def _resolve(transaction: Transaction, error: errors.StorageError) -> None:
    """Return if the failed link took effect after all; otherwise raise the typed error."""
    path = transaction.intent.completed.path
    unknown = errors.OutcomeUnknownError(
        "commit/outcome-unknown",
        "it is unknown whether the commit was made and is durable; nothing was deleted",
        where=errors.Where(file=path, instant=transaction.intent.requested_time),
        remedy="Check with status once the storage responds again; then run the same command.",
    )
    if error.condition == "storage/not-durable":
        raise unknown from error
    try:
        abort_uploads(transaction.storage, transaction.intent.staging)  # a late request fails then
        there = transaction.storage.stat(path) is not None
        head = (
            commit_metadata.read_commit_head(transaction.storage, path)
            if there
            else commit_metadata.CommitHead()
        )
        transaction.storage.delete(layout.crc_sidecar(path))  # which syncs the folder
    except errors.FrameworkError:
        raise unknown from error
    if there and head.extra.get(WRITE_ID_KEY) == transaction.intent.write_id:
        return
    if there or error.condition == "storage/not-found":
        raise errors.CommitConflictError(
            "commit/instant-taken" if there else "commit/fenced",
            "another run has taken over and published" if there else "another run has taken over",
            where=errors.Where(file=path),
            remedy="Nothing of this run was published. Check the table with status.",
        ) from error
    raise error


def _make_table(transaction: Transaction, text: str) -> None:
    """Create the properties, which completes the new table."""
    try:
        place_bytes(
            transaction.storage, transaction.intent.staging, layout.PROPERTIES, text.encode()
        )
    except errors.FrameworkError as error:
        problem = "the table's properties could not be written"
        raise _after_commit(transaction, "properties", problem) from error


def _after_commit(
    transaction: Transaction, condition: str, message: str
) -> errors.AfterCommitError:
    """Return the error for a step after the commit."""
    return errors.AfterCommitError(
        f"commit/{condition}",
        f"committed, but {message}",
        where=errors.Where(
            table=transaction.storage.location, instant=transaction.intent.requested_time
        ),
        remedy="Run the same command again; it completes the remaining steps.",
    )
