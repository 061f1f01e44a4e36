"""Rolling an earlier run back or forward (see `pending`); either may be killed and run again.

The order of a rollback matters. First the run is fenced, so that running tasks and a paused publish
fail from then on. Then the timeline is read again, since that publish may
have been faster. Data files are deleted before the pending instant, because a file whose instant is
unknown becomes visible once the timeline has moved past it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from framework.errors import CommitConflictError, UnsupportedTableError, Where
from framework.hudi.commit.clean import finish_clean
from framework.hudi.commit.drop import finish_drop
from framework.hudi.commit.fence import bury, fence, forget_tombstones
from framework.hudi.commit.intent import (
    PROPERTIES_KEY,
    WRITE_ID_KEY,
    Intent,
    least_intent,
    read_intent,
)
from framework.hudi.commit.lease import Lease, require
from framework.hudi.commit.pending import Pending, PendingKind, find_pending
from framework.hudi.commit.placement import (
    keeps_metadata,
    made_partition,
    own_logs,
    place_bytes,
)
from framework.hudi.commit.rollback import UNDOING, finish_undo
from framework.hudi.commit.staging import Staging, dead_folders
from framework.hudi.commit.state_files import delete_state_of
from framework.hudi.filegroup.slices import BaseFileName, instant_of
from framework.hudi.storage.port import Storage, uploads_of
from framework.hudi.table import layout
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS, Action, Instant, InstantState, advance
from framework.hudi.timeline.timeline import load_timeline

__all__ = ["release_compaction", "roll_back", "roll_back_own", "roll_forward"]


def roll_back(storage: Storage, pending: Pending, lease: Lease) -> None:
    """Roll back a dead lakestrap run, delete orphaned staging folders, or finish a removal.

    Removes the instant's data files and markers, the partition metadata and index that it made,
    folders left empty, and the pending instant. The plan of a compaction stays if it was there
    before the run, or if others have written since: their log files may be in its slices. Files of
    completed instants and of other writers are kept. Lists every folder of the table.

    Raises:
        CommitConflictError: `commit/completed-meanwhile`; look again and roll forward.
        UnsupportedTableError: `commit/not-ours`, `commit/not-pending`, `commit/mixed-log`.
        LeaseHeldError: `commit/lease-lost`.
    """
    require(storage, lease)
    match pending.kind:
        case PendingKind.FOREIGN:
            raise _refused("not-ours", "another writer's instant is never rolled back", pending)
        case PendingKind.UNFINISHED:
            raise _refused("not-pending", "a completed instant is never rolled back", pending)
        case PendingKind.DEAD_RUN if pending.instant and pending.instant.action is Action.SAVEPOINT:
            _drop_savepoint(storage, pending, pending.instant)
        case PendingKind.DEAD_RUN if pending.instant and pending.instant.action in _FINISHED:
            _finish(storage, pending, lease)
        case PendingKind.DEAD_RUN:
            _undo_run(storage, pending, lease)
        case PendingKind.ORPHANS:
            _delete_orphans(storage, pending.folders, lease)
        case PendingKind.DROPPED:
            finish_drop(storage, lease)


def roll_back_own(storage: Storage, lease: Lease) -> None:
    """Roll back what the run with this lease has made; nothing if it has made nothing.

    Raises:
        LeaseHeldError: `commit/lease-lost`.
    """
    require(storage, lease)
    pending = find_pending(storage)
    if pending is None:
        return
    folders = (layout.name_of(folder) for folder in pending.folders)
    mine = lease.owner.write_id in {pending.write_id, *folders}
    if mine and pending.kind in {PendingKind.DEAD_RUN, PendingKind.ORPHANS}:
        roll_back(storage, pending, lease)


def roll_forward(storage: Storage, pending: Pending, lease: Lease) -> None:
    """Finish a completed lakestrap instant: properties, markers, staging folder.

    Raises:
        UnsupportedTableError: `commit/not-completed`, `commit/no-properties`.
        LeaseHeldError: `commit/lease-lost`.
    """
    require(storage, lease)
    instant = pending.instant
    if pending.kind is not PendingKind.UNFINISHED or instant is None:
        raise _refused("not-completed", "only a completed instant can be rolled forward", pending)
    if not any(storage.stat(path) for path in (layout.PROPERTIES, layout.PROPERTIES_BACKUP)):
        text = pending.facts.get(PROPERTIES_KEY)
        if text is None:
            raise _refused("no-properties", "the table has lost its properties", pending)
        staging = Staging(write_id=lease.owner.write_id)
        place_bytes(storage, staging, layout.PROPERTIES, text.encode(), has_begun=False)
    _delete_markers(storage, instant.requested_time)
    if pending.write_id is not None:
        forget_tombstones(storage, pending.write_id)
    _delete_folders(storage, pending.folders)


def _undo_run(storage: Storage, pending: Pending, lease: Lease) -> None:
    """Roll back a pending instant; the module docstring explains the order."""
    if pending.instant is None or pending.write_id is None:
        raise _refused("not-ours", "the instant does not name its run", pending)
    time = pending.instant.requested_time
    intent = pending.intent or least_intent(pending.instant, pending.write_id)
    fence(storage, intent)
    ours = load_timeline(storage).find(time)
    if any(each.is_completed for each in ours):
        forget_tombstones(storage, pending.write_id)
        raise CommitConflictError(
            "commit/completed-meanwhile",
            "the run that seemed dead has published",
            where=Where(instant=time),
            remedy="Run the same command again; it completes the remaining steps.",
        )
    compacts = pending.instant.action is Action.COMPACTION
    _Sweep(storage=storage, lease=lease, time=time, compacts=compacts).run()
    kept = InstantState.REQUESTED if compacts and _is_in_use(storage, time) else None
    for each in _pending_files(storage, time):
        if each.state is not kept and _write_id(storage, each) == pending.write_id:
            storage.delete(each.path, layout.crc_sidecar(each.path))
    delete_state_of(storage, pending.write_id)
    _delete_folders(storage, _left_folders(storage, pending.write_id))
    if uploads_of(storage) is not None:  # the wait for late requests counts from the last one
        bury(storage, intent)


def _left_folders(storage: Storage, write_id: str) -> tuple[str, ...]:
    """Return the folders of a fenced run."""
    if uploads_of(storage) is not None:
        return (layout.write_folder(write_id),)
    return tuple(path for path in dead_folders(storage) if write_id in path)


def _is_in_use(storage: Storage, time: str) -> bool:
    """Return whether later instants may have written log files to the slices of a compaction.

    Without its plan these log files would hide the rows of the slices before.
    """
    later = (each for each in load_timeline(storage).instants if each.action in DATA_ACTIONS)
    return any(each.requested_time > time for each in later)


def _write_id(storage: Storage, instant: Instant) -> str | None:
    return read_commit_head(storage, instant.path).extra.get(WRITE_ID_KEY)


def release_compaction(storage: Storage, instant: Instant, lease: Lease) -> None:
    """Return an inflight compaction of a dead writer to requested, as Apache Hudi does.

    Removes base files of its instant and markers, then the inflight file. Lists every folder of
    the table.

    Raises:
        LeaseHeldError: `commit/lease-lost`.
    """
    _Sweep(storage=storage, lease=lease, time=instant.requested_time, compacts=True).run()
    require(storage, lease)
    storage.delete(instant.path, layout.crc_sidecar(instant.path))


_Finish = Callable[[Storage, Lease, Intent, str], bool]
_FINISHED: Final[Mapping[Action, _Finish]] = {
    **dict.fromkeys(UNDOING, finish_undo),
    Action.CLEAN: finish_clean,
}
"""Actions whose deleted files cannot be brought back: how each is finished."""


def _finish(storage: Storage, pending: Pending, lease: Lease) -> None:
    """Finish a rollback, restore or clean, or remove it where it has changed nothing yet."""
    intent = pending.intent
    if pending.instant and pending.write_id and uploads_of(storage) is not None:
        # an earlier recovery deleted the record, to fence the run, and died before its tombstone
        intent = intent or least_intent(pending.instant, pending.write_id)
    if pending.instant is None or pending.write_id is None or intent is None:
        raise _refused("not-ours", "the instant does not say whose it is", pending)
    fence(storage, intent)
    mine = _left_folders(storage, pending.write_id)
    for folder in mine:
        if _FINISHED[pending.instant.action](storage, lease, intent, folder):
            break
    else:
        for each in _pending_files(storage, pending.instant.requested_time):
            storage.delete(each.path)
    _delete_folders(storage, mine)


def _drop_savepoint(storage: Storage, pending: Pending, instant: Instant) -> None:
    """Remove a savepoint that is not completed, and can no longer be."""
    if uploads_of(storage) is not None and pending.write_id is not None:
        fence(storage, pending.intent or least_intent(instant, pending.write_id))
    done = advance(instant, InstantState.COMPLETED)
    if uploads_of(storage) is None or done not in load_timeline(storage).completed:
        storage.delete(instant.path)
    _delete_folders(storage, pending.folders)


def _pending_files(storage: Storage, time: str) -> list[Instant]:
    """Return the existing inflight, then requested files of an instant."""
    found = (
        Instant.parse(entry.name) for entry in storage.list(layout.HOODIE) if not entry.is_folder
    )
    pending = (each for each in found if each and not each.is_completed)
    return sorted(each for each in pending if each.requested_time == time)


def _delete_orphans(storage: Storage, folders: Sequence[str], lease: Lease) -> None:
    """Delete staging folders, after the files of their instants that are not on the timeline."""
    timeline = load_timeline(storage)
    for folder in folders:
        intent = read_intent(storage, folder)
        if intent is not None and uploads_of(storage) is not None:
            bury(storage, intent)  # the fence deletes the only other record of the run
            fence(storage, intent)  # it may be about to complete an upload
            timeline = load_timeline(storage)
        time = intent.requested_time if intent else None
        if time and not timeline.find(time) and not timeline.is_completed(time):
            compacts = intent is not None and intent.action is Action.COMPACTION
            _Sweep(storage=storage, lease=lease, time=time, compacts=compacts).run()
        _delete_folders(storage, [folder])


def _delete_folders(storage: Storage, folders: Sequence[str]) -> None:
    """Delete staging folders; rename one first if it still has its original name."""
    for folder in folders:
        if folder in dead_folders(storage):
            storage.delete(folder)
        else:
            Staging(write_id=layout.name_of(folder)).remove(storage)


@dataclass(frozen=True, kw_only=True)
class _Sweep:
    """Deletes the files that a pending instant may have made outside timeline and staging.

    Attributes:
        storage: the table.
        lease: checked before each folder's files are deleted, since a delete cannot be fenced.
        time: the instant.
        compacts: whether the instant is a compaction, so that log files with its instant are of
            writers that came after its plan.
    """

    storage: Storage
    lease: Lease
    time: str
    compacts: bool

    def run(self) -> None:
        """Delete data files with their partition metadata, the index, and finally the markers.

        Log files come first: only the markers lead to them, and if one must not be deleted, the
        whole instant is left as it is.
        """
        logs = () if self.compacts else own_logs(self.storage, self.time)
        if logs:
            require(self.storage, self.lease)
            self.storage.delete(*logs)
        self._clean("")
        if self.time == layout.BOOTSTRAP_INSTANT:
            self._delete_index()
        if uploads_of(self.storage) is None:  # else late files may need them, see `fence`
            _delete_markers(self.storage, self.time)

    def _clean(self, folder: str) -> bool:
        """Clean `folder` and its contents; return whether anything was deleted.

        Partition metadata that this instant made is deleted with the last data file. A folder is
        deleted if that leaves it empty or if it was empty: a run that dies between creating a
        folder and its first file leaves an empty folder.
        """
        entries = list(self.storage.list(folder))
        below = [e.path for e in entries if e.is_folder and e.path != layout.HOODIE]
        touched = [path for path in below if self._clean(path)]
        times = {e.path: instant_of(e.name) for e in entries if not e.is_folder}
        doomed = [path for path, time in times.items() if time == self.time and self._is_ours(path)]
        if not self._keeps_metadata and set(times.values()) <= {self.time, None}:
            files = (e.path for e in entries if not e.is_folder)
            doomed += [path for path in files if made_partition(self.storage, path, self.time)]
        if doomed:
            require(self.storage, self.lease)
            self.storage.delete(*doomed)
        changed = bool(doomed or touched or not entries)
        if folder and changed:
            self.storage.delete(folder, only_empty=True)
        return changed

    @cached_property
    def _keeps_metadata(self) -> bool:
        """Whether partition metadata stays: a late deletion could meet that of another run."""
        return keeps_metadata(self.storage)

    def _is_ours(self, path: str) -> bool:
        return not self.compacts or BaseFileName.parse(layout.name_of(path)) is not None

    def _delete_index(self) -> None:
        """Delete the bootstrap index, and its folders if they are empty then."""
        require(self.storage, self.lease)
        self.storage.delete(
            layout.RELOCATED, layout.ADOPTED_PARTITIONS_INDEX, layout.ADOPTED_FILEIDS_INDEX
        )
        for path in (layout.BOOTSTRAP_PARTITIONS_INDEX, layout.BOOTSTRAP_FILEIDS_INDEX):
            self.storage.delete(path, layout.crc_sidecar(path))
            self.storage.delete(layout.parent_of(path), only_empty=True)
        self.storage.delete(
            layout.parent_of(layout.parent_of(layout.BOOTSTRAP_FILEIDS_INDEX)), only_empty=True
        )
        self.storage.delete(layout.AUX, only_empty=True)


def _delete_markers(storage: Storage, time: str) -> None:
    storage.delete(layout.temp_folder(time))
    storage.delete(layout.TEMP, only_empty=True)


def _refused(condition: str, message: str, pending: Pending) -> UnsupportedTableError:
    """Return the error for a refused action."""
    instant = pending.instant
    return UnsupportedTableError(
        f"commit/{condition}",
        message,
        where=Where(
            file=instant.path if instant else None,
            instant=instant.requested_time if instant else None,
        ),
        remedy="Finish it or roll it back with the writer that made it, then run again.",
    )
