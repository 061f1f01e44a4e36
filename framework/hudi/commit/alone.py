"""Files of the timeline that are created alone: a savepoint, and the plan of a compaction.

No pending instant of a run leads to them, so on a store without moves they need a fence of their
own: each is an upload, recorded and completed like the completed instant of a write (see `fence`).
A run that another one considers dead creates none, however late it continues.
"""

from __future__ import annotations

from collections.abc import Callable

from framework.errors import CommitConflictError, StorageError, Where
from framework.hudi.commit.fence import abort_uploads, begin_upload
from framework.hudi.commit.intent import Transaction
from framework.hudi.commit.lease import require
from framework.hudi.commit.placement import place_bytes, read_bytes
from framework.hudi.storage.port import Storage, uploads_of
from framework.hudi.timeline.timeline import Timeline, load_timeline

__all__ = ["begin_alone", "create_alone", "require_same"]


def begin_alone(transaction: Transaction) -> None:
    """Record the run, whose record is its fence; needed only on a store without moves."""
    storage, intent = transaction.storage, transaction.intent
    if uploads_of(storage) is not None:
        data = intent.begin_bytes()
        place_bytes(storage, intent.staging, intent.staging.begin, data, has_begun=False)


def create_alone(
    transaction: Transaction, path: str, data: bytes, check: Callable[[], None]
) -> None:
    """Create a file of the timeline, exclusively; `check` raises if it must not be made any more.

    Raises:
        LeaseHeldError: `commit/lease-lost`.
        CommitConflictError: `commit/fenced`, `commit/name-taken`; or as of `check`.
    """
    storage, staging = transaction.storage, transaction.intent.staging
    uploads = uploads_of(storage)
    if uploads is None:
        check()
        place_bytes(storage, staging, path, data, has_begun=False)
        return
    upload = begin_upload(transaction, path, data)
    require(storage, transaction.lease)
    staging.check_not_fenced(storage)
    check()
    try:
        uploads.complete(path, upload)
    except StorageError as error:
        abort_uploads(storage, staging)  # a late request fails then
        if _bytes_or_none(storage, path) != data:
            raise _refused(path, error) from error


def require_same(storage: Storage, before: Timeline) -> None:
    """Raise if an instant was completed or removed since the timeline was read.

    Raises:
        CommitConflictError: `commit/timeline-changed`.
    """
    if set(load_timeline(storage).completed) != set(before.completed):
        raise CommitConflictError(
            "commit/timeline-changed",
            "another writer has changed the table meanwhile",
            where=Where(table=storage.location),
            remedy="Nothing was changed. Run the command again.",
        )


def _bytes_or_none(storage: Storage, path: str) -> bytes | None:
    return None if storage.stat(path) is None else read_bytes(storage, path)


def _refused(path: str, error: StorageError) -> CommitConflictError | StorageError:
    """Return the error for an upload that was not completed."""
    if error.condition not in {"storage/exists", "storage/not-found"}:
        return error
    is_taken = error.condition == "storage/exists"
    return CommitConflictError(
        "commit/name-taken" if is_taken else "commit/fenced",
        "another run has made this file" if is_taken else "another run has taken over",
        where=Where(file=path),
        remedy="Nothing was changed. Check the table with status, then run again.",
    )
