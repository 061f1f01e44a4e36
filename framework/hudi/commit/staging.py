"""The private folder of one run: `.hoodie/.lakestrap/<write_id>/`.

Where files move, everything that is not yet part of the table is here, including the completed
instant's temporary file. Renaming this folder fences the run: its tasks and its publish find
nothing.

On a store without moves, data files have their names from the start, and a tombstone fences the
run: an object that names its write id (see `fence` and ADR 0049).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from framework.errors import CommitConflictError, CorruptFileError, Where
from framework.hudi.storage.port import Entry, Move, Storage, uploads_of
from framework.hudi.table.layout import LAKESTRAP, join, write_folder

__all__ = [
    "DEAD",
    "Staging",
    "dead_folders",
    "new_write_id",
    "staging_folders",
    "tombstones",
]

DEAD: Final = join(LAKESTRAP, "dead")
"""The folder of tombstones, `<write_id>-<number>.json`."""

_WRITE_ID: Final = re.compile(r"[0-9a-f]{32}")
_DEAD: Final = re.compile(r"dead-([0-9a-f]{32})-[0-9]+")


def new_write_id() -> str:
    """Return a fresh id of a run: 32 hex digits."""
    return uuid4().hex


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """Paths inside one run's folder, relative to the table."""

    write_id: str

    def __post_init__(self) -> None:
        """Refuse an id that is not a valid staging folder name."""
        if _WRITE_ID.fullmatch(self.write_id) is None:
            raise CorruptFileError(
                "commit/bad-write-id",
                f"{self.write_id!r} is not a write id",
                where=Where(file=LAKESTRAP),
            )

    @property
    def root(self) -> str:
        """The folder itself."""
        return write_folder(self.write_id)

    @property
    def begin(self) -> str:
        """The run's intent; if it is missing, the run has not begun or was fenced."""
        return join(self.root, "begin.json")

    @property
    def inventory(self) -> str:
        """The source files, frozen for this run."""
        return join(self.root, "inventory.arrow")

    @property
    def attempts(self) -> str:
        """The folder in which each attempt of a task has its own folder."""
        return join(self.root, "attempts")

    @property
    def segments(self) -> str:
        """The folder of the tasks' statuses."""
        return join(self.root, "segments")

    @property
    def spill(self) -> str:
        """The folder of key hashes for the audit."""
        return join(self.root, "spill")

    @property
    def journal(self) -> str:
        """The folder in which the driver records what it received."""
        return join(self.root, "journal")

    @property
    def publish(self) -> str:
        """The folder of files about to be moved to the timeline."""
        return join(self.root, "publish")

    def new_attempt(self) -> str:
        """Return a folder unique to this attempt; it is created with its first file."""
        return join(self.attempts, uuid4().hex)

    def new_publish(self) -> str:
        """Return a unique path for a file that is about to be published."""
        return join(self.publish, uuid4().hex)

    def check_not_fenced(self, storage: Storage) -> None:
        """Raise if another run has renamed the folder, or has made a tombstone for it.

        Call it after creating a temporary file in the folder and before moving the file out, to
        close the gap between the two: a folder renamed earlier is noticed here, and one renamed
        later takes the temporary file along. On a store without moves, call it after recording an
        upload and before completing it.

        Raises:
            CommitConflictError: `commit/fenced`.
        """
        if self.is_fenced(storage):
            raise CommitConflictError(
                "commit/fenced",
                "another run considered this one dead and cleaned it up",
                where=Where(file=self.begin),
                remedy="Nothing of this run was published. Run the same command again.",
            )

    def is_fenced(self, storage: Storage) -> bool:
        """Return whether the run has ended, or another run considers it dead.

        The order matters: a tombstone is deleted only once the other file is gone for good.
        """
        if uploads_of(storage) is not None and tombstones(storage, self.write_id):
            return True
        return storage.stat(self.begin) is None

    def remove(self, storage: Storage) -> None:
        """Delete the folder of a run that is over; where files move, fence the run first."""
        if uploads_of(storage) is not None:
            storage.delete(self.root)
            return
        renamed = self.rename_away(storage)
        if renamed is not None:
            storage.delete(renamed)

    def rename_away(self, storage: Storage) -> str | None:
        """Fence the run: rename its folder to `dead-…`; return the new path, None if none."""
        if storage.stat(self.root) is None:
            return None
        names = (join(LAKESTRAP, f"dead-{self.write_id}-{n}") for n in range(1_000_000))
        target = next(name for name in names if storage.stat(name) is None)
        storage.move([Move(source=self.root, target=target)])
        return target


def tombstones(storage: Storage, write_id: str = "") -> list[Entry]:
    """Return the tombstones of a run, or of all runs; one listing."""
    return [each for each in storage.list(DEAD) if each.name.startswith(write_id)]


def staging_folders(storage: Storage) -> dict[str, list[str]]:
    """Return the staging folders, then the renamed ones, by write id; one listing."""
    found: dict[str, list[str]] = {}
    renamed = []
    for entry in storage.list(LAKESTRAP):
        if entry.is_folder and _WRITE_ID.fullmatch(entry.name):
            found[entry.name] = [entry.path]
        elif entry.is_folder and (dead := _DEAD.fullmatch(entry.name)):
            renamed.append((dead[1], entry.path))
    for write_id, path in renamed:
        found.setdefault(write_id, []).append(path)
    return found


def dead_folders(storage: Storage) -> tuple[str, ...]:
    """Return the paths of renamed staging folders; one listing."""
    found = (entry for entry in storage.list(LAKESTRAP) if entry.is_folder)
    return tuple(entry.path for entry in found if _DEAD.fullmatch(entry.name))
