"""The fence: nothing of a run that another run considers dead becomes visible any more (ADR 0049).

Where files move, the run's folder is renamed. On a store without moves the fence has two halves.

The completed instant is an upload without a name. Its run records the upload, then checks that it
has no tombstone, then completes the upload. A recovering run makes the tombstone, then aborts each
recorded upload, then reads the timeline. If the record was listed, the upload is aborted, or was
completed before and is on the timeline. If it was not, it was made after the tombstone, which the
run then finds. No clock takes part.

Data files have their names from the start. A task looks for its run's first file just before each
request. A recovering run deletes that file before it makes the tombstone, so a request that was
sent before may still arrive, for at most `QUIET_MS` by the store's own clock. A tombstone and the
markers of its instant stay that long. Then `sweep_dead` deletes what the markers name. Until then
nothing may make an unknown instant of that age visible: `require_quiet` and archival.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from framework.errors import CommitConflictError, StorageError, Where
from framework.hudi.commit.created import create_bytes, read_bytes
from framework.hudi.commit.intent import Intent, Transaction, read_intent
from framework.hudi.commit.lease import Lease, current_lease, require
from framework.hudi.commit.markers import read_markers
from framework.hudi.commit.placement import made_partition, own_logs
from framework.hudi.commit.staging import DEAD, Staging, tombstones
from framework.hudi.filegroup.slices import instant_of
from framework.hudi.storage.port import Entry, Storage, uploads_of
from framework.hudi.table import layout
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline

__all__ = [
    "QUIET_MS",
    "abort_uploads",
    "awaited_instants",
    "begin_upload",
    "bury",
    "fence",
    "forget_tombstones",
    "quiet_in_ms",
    "require_quiet",
    "sweep_dead",
]

QUIET_MS: Final = 15 * 60_000
"""How long after a run was fenced a request of its tasks may arrive.

S3 and Azure refuse a request that was signed 15 minutes ago, and a client repeats one for less.
"""
_ATTEMPTS: Final = 16
_WRITE_ID_DIGITS: Final = 32


def begin_upload(transaction: Transaction, path: str, data: bytes) -> str:
    """Store `data` for a name and record the upload; return its id.

    Only for a store without moves.
    """
    storage, staging = transaction.storage, transaction.intent.staging
    uploads = uploads_of(storage)
    if uploads is None:
        raise ValueError("files move here")
    upload = uploads.begin(path, data)
    record = json.dumps({"path": path, "upload": upload}).encode()
    create_bytes(storage, staging.new_publish(), record)
    return upload


def abort_uploads(storage: Storage, staging: Staging) -> None:
    """Abort all uploads that a run has recorded; the records stay."""
    uploads = uploads_of(storage)
    for entry in storage.list(staging.publish) if uploads is not None else ():
        try:
            said = json.loads(read_bytes(storage, entry.path))
        except StorageError as error:  # the run itself deletes its records once it has published
            if error.condition != "storage/not-found":
                raise
            continue
        if uploads is not None:
            uploads.abort(said["path"], said["upload"])


def fence(storage: Storage, intent: Intent) -> None:
    """Fence a run; read the timeline afterwards to learn whether it has published."""
    if uploads_of(storage) is None:
        intent.staging.rename_away(storage)
        return
    storage.delete(intent.staging.begin)
    bury(storage, intent)
    abort_uploads(storage, intent.staging)


def bury(storage: Storage, intent: Intent) -> None:
    """Make a tombstone for a run; a run that is fenced again gets one more."""
    data, number = intent.begin_bytes(), len(tombstones(storage, intent.write_id))
    for attempt in range(_ATTEMPTS):
        try:
            create_bytes(storage, _tombstone(intent.write_id, number + attempt), data)
        except CommitConflictError:
            continue
        return
    raise CommitConflictError(
        "commit/instant-taken",
        "other runs recover this one too",
        where=Where(file=intent.staging.root),
    )


def forget_tombstones(storage: Storage, write_id: str) -> None:
    """Delete the tombstones of a run that turned out to have published."""
    if uploads_of(storage) is not None:
        storage.delete(*(each.path for each in tombstones(storage, write_id)))


def sweep_dead(storage: Storage, lease: Lease) -> int:
    """Delete files that late requests of fenced runs have made; return how many runs were swept.

    Only of runs whose last tombstone is older than `QUIET_MS`, and whose tasks find no fence since
    then, so that no further file can appear;
    their tombstones and markers are deleted too, and markers that tasks of published runs have made
    too late. Costs two listings where nothing is left.

    Raises:
        LeaseHeldError: `commit/lease-lost`.
    """
    if uploads_of(storage) is None:
        return 0
    swept = 0
    for write_id, found in _by_run(tombstones(storage)):
        if _age_ms(storage, found) < QUIET_MS:
            continue
        intent = _intents(storage, found)[0]
        require(storage, lease)
        if storage.stat(intent.staging.begin) is not None:  # a late request has made it again
            storage.delete(intent.staging.root)
            bury(storage, intent)
            continue
        _sweep(storage, lease, intent)
        require(storage, lease)
        storage.delete(*(each.path for each in tombstones(storage, write_id)))
        swept += 1
    _delete_late_markers(storage, lease)
    return swept


def _delete_late_markers(storage: Storage, lease: Lease) -> None:
    """Delete markers that a task made after its run had ended; no file of theirs was created.

    Those of pending instants stay, and those of instants whose files may still arrive.
    """
    left = list(storage.list(layout.TEMP))
    if not left:
        return
    kept = {
        each.requested_time for each in load_timeline(storage).instants if not each.is_completed
    }
    kept |= {each.requested_time for each in _intents(storage, tombstones(storage))}
    for folder in left:
        if folder.name not in kept:
            require(storage, lease)
            storage.delete(folder.path)


def quiet_in_ms(transaction: Transaction) -> int:
    """Return how long a new table has to wait for late requests of earlier runs; 0: not at all.

    Files of an instant before a table's first one are visible, and so are files of its own instant,
    which every bootstrap has. A late deletion may even meet a file of this run there.
    """
    storage, intent = transaction.storage, transaction.intent
    if uploads_of(storage) is None or not intent.is_new_table:
        return 0
    found = tombstones(storage)
    return max(0, QUIET_MS - _age_ms(storage, found)) if found else 0


def awaited_instants(storage: Storage) -> frozenset[str]:
    """Return the instants of fenced runs, whose markers stay until `sweep_dead` deletes them."""
    if uploads_of(storage) is None:
        return frozenset()
    return frozenset(each.requested_time for each in _intents(storage, tombstones(storage)))


def require_quiet(transaction: Transaction) -> None:
    """Raise while late requests of earlier runs could become visible in a new table.

    Raises:
        CommitConflictError: `commit/not-quiet-yet`.
    """
    left = quiet_in_ms(transaction)
    if left > 0:
        raise CommitConflictError(
            "commit/not-quiet-yet",
            "an earlier run was rolled back here, and files that it sent may"
            f" still arrive for {left // 1000 + 1} seconds",
            where=Where(file=DEAD, instant=transaction.intent.requested_time),
            remedy="Nothing was published. Run the same command again after that time.",
        )
    sweep_dead(transaction.storage, transaction.lease)


def _tombstone(write_id: str, number: int) -> str:
    return layout.join(DEAD, f"{write_id}-{number:04}.json")


def _by_run(found: Sequence[Entry]) -> Iterator[tuple[str, list[Entry]]]:
    """Yield the tombstones of each run, which has several if it was fenced again."""
    runs: dict[str, list[Entry]] = {}
    for each in found:
        runs.setdefault(each.name[:_WRITE_ID_DIGITS], []).append(each)
    yield from runs.items()


def _age_ms(storage: Storage, found: Sequence[Entry]) -> int:
    """Return the time between the last tombstone and the current lease, by the store's clock."""
    lease = current_lease(storage)
    entry = storage.stat(lease.path) if lease else None
    if entry is None:
        return 0
    return (entry.mtime_ns - max(each.mtime_ns for each in found)) // 1_000_000


def _intents(storage: Storage, found: Sequence[Entry]) -> list[Intent]:
    """Return the intents in tombstones."""
    read = (read_intent(storage, layout.parent_of(e.path), name=e.name) for e in found)
    return [each for each in read if each is not None]


def _sweep(storage: Storage, lease: Lease, intent: Intent) -> None:
    """Delete the files that the markers of a fenced instant name, and the markers."""
    time = intent.requested_time
    if load_timeline(storage).find(time):  # of another bootstrap, which has the same instant
        return
    doomed = [*own_logs(storage, time)] if intent.action is not Action.COMPACTION else []
    partitions = set()
    for path in read_markers(storage, time):
        partitions.add(layout.parent_of(path))
        if instant_of(layout.name_of(path)) == time:
            doomed.append(path)
    require(storage, lease)
    storage.delete(*dict.fromkeys(doomed))
    for partition in sorted(partitions):
        _sweep_metadata(storage, lease, partition, time)
    storage.delete(layout.temp_folder(time))


def _sweep_metadata(storage: Storage, lease: Lease, partition: str, time: str) -> None:
    """Delete the metadata of a partition that only the swept instant has made."""
    entries = [each for each in storage.list(partition) if not each.is_folder]
    if any(instant_of(each.name) for each in entries):
        return
    made = [each.path for each in entries if made_partition(storage, each.path, time)]
    if made:
        require(storage, lease)
        storage.delete(*made)
