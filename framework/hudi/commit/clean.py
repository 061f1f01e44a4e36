"""Execution of a clean: delete files, shrink the index, complete the instant (ADR 0037).

A clean that has begun to delete is finished by recovery and never undone, since deleted files
cannot be brought back; one that has not begun is removed. Deleting can be repeated.

Apache Hudi reads the bootstrap index under two fixed names, so each new file replaces the old one
atomically: at every moment both names have a whole file, and a stream that is open continues to
read the old one. Between the two replacements the files differ only in entries whose skeleton is
deleted, for which no reader asks. All steps can be repeated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Final

from framework.errors import AfterCommitError, CorruptFileError, UnsupportedTableError, Where
from framework.hudi.bootstrap.index import BootstrapIndex, IndexFiles, listed_files, write_without
from framework.hudi.commit.intent import Intent, Transaction
from framework.hudi.commit.lease import Lease, require
from framework.hudi.commit.placement import place_bytes
from framework.hudi.commit.staging import Staging
from framework.hudi.commit.transaction import check_unmoved
from framework.hudi.filegroup.slices import BaseFileName
from framework.hudi.storage.port import Move, Storage, uploads_of
from framework.hudi.table import layout
from framework.hudi.table.layout import (
    ADOPTED_FILEIDS_INDEX,
    ADOPTED_PARTITIONS_INDEX,
    BOOTSTRAP_FILEIDS_INDEX,
    BOOTSTRAP_INSTANT,
    BOOTSTRAP_PARTITIONS_INDEX,
    crc_sidecar,
    name_of,
)
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
        _shrink_index(storage, lease, _skeletons_of(plan.files))
    took = int((monotonic() - begun) * 1000)
    data = clean_bytes(intent.requested_time, plan, took_ms=took)
    require(storage, lease)
    staging = Staging(write_id=lease.owner.write_id)
    place_bytes(storage, staging, intent.completed.path, data, has_begun=False)


_COPIED_BYTES: Final = 1 << 20


def _skeletons_of(files: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    """Return the file ids of the skeletons among some paths, by partition path."""
    found: dict[str, set[str]] = defaultdict(set)
    for partition, paths in files.items():
        for path in paths:
            name = BaseFileName.parse(name_of(path))
            if name and name.instant == BOOTSTRAP_INSTANT:
                found[partition].add(name.file_id)
    return {partition: frozenset(ids) for partition, ids in found.items()}


def _shrink_index(storage: Storage, lease: Lease, gone: IndexFiles) -> None:
    """Remove deleted skeletons from the index; nothing if it lists none of them.

    Before that, the first time, the index is copied: the table's only record of the files that it
    adopted. An index of which nothing would remain stays as it is: the format
    knows none without entries. Reads and writes the whole index. On a store without moves it stays
    too: a file replaced there would break the readers that have it open (ADR 0055).

    Args:
        storage: the table.
        lease: of the run.
        gone: deleted skeletons, and maybe full base files of the bootstrap.

    Raises:
        LeaseHeldError: `commit/lease-lost`.
        CorruptFileError, UnsupportedTableError: the index is damaged, or not readable here.
    """
    index = BootstrapIndex.open(storage) if gone and uploads_of(storage) is None else None
    if index is None:
        return
    with index:
        listed = listed_files(index, gone)
        if not listed or not _keeps_some(index, listed):
            return
        _keep_adopted(storage, lease)
        staging = Staging(write_id=lease.owner.write_id)
        partitions, fileids = staging.new_publish(), staging.new_publish()
        write_without(storage, index, listed, (partitions, fileids))
    # the partitions file last, by which a repetition knows whether it is done
    for new, place in (
        (fileids, BOOTSTRAP_FILEIDS_INDEX),
        (partitions, BOOTSTRAP_PARTITIONS_INDEX),
    ):
        require(storage, lease)
        storage.delete(crc_sidecar(place))
        storage.replace(Move(source=new, target=place))


def _keeps_some(index: BootstrapIndex, gone: IndexFiles) -> bool:
    """Return whether an index lists other files; reads up to the first partition that has one.

    By the partitions file, which is the older one if a clean died between the two replacements.
    """
    return any(
        index.mappings(path).keys() - frozenset(gone.get(path, ())) for path in index.partitions()
    )


def _keep_adopted(storage: Storage, lease: Lease) -> None:
    """Copy the index, unless that was done; the copy counts once both files are there."""
    for source, target in (
        (BOOTSTRAP_FILEIDS_INDEX, ADOPTED_FILEIDS_INDEX),
        (BOOTSTRAP_PARTITIONS_INDEX, ADOPTED_PARTITIONS_INDEX),
    ):
        if storage.stat(target) is None:
            temporary = Staging(write_id=lease.owner.write_id).new_publish()
            with storage.open_input(source) as old, storage.create(temporary) as copy:
                while data := old.read(_COPIED_BYTES):
                    copy.write(data)
            storage.move([Move(source=temporary, target=target)])
