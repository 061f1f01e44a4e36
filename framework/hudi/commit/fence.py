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
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from framework.errors import CommitConflictError, StorageError, Where
from framework.hudi.commit.created import create_bytes, read_bytes
from framework.hudi.commit.intent import Intent, Transaction, read_intent
from framework.hudi.commit.lease import Lease, current_lease, require
from framework.hudi.commit.markers import announce, marker_type, read_markers
from framework.hudi.commit.placement import keeps_metadata, made_partition, own_logs
from framework.hudi.commit.staging import DEAD, Staging, staging_folders, tombstones
from framework.hudi.filegroup.slices import instant_of
from framework.hudi.storage.port import Entry, Storage, uploads_of
from framework.hudi.table import layout
from framework.hudi.timeline.instant import Action, Instant
from framework.hudi.timeline.timeline import load_timeline

__all__ = [
    "QUIET_MS",
    "abort_uploads",
    "await_late_files",
    "awaited_instants",
    "begin_upload",
    "bury",
    "check_no_other_run",
    "earliest_arriving",
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


def check_no_other_run(storage: Storage, write_id: str) -> None:
    """Raise if another run has begun and was neither ended nor fenced; one listing.

    It was recovered before, unless it began and lost its lease since then. Then it may still be
    about to complete an upload of which the timeline shows nothing.

    Raises:
        CommitConflictError: `commit/foreign-pending`.
    """
    for other in staging_folders(storage) if uploads_of(storage) is not None else ():
        begun = Staging(write_id=other).begin
        if other != write_id and storage.stat(begun) is not None:
            raise CommitConflictError(
                "commit/foreign-pending",
                "another run of Lakestrap has begun, and has not ended",
                where=Where(file=f"{storage.location}/{begun}"),
                remedy="Nothing was changed. Run again, which rolls it back if it is dead.",
            )


def fence(storage: Storage, intent: Intent) -> None:
    """Fence a run; read the timeline afterwards to learn whether it has published."""
    if uploads_of(storage) is None:
        intent.staging.rename_away(storage)
        return
    storage.delete(intent.staging.begin)
    bury(storage, intent)
    abort_uploads(storage, intent.staging)
    _abort_unrecorded(storage, intent)


def _abort_unrecorded(storage: Storage, intent: Intent) -> None:
    """Abort uploads of a dead run that it had not recorded yet.

    Nothing can complete them, so this only frees space. Who may not list uploads leaves them.
    """
    uploads = uploads_of(storage)
    if uploads is None:
        return
    try:
        found = list(uploads.unfinished())
    except StorageError as error:
        if error.condition != "storage/permission":
            raise
        return
    # of its instant, or of a drop, which has none
    starts = (layout.join(layout.HOODIE, f"{intent.requested_time}."), f"{layout.LAKESTRAP}/")
    for path, upload in found:
        if path.startswith(starts):
            uploads.abort(path, upload)


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


def await_late_files(storage: Storage, paths: Iterable[str], intent: Intent) -> None:
    """Remember a published run whose instant goes: its requests may arrive after the deletions.

    As after the recovery of a dead run, a later run deletes what they made; `paths` are its files.
    """
    marked = [(path, marker_type(layout.name_of(path), None)) for path in sorted(paths)]
    if marked:
        announce(storage, intent.requested_time, marked)
    bury(storage, intent)


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
    """Return how long a run has to wait for late requests of earlier runs; 0: not at all.

    A new table waits for all: files of an instant before a table's first one are visible, and so
    are files of its own instant, which every bootstrap has. A late deletion may even meet a file of
    this run there. So it may where a planned compaction is executed again, or the savepoint of an
    instant is made again: these wait for runs of the same action and instant.
    """
    storage, intent = transaction.storage, transaction.intent
    shares = intent.executes or intent.action is Action.SAVEPOINT
    if uploads_of(storage) is None or not (intent.is_new_table or shares):
        return 0
    found = tombstones(storage)
    if not intent.is_new_table:
        found = [each for each in found if _is_same(storage, each, intent)]
    return max(0, QUIET_MS - _age_ms(storage, found)) if found else 0


def _is_same(storage: Storage, tombstone: Entry, intent: Intent) -> bool:
    """Return whether a tombstone is of a run of the same action and instant."""
    return any(
        (each.action, each.requested_time) == (intent.action, intent.requested_time)
        for each in _intents(storage, [tombstone])
    )


def awaited_instants(storage: Storage) -> frozenset[str]:
    """Return the instants of fenced runs, whose markers stay until `sweep_dead` deletes them."""
    if uploads_of(storage) is None:
        return frozenset()
    return frozenset(each.requested_time for each in _intents(storage, tombstones(storage)))


def earliest_arriving(storage: Storage) -> str | None:
    """Return the earliest instant for which requests may still arrive; None if there is none.

    That is one of a fenced run, and one whose files on the timeline are younger than `QUIET_MS` by
    the store's clock. If such an instant were archived, a late request could make it pending again.
    """
    if uploads_of(storage) is None:
        return None
    dead, lease = tombstones(storage), current_lease(storage)
    entries = [each for each in storage.list(layout.HOODIE) if not each.is_folder]
    held = storage.stat(lease.path) if lease else None
    known = [each.mtime_ns for each in (*entries, *dead, *([held] if held else []))]
    since = max(known, default=0) - QUIET_MS * 1_000_000
    young = (Instant.parse(each.name) for each in entries if each.mtime_ns > since)
    times = {each.requested_time for each in young if each is not None}
    times |= {each.requested_time for each in _intents(storage, dead)}
    return min(times, default=None)


def require_quiet(transaction: Transaction) -> None:
    """Raise while late requests of earlier runs could meet files of this one, or become visible.

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
    """Delete the metadata of a partition that only the swept instant has made, in no table."""
    if keeps_metadata(storage):
        return
    entries = [each for each in storage.list(partition) if not each.is_folder]
    if any(instant_of(each.name) for each in entries):
        return
    made = [each.path for each in entries if made_partition(storage, each.path, time)]
    if made:
        require(storage, lease)
        storage.delete(*made)
