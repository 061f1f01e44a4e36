"""The folder that one run has for itself: `.hoodie/.lakestrap/<write_id>/`.

Everything that is not yet part of the table lies here, the completed instant's temporary file
included. Who renames this folder away has fenced the run: its tasks and its publish find nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from framework.errors import CommitConflictError, CorruptFileError, Where
from framework.hudi.storage.port import Move, Storage
from framework.hudi.table.layout import LAKESTRAP, join, write_folder

__all__ = ["Staging", "dead_folders", "new_write_id", "staging_ids"]

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
        """Refuse an id that is no folder name of ours."""
        if _WRITE_ID.fullmatch(self.write_id) is None:
            raise CorruptFileError(
                "commit/bad-write-id",
                f"{self.write_id!r} is no write id",
                where=Where(file=LAKESTRAP),
            )

    @property
    def root(self) -> str:
        """The folder itself."""
        return write_folder(self.write_id)

    @property
    def begin(self) -> str:
        """What the run set out to do; without it the run has not begun, or was fenced."""
        return join(self.root, "begin.json")

    @property
    def inventory(self) -> str:
        """The source files, frozen for this run."""
        return join(self.root, "inventory.arrow")

    @property
    def attempts(self) -> str:
        """Where each attempt of a task has a folder of its own."""
        return join(self.root, "attempts")

    @property
    def segments(self) -> str:
        """Where tasks leave their statuses."""
        return join(self.root, "segments")

    @property
    def spill(self) -> str:
        """Where key hashes wait for the audit."""
        return join(self.root, "spill")

    @property
    def journal(self) -> str:
        """Where the driver records what it received."""
        return join(self.root, "journal")

    @property
    def publish(self) -> str:
        """Where files wait for their names on the timeline."""
        return join(self.root, "publish")

    def new_attempt(self) -> str:
        """Return a folder that no other attempt has; it is made with its first file."""
        return join(self.attempts, uuid4().hex)

    def new_publish(self) -> str:
        """Return a path for a file that is about to be published."""
        return join(self.publish, uuid4().hex)

    def check_not_fenced(self, storage: Storage) -> None:
        """Raise where another run has renamed the folder away.

        Called after a temporary file was made in the folder and before it is moved out, it closes
        the gap between the two: a folder renamed earlier is noticed here, one renamed later takes
        the temporary file along.

        Raises:
            CommitConflictError: `commit/fenced`.
        """
        if storage.stat(self.begin) is None:
            raise CommitConflictError(
                "commit/fenced",
                "another run has taken this one for dead and cleaned up",
                where=Where(file=self.begin),
                remedy="Nothing of this run was published. Run the same command again.",
            )

    def remove(self, storage: Storage) -> None:
        """Fence the run, then delete its folder."""
        renamed = self.rename_away(storage)
        if renamed is not None:
            storage.delete(renamed)

    def rename_away(self, storage: Storage) -> str | None:
        """Fence the run: rename its folder to `dead-…`; return the new path, None if none was."""
        if storage.stat(self.root) is None:
            return None
        taken = {entry.name for entry in storage.list(LAKESTRAP)}
        number = next(n for n in range(1_000_000) if f"dead-{self.write_id}-{n}" not in taken)
        target = join(LAKESTRAP, f"dead-{self.write_id}-{number}")
        storage.move([Move(source=self.root, target=target)])
        return target


def staging_ids(storage: Storage) -> tuple[str, ...]:
    """Return the write ids that have a staging folder, sorted; one listing."""
    names = (entry.name for entry in storage.list(LAKESTRAP) if entry.is_folder)
    return tuple(name for name in names if _WRITE_ID.fullmatch(name))


def dead_folders(storage: Storage) -> tuple[str, ...]:
    """Return the paths of staging folders that were renamed away; one listing."""
    found = (entry for entry in storage.list(LAKESTRAP) if entry.is_folder)
    return tuple(entry.path for entry in found if _DEAD.fullmatch(entry.name))
