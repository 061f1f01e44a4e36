"""Giving staged files their names: exclusively, durably, and again after a crash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from framework.errors import CommitConflictError, StorageError, Where
from framework.hudi.commit.fenced import FencedStorage
from framework.hudi.commit.staging import Staging
from framework.hudi.storage.checksum import file_crc32c
from framework.hudi.storage.port import Move, Storage
from framework.hudi.table.layout import crc_sidecar

__all__ = ["Placement", "place", "place_bytes", "read_bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A staged file and the name it is to have; `size` in bytes, `crc32c` of all of them."""

    source: str
    target: str
    size: int
    crc32c: int


def place(storage: Storage, placements: Sequence[Placement]) -> None:
    """Move every staged file to its name; what an earlier attempt moved is verified.

    A name that is taken must hold the same bytes (size and checksum). Where the first try meets no
    such name, nothing is read.

    Raises:
        CommitConflictError: `commit/name-taken` for other bytes under the name;
            `commit/staged-file-gone` where neither the staged file nor the name is there, which is
            what a run meets that was fenced.
    """
    left = list(placements)
    while left:
        try:
            storage.move([Move(source=each.source, target=each.target) for each in left])
        except StorageError as error:
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
    """Create `target` whole and durably; where it is there, it must hold `data`.

    A checksum that Java left beside an earlier file of the name is removed first.

    Args:
        storage: the table.
        staging: whose folder the file comes out of.
        target: the name, which must be free.
        data: the bytes.
        has_begun: False where `staging` need not hold the record of a begun run, so that nobody
            fences it.

    Raises:
        CommitConflictError: `commit/name-taken`, `commit/fenced`.
    """
    temporary = staging.new_publish()
    storage.delete(crc_sidecar(target))
    # A folder renamed before the file is whole is noticed, one renamed later takes the file along.
    with (FencedStorage(storage, staging.begin) if has_begun else storage).create(temporary) as out:
        out.write(data)
    try:
        storage.move([Move(source=temporary, target=target)])
    except StorageError as error:
        if error.condition != "storage/exists":
            raise
        storage.delete(temporary)
        if read_bytes(storage, target) != data:
            raise _taken(storage, target) from error


def read_bytes(storage: Storage, path: str) -> bytes:
    """Return all bytes of a small file."""
    with storage.open_input(path) as source:
        return bytes(source.read())


def _is_placed(storage: Storage, placement: Placement) -> bool:
    """Whether the name already holds the bytes; then the staged copy goes, and the name is synced.

    False means that the staged file waits for its move.
    """
    entry = storage.stat(placement.target)
    if entry is None:
        if storage.stat(placement.source) is None:
            raise CommitConflictError(
                "commit/staged-file-gone",
                "a file of this run is gone: another run has taken over, or the folder was cleaned",
                where=Where(file=placement.source),
                remedy="Nothing was published. Run the same command again.",
            )
        return False
    same_size = not entry.is_folder and entry.size == placement.size
    if not same_size or file_crc32c(storage, placement.target) != placement.crc32c:
        raise _taken(storage, placement.target)
    storage.delete(placement.source, crc_sidecar(placement.target))
    return True


def _taken(storage: Storage, path: str) -> CommitConflictError:
    """Return the error for a name that somebody else gave to other bytes."""
    return CommitConflictError(
        "commit/name-taken",
        "another writer has made a file of this name with other bytes",
        where=Where(file=f"{storage.location}/{path}"),
        remedy="Nothing was published. Look at who else writes to this table, then run again.",
    )
