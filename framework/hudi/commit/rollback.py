"""Rollback of completed instants, newest first: of one, or of several by one restore (ADR 0035).

Each instant and its files are recorded in the run's own folder before anything changes. Then, for
each instant, the completed file is deleted first, which removes the instant from the table at once;
then its data files; then its pending files, because a file whose instant is not on the timeline
becomes visible when the timeline has moved past it. Every step can be repeated, so recovery
finishes an interrupted rollback and never undoes it: deleted files cannot be brought back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

from framework.errors import AfterCommitError, Where
from framework.hudi.codecs.log_format import BlockKind, HeaderKey, encode_block
from framework.hudi.commit.fence import await_late_files, bury
from framework.hudi.commit.intent import WRITE_ID_KEY, Intent, Transaction, least_intent
from framework.hudi.commit.lease import Lease, require
from framework.hudi.commit.placement import keeps_metadata, made_partition, place_bytes
from framework.hudi.commit.staging import Staging
from framework.hudi.commit.state_files import delete_state_of
from framework.hudi.commit.transaction import check_unmoved
from framework.hudi.storage.port import Storage, uploads_of
from framework.hudi.table import layout
from framework.hudi.table.folders import folders
from framework.hudi.timeline import action_metadata
from framework.hudi.timeline.action_metadata import PlannedRollback, RolledBackPart
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import Action, Instant, InstantState

__all__ = ["UNDOING", "Undo", "finish_undo", "undo_instants"]

UNDOING: Final = frozenset({Action.ROLLBACK, Action.RESTORE})

_READY: Final = "ready"
_SUFFIX: Final = ".avro"
_ROLLBACK_COMMAND: Final = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """What a rollback or restore rolls back.

    Attributes:
        instants: newest first.
        savepoint: the savepoint that is restored to; None for any other instant.
        drops: whether no data instant remains, so that the table's properties and timeline are
            deleted too, and a bootstrap may start there again.
    """

    instants: tuple[PlannedRollback, ...]
    savepoint: str | None = None
    drops: bool = False

    def plan_bytes(self, location: str, extra: Mapping[str, str], action: Action) -> bytes:
        """Return the requested file of a rollback or restore."""
        if action is Action.ROLLBACK:
            return action_metadata.rollback_plan_bytes(location, self.instants[0], extra)
        return action_metadata.restore_plan_bytes(self.instants, self.savepoint, extra)


def undo_instants(transaction: Transaction, undo: Undo) -> None:
    """Roll back the instants of a pending rollback or restore, and complete it.

    Raises:
        LeaseHeldError, CommitConflictError, StorageError: before anything was rolled back.
        AfterCommitError: `rollback/unfinished`; the table is between two states, and the next run
            finishes it.
    """
    storage, staging = transaction.storage, transaction.intent.staging
    check_unmoved(transaction, ())
    folder = _folder(staging)
    for number, planned in enumerate(undo.instants):
        path = layout.join(folder, f"{number:06}{_SUFFIX}")
        place_bytes(storage, staging, path, _planned_bytes(storage, planned))
    ready = json.dumps({"savepoint": undo.savepoint, "drops": undo.drops}).encode()
    place_bytes(storage, staging, layout.join(folder, _READY), ready)
    require(storage, transaction.lease)
    try:
        _undo(storage, transaction.lease, transaction.intent, undo)
    except Exception as error:
        raise AfterCommitError(
            "rollback/unfinished",
            "the rollback is not finished: some instants are rolled back, others are not yet",
            where=Where(table=storage.location, instant=transaction.intent.requested_time),
            remedy="Run the same command again; it finishes what is left.",
        ) from error


def finish_undo(storage: Storage, lease: Lease, intent: Intent, folder: str) -> bool:
    """Finish the rollback or restore of a dead run; return False where it had not begun to.

    Args:
        storage: the table.
        lease: of the recovering run.
        intent: of the dead run.
        folder: the dead run's staging folder, renamed or not.
    """
    root = layout.join(folder, "undo")
    ready = layout.join(root, _READY)
    if storage.stat(ready) is None:
        return False
    with storage.open_input(ready) as source:
        said = json.loads(bytes(source.read()))
    paths = sorted(e.path for e in storage.list(root) if e.name.endswith(_SUFFIX))
    instants = tuple(action_metadata.read_rollback_plan(storage, path) for path in paths)
    _undo(storage, lease, intent, Undo(instants=instants, **said))
    return True


def _folder(staging: Staging) -> str:
    return layout.join(staging.root, "undo")


def _planned_bytes(storage: Storage, planned: PlannedRollback) -> bytes:
    return action_metadata.rollback_plan_bytes(storage.location, planned, {})


def _undo(storage: Storage, lease: Lease, intent: Intent, undo: Undo) -> None:
    """Roll back each instant and complete the action; done again it does what is left."""
    begun = monotonic()
    time = intent.requested_time
    done = [(each, _undo_one(storage, lease, each, time)) for each in undo.instants]
    if undo.drops:
        _drop(storage, lease, intent)
        return
    took = int((monotonic() - begun) * 1000)
    location = storage.location
    if intent.action is Action.ROLLBACK:
        ((planned, parts),) = done
        data = action_metadata.rollback_bytes(location, time, planned, parts, took_ms=took)
    else:
        data = action_metadata.restore_bytes(location, time, done, took_ms=took)
    require(storage, lease)
    if storage.stat(intent.completed.path) is None:
        staging = Staging(write_id=lease.owner.write_id)
        place_bytes(storage, staging, intent.completed.path, data, has_begun=False)


def _undo_one(
    storage: Storage, lease: Lease, planned: PlannedRollback, time: str
) -> Mapping[str, RolledBackPart]:
    """Roll back one instant at `time`; what is missing already counts as deleted."""
    action = Action(planned.action)
    completed = Instant(requested_time=planned.instant, action=action, state=InstantState.COMPLETED)
    require(storage, lease)
    write_id = _write_id(storage, completed)
    if write_id is not None and uploads_of(storage) is not None:
        paths = (path for files in planned.files.values() for path in files)
        await_late_files(storage, paths, least_intent(completed, write_id))
    storage.delete(completed.path, layout.crc_sidecar(completed.path))
    for partition, files in planned.files.items():
        require(storage, lease)
        storage.delete(*files, *map(layout.crc_sidecar, files))
        _tidy(storage, partition, planned.instant)
    written = _write_commands(storage, lease, planned, time)
    if planned.instant == layout.BOOTSTRAP_INSTANT:
        _delete_index(storage)
    if write_id is not None:
        delete_state_of(storage, write_id)
    if uploads_of(storage) is None:  # else late files may need the markers, see `fence`
        storage.delete(layout.temp_folder(planned.instant))
    for path in _pending_paths(storage, planned.instant):
        storage.delete(path, layout.crc_sidecar(path))
    found = {path: RolledBackPart(deleted=files) for path, files in planned.files.items()}
    for partition, part in written.items():
        deleted = found.get(partition, RolledBackPart()).deleted
        found[partition] = replace(part, deleted=deleted)
    return found


def _delete_index(storage: Storage) -> None:
    storage.delete(layout.RELOCATED, layout.ADOPTED_PARTITIONS_INDEX, layout.ADOPTED_FILEIDS_INDEX)
    for path in (layout.BOOTSTRAP_PARTITIONS_INDEX, layout.BOOTSTRAP_FILEIDS_INDEX):
        storage.delete(path, layout.crc_sidecar(path))


def _write_commands(
    storage: Storage, lease: Lease, planned: PlannedRollback, time: str
) -> Mapping[str, RolledBackPart]:
    """Write a log file beside each one that stays: a block that takes the instant's blocks back.

    Readers skip those blocks from the moment when the instant is gone; once the timeline has moved
    past it, they need the command (format sheet, section 6.5). So it is written before the pending
    files are deleted.
    """
    header = {
        HeaderKey.INSTANT_TIME: time,
        HeaderKey.TARGET_INSTANT_TIME: planned.instant,
        HeaderKey.COMMAND_BLOCK_TYPE: _ROLLBACK_COMMAND,
    }
    block = encode_block(BlockKind.COMMAND, header, b"")
    staging = Staging(write_id=lease.owner.write_id)
    found: dict[str, RolledBackPart] = {}
    for kept, command in sorted(planned.commands.items()):
        require(storage, lease)
        place_bytes(storage, staging, command, block, has_begun=False)
        entry, partition = storage.stat(kept), layout.parent_of(kept)
        part = found.get(partition, RolledBackPart())
        found[partition] = replace(
            part,
            written={**part.written, command: len(block)},
            left={**part.left, kept: entry.size if entry else 0},
        )
    return found


def _write_id(storage: Storage, completed: Instant) -> str | None:
    """Return the write id of the Lakestrap run that made an instant; None for another writer."""
    if storage.stat(completed.path) is None:
        pending = _pending_paths(storage, completed.requested_time)
        heads = (read_commit_head(storage, path).extra for path in pending)
        return next((head[WRITE_ID_KEY] for head in heads if WRITE_ID_KEY in head), None)
    return read_commit_head(storage, completed.path).extra.get(WRITE_ID_KEY)


def _pending_paths(storage: Storage, time: str) -> Sequence[str]:
    """Return inflight, then requested files of an instant of data, as far as they are there."""
    found = (Instant.parse(e.name) for e in storage.list(layout.HOODIE) if not e.is_folder)
    mine = (
        each
        for each in found
        if each
        and each.requested_time == time
        and not each.is_completed
        and each.action is not Action.SAVEPOINT
    )
    return [each.path for each in sorted(mine)]


def _drop(storage: Storage, lease: Lease, intent: Intent) -> None:
    """Remove the properties and the timeline of a table that has no data any more."""
    require(storage, lease)
    for path in (layout.PROPERTIES, layout.PROPERTIES_BACKUP):
        storage.delete(path, layout.crc_sidecar(path))
    mine = {intent.requested.path, intent.inflight.path}
    kept = {*mine, layout.LAKESTRAP}
    if uploads_of(storage) is not None:
        kept.add(layout.TEMP)
        _delete_metadata(storage)
    others = [e.path for e in storage.list(layout.HOODIE) if e.path not in kept]
    storage.delete(*others)
    if uploads_of(storage) is not None:  # the wait of a next table counts from the last deletion
        bury(storage, intent)
    storage.delete(*sorted(mine))


def _delete_metadata(storage: Storage) -> None:
    """Delete the partition metadata of a table that is gone; `_tidy` kept it."""
    for folder in folders(storage):
        found = [e.path for e in folder.entries if e.name.startswith(layout.PARTITION_METADATA)]
        if found:
            storage.delete(*found)


def _tidy(storage: Storage, partition: str, time: str) -> None:
    """Remove partition metadata that the instant made, and the folder, where no file is left."""
    if keeps_metadata(storage):
        return
    entries = [e for e in storage.list(partition) if e.path != layout.HOODIE]
    metadata = layout.join(partition, layout.PARTITION_METADATA)
    if {each.path for each in entries} - {metadata, layout.crc_sidecar(metadata)}:
        return
    if entries and made_partition(storage, metadata, time):
        storage.delete(metadata, layout.crc_sidecar(metadata))
    folder = partition
    while folder:
        storage.delete(folder, only_empty=True)
        folder = layout.parent_of(folder)
