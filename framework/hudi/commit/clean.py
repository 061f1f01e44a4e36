"""Execution of a clean: delete the planned files, then complete the instant (ADR 0037).

A clean that has begun to delete is finished by recovery and never undone, since deleted files
cannot be brought back; one that has not begun is removed. Deleting can be repeated.
"""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import Final

from framework.errors import AfterCommitError, CorruptFileError, UnsupportedTableError, Where
from framework.hudi.commit.index_update import shrink_index, skeletons_of
from framework.hudi.commit.intent import Intent, Transaction
from framework.hudi.commit.lease import Lease, require
from framework.hudi.commit.placement import place_bytes
from framework.hudi.commit.staging import Staging
from framework.hudi.commit.transaction import check_unmoved
from framework.hudi.storage.port import Storage
from framework.hudi.table import layout
from framework.hudi.timeline.clean_metadata import PlannedClean, clean_bytes, read_clean_plan

__all__ = ["delete_cleaned", "finish_clean"]

_READY: Final = "clean-ready"


def delete_cleaned(transaction: Transaction, plan: PlannedClean) -> None:
    """Delete the files of a pending clean and complete it.

    Raises:
        LeaseHeldError, CommitConflictError, StorageError: before anything was deleted.
        AfterCommitError: `clean/unfinished`; the next run finishes it.
    """
    storage, staging = transaction.storage, transaction.intent.staging
    check_unmoved(transaction, ())
    place_bytes(storage, staging, layout.join(staging.root, _READY), b"{}")
    require(storage, transaction.lease)
    try:
        _delete(storage, transaction.lease, transaction.intent, plan)
    except Exception as error:
        raise AfterCommitError(
            "clean/unfinished",
            "the clean is not finished: some files are deleted, others are not yet",
            where=Where(table=storage.location, instant=transaction.intent.requested_time),
            remedy="Run the same command again; it finishes what is left. All rows are there.",
        ) from error


def finish_clean(storage: Storage, lease: Lease, intent: Intent, folder: str) -> bool:
    """Finish the clean of a dead run; return False where it had not begun to delete.

    Args:
        storage: the table.
        lease: of the recovering run.
        intent: of the dead run.
        folder: the dead run's staging folder, renamed or not.
    """
    if storage.stat(layout.join(folder, _READY)) is None:
        return False
    if storage.stat(intent.completed.path) is None:
        _delete(storage, lease, intent, read_clean_plan(storage, intent.requested.path))
    return True


def _delete(storage: Storage, lease: Lease, intent: Intent, plan: PlannedClean) -> None:
    """Delete files, shrink the index, complete the instant; done again it does what is left."""
    begun = monotonic()
    for paths in plan.files.values():
        require(storage, lease)
        storage.delete(*paths, *map(layout.crc_sidecar, paths))
    # an index that cannot be read stays as it is, or no clean could be finished
    with suppress(CorruptFileError, UnsupportedTableError):
        shrink_index(storage, lease, skeletons_of(plan.files))
    took = int((monotonic() - begun) * 1000)
    data = clean_bytes(intent.requested_time, plan, took_ms=took)
    require(storage, lease)
    staging = Staging(write_id=lease.owner.write_id)
    place_bytes(storage, staging, intent.completed.path, data, has_begun=False)
