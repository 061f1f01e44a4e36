"""Removal of a whole table, in an order that shows readers all of it or none.

First the backup of the properties is deleted, and the properties are moved into Lakestrap's own
folder: from that moment there is no table. Then data files are deleted, then the timeline, and the
moved properties last, so that every later command finds a removal to finish, and never takes
the commits for a table that only lacks its properties. Every step can be repeated (ADR 0041).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from framework.errors import StorageError
from framework.hudi.commit.alone import begin_alone, create_alone, require_same
from framework.hudi.commit.fence import await_late_files, bury, earliest_arriving
from framework.hudi.commit.intent import WRITE_ID_KEY, Intent, Transaction, least_intent
from framework.hudi.commit.lease import Lease, require
from framework.hudi.commit.placement import read_bytes
from framework.hudi.commit.staging import DEAD
from framework.hudi.filegroup.slices import instant_of
from framework.hudi.storage.locations import open_unlinked
from framework.hudi.storage.port import Entry, Move, Storage, uploads_of
from framework.hudi.table import layout
from framework.hudi.table.folders import Folder, folders
from framework.hudi.timeline.commit_body import read_commit_body
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS, Action, Instant, InstantState
from framework.hudi.timeline.timeline import Timeline, load_timeline

__all__ = [
    "DROPPED",
    "OwnFolder",
    "begin_drop",
    "drop_intent",
    "finish_drop",
    "is_half_dropped",
    "is_in_both_places",
    "own_folders",
]

DROPPED: Final = layout.join(layout.LAKESTRAP, "dropped.properties")
_CRC: Final = ".crc"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFolder:
    """What a table has in one folder outside `.hoodie`.

    Attributes:
        path: relative to the table.
        data: its base and log files, with their checksums.
        metadata: its partition metadata.
        unknown: paths of everything else, which is not the table's.
        is_own: whether the folder is the table's.
    """

    path: str
    data: tuple[Entry, ...]
    metadata: tuple[Entry, ...]
    unknown: tuple[str, ...]
    is_own: bool = True


def is_half_dropped(storage: Storage) -> bool:
    """Return whether the removal of a table has begun and is not finished."""
    there = any(storage.stat(path) for path in (layout.PROPERTIES, layout.PROPERTIES_BACKUP))
    if there and uploads_of(storage) is not None:
        return is_in_both_places(storage)
    return not there and storage.stat(DROPPED) is not None


def is_in_both_places(storage: Storage) -> bool:
    """Return whether a removal died in the middle of its move, so that the table is still whole.

    A move on a file system is a link and an unlink. A table that another writer made meanwhile has
    properties with another time. On a store without moves the copy decides, so the table is gone.
    """
    if storage.stat(DROPPED) is None or storage.stat(layout.PROPERTIES) is None:
        return False
    return read_bytes(storage, layout.PROPERTIES) == read_bytes(storage, DROPPED)


def own_folders(location: str, timeline: Timeline) -> Iterator[OwnFolder]:
    """Yield the folders of a table outside `.hoodie` with their files; one listing each.

    A base or log file is the table's in a partition, and elsewhere if its instant counts. A
    symbolic link is not, and is never followed, which costs a stat of each file.

    Args:
        location: the table's, as its storage names it.
        timeline: of the table.
    """
    storage = open_unlinked(location)
    for folder in folders(storage):
        yield _own(storage, folder, timeline)


def begin_drop(transaction: Transaction, timeline: Timeline) -> None:
    """Take the table away from readers, by one move.

    On a store without moves by a copy, which is fenced and decides, and a deletion, which anyone
    may do from then on.

    Args:
        transaction: of the drop; nothing of it gets on the timeline.
        timeline: of the table that is dropped.

    Raises:
        LeaseHeldError: the lease was lost; the table is whole.
        CommitConflictError: `commit/fenced`, `commit/timeline-changed`; likewise.
    """
    storage, lease = transaction.storage, transaction.lease
    if uploads_of(storage) is not None:
        begin_alone(transaction)
        data = read_bytes(storage, layout.PROPERTIES)
        create_alone(transaction, DROPPED, data, lambda: require_same(storage, timeline))
        _delete_properties(storage)
        return
    require(storage, lease)
    storage.delete(layout.PROPERTIES_BACKUP, layout.crc_sidecar(layout.PROPERTIES_BACKUP))
    require(storage, lease)
    if is_in_both_places(storage):
        storage.delete(DROPPED)
    storage.move([Move(source=layout.PROPERTIES, target=DROPPED)])


def finish_drop(storage: Storage, lease: Lease) -> tuple[str, ...]:
    """Delete the files of a half-dropped table; return the paths that are not the table's.

    Folders with such files are kept. The caller releases the lease, which removes the rest.

    Raises:
        LeaseHeldError: the lease was lost; the next run finishes.
        StorageError: a file cannot be deleted; the next run finishes.
    """
    if uploads_of(storage) is not None:
        _delete_properties(storage)
        _await_late_files(storage)
    unknown = _delete_files(storage, lease)
    require(storage, lease)
    # on a store without moves, late files may need the markers, see `fence`
    markers: set[str] = set() if uploads_of(storage) is None else {layout.TEMP}
    for entry in list(storage.list(layout.HOODIE)):
        if entry.path not in {layout.LAKESTRAP, *markers}:
            storage.delete(entry.path)
    kept = {layout.LEASE, DROPPED, DEAD}
    if uploads_of(storage) is None:  # releasing the lease deletes the folder of its run there
        kept.add(layout.write_folder(lease.owner.write_id))
    storage.delete(*(e.path for e in storage.list(layout.LAKESTRAP) if e.path not in kept))
    if uploads_of(storage) is not None:  # the wait of a next table counts from the last deletion
        bury(storage, drop_intent(lease.owner.write_id))
    storage.delete(DROPPED)
    return tuple(unknown)


_ALL: Final = Instant(
    requested_time=layout.BOOTSTRAP_INSTANT, action=Action.COMMIT, state=InstantState.COMPLETED
)
"""Stands for all instants of a table: no later one is as old."""


def drop_intent(write_id: str) -> Intent:
    """Return the intent of a run that drops a table, which has no instant of its own."""
    return least_intent(_ALL, write_id)


def _delete_files(storage: Storage, lease: Lease) -> list[str]:
    """Delete data files and partition metadata; return the paths that are not the table's."""
    unknown: list[str] = []
    emptied: list[str] = []
    for folder in list(own_folders(storage.location, load_timeline(storage))):
        unknown += folder.unknown
        for entries in (folder.data, folder.metadata):
            if entries:
                require(storage, lease)
                storage.delete(*(each.path for each in entries))
        if folder.path and folder.is_own:
            emptied.append(folder.path)
    for path in sorted(emptied, key=lambda each: -each.count("/")):
        storage.delete(path, only_empty=True)
    return unknown


def _delete_properties(storage: Storage) -> None:
    storage.delete(layout.PROPERTIES_BACKUP, layout.PROPERTIES)


def _await_late_files(storage: Storage) -> None:
    """Remember the instants for whose files requests may still arrive."""
    earliest = earliest_arriving(storage)
    for each in load_timeline(storage).completed if earliest else ():
        if each.action in DATA_ACTIONS and each.requested_time >= (earliest or ""):
            write_id = read_commit_head(storage, each.path).extra.get(WRITE_ID_KEY)
            paths = (stat.path for stat in read_commit_body(storage, each.path).files())
            if write_id is not None:
                await_late_files(storage, paths, least_intent(each, write_id))


def _own(storage: Storage, folder: Folder, timeline: Timeline) -> OwnFolder:
    """Return the entries of a folder by kind."""
    if not folder.is_own:
        unknown = (f"{folder.path}/",)
        return OwnFolder(path=folder.path, data=(), metadata=(), unknown=unknown, is_own=False)
    data, metadata, others = list[Entry](), list[Entry](), list[str]()
    for entry in folder.entries:
        name = entry.name
        if name.startswith(".") and name.endswith(_CRC):
            name = name[1 : -len(_CRC)]
        if entry.is_folder:
            if folder.is_partition and entry.path != layout.HOODIE:
                others.append(f"{entry.path}/")
        elif _is_data(folder, timeline, name) and not _is_link(storage, entry):
            data.append(entry)
        elif name.startswith(layout.PARTITION_METADATA) and not _is_link(storage, entry):
            metadata.append(entry)
        else:
            others.append(entry.path)
    return OwnFolder(
        path=folder.path, data=tuple(data), metadata=tuple(metadata), unknown=tuple(others)
    )


def _is_data(folder: Folder, timeline: Timeline, name: str) -> bool:
    instant = instant_of(name)
    return bool(instant and (folder.is_partition or _counts(timeline, instant)))


def _is_link(storage: Storage, entry: Entry) -> bool:
    try:
        storage.stat(entry.path)
    except StorageError as error:
        if error.condition != "storage/symbolic-link":
            raise
        return True
    return False


def _counts(timeline: Timeline, instant: str) -> bool:
    return bool(timeline.find(instant)) or timeline.is_completed(instant)
