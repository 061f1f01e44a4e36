"""What must hold before anything is written, and again just before the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.errors import (
    CommitConflictError,
    PlanError,
    StorageError,
    UnsupportedTableError,
    Where,
)
from framework.hudi.commit.lease import renew
from framework.hudi.commit.placement import read_bytes
from framework.hudi.table.layout import HOODIE, METADATA_TABLE, PROPERTIES, PROPERTIES_BACKUP
from framework.hudi.timeline.timeline import load_timeline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.hudi.commit.intent import Transaction
    from framework.hudi.timeline.instant import Instant

__all__ = ["check_clear", "check_empty", "check_unmoved"]


def check_clear(transaction: Transaction) -> None:
    """Raise unless the table may be written to by this transaction.

    Every other instant is completed and older; there is no metadata table; a new table has no
    properties yet.

    Raises:
        CommitConflictError: `commit/foreign-pending`, `commit/newer-instant`,
            `commit/instant-taken` or `commit/table-exists`.
        UnsupportedTableError: `commit/metadata-table`.
    """
    storage, intent = transaction.storage, transaction.intent
    if storage.stat(METADATA_TABLE) is not None:
        raise UnsupportedTableError(
            "commit/metadata-table",
            "the table has a metadata table; a commit that does not update it would lose rows",
            where=Where(file=f"{storage.location}/{METADATA_TABLE}"),
            remedy="Disable and delete it with Apache Hudi (hoodie.metadata.enable=false).",
        )
    if intent.is_new_table:
        for path in (PROPERTIES, PROPERTIES_BACKUP):
            if storage.stat(path) is not None:
                raise _conflict("table-exists", "another writer has made this table", path)
    for instant in load_timeline(storage).instants:
        if instant not in (intent.requested, intent.inflight):
            _check_other(transaction, instant)


def check_empty(transaction: Transaction) -> None:
    """Raise where a new table would begin among files of others; hidden files do not count.

    A file that happens to have our instant in its name would become part of the table.

    Raises:
        PlanError: `commit/folder-not-empty`.
    """
    storage = transaction.storage
    for entry in storage.list("") if transaction.intent.is_new_table else ():
        if entry.path != HOODIE and (entry.is_folder or not entry.name.startswith(".")):
            raise PlanError(
                "commit/folder-not-empty",
                "a new table needs an empty folder",
                where=Where(file=f"{storage.location}/{entry.path}"),
                remedy="Choose another location, or move away what lies there.",
            )


def check_unmoved(transaction: Transaction, required: Iterable[str]) -> None:
    """Raise unless nothing has changed under the transaction since it began.

    The lease is renewed, which proves that it is ours; our staging folder was not renamed away; our
    two pending files hold what we wrote; `required` paths exist; and what `check_clear` says.

    Raises:
        LeaseHeldError: `commit/lease-lost`.
        CommitConflictError: also `commit/fenced` and `commit/pending-changed`.
    """
    storage, intent = transaction.storage, transaction.intent
    renew(storage, transaction.lease, transaction.clock)
    intent.staging.check_not_fenced(storage)
    check_clear(transaction)
    for instant, data in intent.pending_files():
        if _bytes_or_none(transaction, instant.path) != data:
            raise _conflict(
                "pending-changed",
                "another writer has changed or removed our pending instant",
                instant.path,
            )
    for path in required:
        if storage.stat(path) is None:
            raise _conflict("file-missing", "a file of this commit is gone", path)


def _check_other(transaction: Transaction, instant: Instant) -> None:
    """Raise unless an instant that is not ours is completed and older."""
    ours = transaction.intent.requested_time
    if instant.requested_time == ours:
        raise _conflict("instant-taken", "another writer has our instant", instant.path)
    if not instant.is_completed:
        raise _conflict(
            "foreign-pending", "another writer is at work, or died at work", instant.path
        )
    if instant.requested_time > ours:
        raise _conflict("newer-instant", "another writer has committed meanwhile", instant.path)


def _bytes_or_none(transaction: Transaction, path: str) -> bytes | None:
    """Return the bytes of a file, None where it is gone."""
    try:
        return read_bytes(transaction.storage, path)
    except StorageError as error:
        if error.condition != "storage/not-found":
            raise
        return None


def _conflict(condition: str, message: str, path: str) -> CommitConflictError:
    """Return the error for something that another writer did."""
    return CommitConflictError(
        f"commit/{condition}",
        message,
        where=Where(file=path),
        remedy="Nothing was published. Look at the table with status, then run again.",
    )
