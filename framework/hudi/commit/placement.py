"""Giving staged files their names, exclusively and durably, and finding a run's log files.

A log file has the instant of its slice in its name, so a listing does not show which run wrote it.
A marker alone proves nothing either: it is written before the file gets its name, which another
writer may have taken. Our files are linked whole, so each of their blocks has our instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from framework import errors
from framework.hudi.codecs.log_format import HeaderKey, read_blocks
from framework.hudi.commit.created import create_bytes, name_taken, read_bytes
from framework.hudi.commit.fenced import FencedStorage
from framework.hudi.commit.markers import read_markers
from framework.hudi.commit.staging import Staging
from framework.hudi.filegroup.slices import LogFileName
from framework.hudi.storage.checksum import file_crc32c
from framework.hudi.storage.port import Move, Storage, uploads_of
from framework.hudi.table.layout import (
    PARTITION_METADATA,
    PROPERTIES,
    PartitionMetadata,
    crc_sidecar,
    name_of,
)

__all__ = [
    "Placement",
    "is_own_log",
    "keeps_metadata",
    "log_instants",
    "made_partition",
    "own_logs",
    "place",
    "place_bytes",
    "read_bytes",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A staged file and its target name; `size` in bytes, `crc32c` of all bytes."""

    source: str
    target: str
    size: int
    crc32c: int


def place(storage: Storage, placements: Sequence[Placement]) -> None:
    """Move every staged file to its name; verify files that an earlier attempt moved.

    A taken name must hold the same bytes (size and checksum). Nothing is read if no name is taken.

    Raises:
        CommitConflictError: `commit/name-taken` for other bytes under the name;
            `commit/staged-file-gone` if neither the staged file nor the name exists, as in a
            fenced run.
    """
    left = list(placements)
    while left:
        try:
            storage.move([Move(source=each.source, target=each.target) for each in left])
        except errors.StorageError as error:
            if error.condition not in {"storage/exists", "storage/not-found"}:
                raise
            undone = [each for each in left if not _is_placed(storage, each)]
            if len(undone) == len(left):
                raise
            left = undone
        else:
            return


def place_bytes(
    storage: Storage, staging: Staging, target: str, data: bytes, *, has_begun: bool = True
) -> None:
    """Create `target` whole and durably; if it exists, it must hold `data`.

    A checksum that Java left beside an earlier file of that name is removed first. On a store
    without moves a late request of a fenced run may still create the file (see `fence`).

    Args:
        storage: the table.
        staging: the run in whose folder the file is staged.
        target: the name, which must be free.
        data: the bytes.
        has_begun: False if `staging` may lack the record of a begun run, so that it is not a
            fence.

    Raises:
        CommitConflictError: `commit/name-taken`, `commit/fenced`.
    """
    if uploads_of(storage) is not None:
        if has_begun:
            staging.check_not_fenced(storage)
        create_bytes(storage, target, data)
        return
    temporary = staging.new_publish()
    storage.delete(crc_sidecar(target))
    # A folder renamed before the file is whole is noticed; one renamed later takes the file along.
    with (FencedStorage(storage, staging.begin) if has_begun else storage).create(temporary) as out:
        out.write(data)
    try:
        storage.move([Move(source=temporary, target=target)])
    except errors.StorageError as error:
        if error.condition != "storage/exists":
            raise
        storage.delete(temporary)
        if read_bytes(storage, target) != data:
            raise name_taken(storage, target) from error


def made_partition(storage: Storage, path: str, time: str) -> bool:
    """Return whether `path` is partition metadata that the instant `time` made; one small read."""
    if name_of(path) != PARTITION_METADATA:
        return False
    text = read_bytes(storage, path).decode(errors="replace")
    try:
        return PartitionMetadata.parse(text, path).commit_time == time
    except errors.CorruptFileError:
        return False


def keeps_metadata(storage: Storage) -> bool:
    """Return whether partition metadata outlives the instant that made it.

    On a store without moves a late deletion could meet the metadata that another run has made
    meanwhile, and a partition without it is no partition (ADR 0055). In the place of a new table
    the next run waits.
    """
    return uploads_of(storage) is not None and storage.stat(PROPERTIES) is not None


def _is_placed(storage: Storage, placement: Placement) -> bool:
    """Whether the name already holds the bytes; if so, delete the staged copy and sync the name.

    False means that the staged file still has to be moved.
    """
    entry = storage.stat(placement.target)
    if entry is None:
        if storage.stat(placement.source) is None:
            raise errors.CommitConflictError(
                "commit/staged-file-gone",
                "a file of this run is missing: another run took over, or the folder was cleaned",
                where=errors.Where(file=placement.source),
                remedy="Nothing was published. Run the same command again.",
            )
        return False
    same_size = not entry.is_folder and entry.size == placement.size
    if not same_size or file_crc32c(storage, placement.target) != placement.crc32c:
        raise name_taken(storage, placement.target)
    storage.delete(placement.source, crc_sidecar(placement.target))
    return True


def own_logs(storage: Storage, instant: str) -> tuple[str, ...]:
    """Return the paths of the log files that only this instant wrote.

    Reads the block headers of each log file named by the markers, not the content.

    Raises:
        UnsupportedTableError: see `is_own_log`.
    """
    noted = set(read_markers(storage, instant))
    logs = sorted(path for path in noted if LogFileName.parse(name_of(path)) is not None)
    return tuple(path for path in logs if is_own_log(storage, path, instant))


def is_own_log(storage: Storage, path: str, instant: str) -> bool:
    """Return whether a log file exists and each of its blocks is of `instant`.

    False for a file without a whole block, such as a torn one: no reader finds rows in it, and
    nothing identifies its writer.

    Raises:
        UnsupportedTableError: `commit/mixed-log` if only some blocks are of `instant`. Such a file
            must not be deleted; left alone, it would show uncommitted rows as soon as the
            timeline has moved past the instant.
    """
    entry = storage.stat(path)
    found = log_instants(storage, path) if entry is not None and not entry.is_folder else set()
    if instant not in found:
        return False
    if found == {instant}:
        return True
    raise errors.UnsupportedTableError(
        "commit/mixed-log",
        "a log file of an unfinished run also holds blocks of other runs",
        where=errors.Where(file=f"{storage.location}/{path}", instant=instant),
        remedy="Let Apache Hudi roll the instant back, which its next write does by itself.",
    )


def log_instants(storage: Storage, path: str) -> set[str | None]:
    """Return the instants of a log file's blocks; None for a block without one."""
    found: set[str | None] = set()
    with storage.open_input(path) as source:
        try:
            found.update(b.header.get(HeaderKey.INSTANT_TIME) for b in read_blocks(source))
        except errors.CorruptFileError:  # a block that only another release understands
            found.add(None)
    return found
