"""A table under check: what its timeline, archive and commits say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique
from functools import cached_property

from framework.hudi.storage.port import Storage
from framework.hudi.table.properties import TableProperties
from framework.hudi.timeline.archive import archive_files, archived_instants
from framework.hudi.timeline.instant import DATA_ACTIONS, Action, InstantState
from framework.hudi.timeline.timeline import Timeline
from framework.hudi.view.recorded import RecordedFiles

__all__ = ["Archive", "Claim", "OpenedTable", "read_archive"]


@unique
class Claim(StrEnum):
    """Whether an instant exists that a file's name has."""

    NAMED = "named"
    """It is on the timeline, pending or completed, or archived."""

    ORPHAN = "orphan"
    """It is not, and readers skip the file, until the timeline has moved past the instant."""

    GHOST = "ghost"
    """It is not, but the timeline has moved past it, so readers count the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """The archived timeline.

    Attributes:
        times: instants of data that were archived as completed.
        last_clean: the newest archived clean; "" if there is none.
    """

    times: frozenset[str]
    last_clean: str


def read_archive(storage: Storage, properties: TableProperties) -> Archive:
    """Return the archived timeline; reads all of it.

    Raises:
        CorruptFileError, UnsupportedTableError: as of `archived_instants`.
    """
    times, cleans = set(), [""]
    for each in archived_instants(storage, archive_files(storage, properties.raw)):
        if each.state is InstantState.COMPLETED and each.action in DATA_ACTIONS:
            times.add(each.requested_time)
        elif each.action is Action.CLEAN:
            cleans.append(each.requested_time)
        elif each.action is Action.COMPACTION:
            times.add(each.requested_time)
    return Archive(times=frozenset(times), last_clean=max(cleans))


@dataclass(frozen=True, kw_only=True)
class OpenedTable:
    """A table under check.

    Attributes:
        storage: the table.
        properties: of a table at version 6.
        timeline: from one listing.
        recorded: what its completed commits recorded.
        apart: folders inside the table that are not its own, such as a source.
        is_live: whether a Lakestrap run is at work on it.
    """

    storage: Storage
    properties: TableProperties
    timeline: Timeline
    recorded: RecordedFiles
    apart: frozenset[str] = frozenset()
    is_live: bool = False

    @cached_property
    def archive(self) -> Archive:
        """The archived timeline, read once; raises as `read_archive`."""
        return read_archive(self.storage, self.properties)

    def claim(self, instant: str) -> Claim:
        """Return whether an instant of data exists; reads the archive for old unknown ones."""
        if instant not in self._claims:
            self._claims[instant] = self._claim(instant)
        return self._claims[instant]

    def counts(self, instant: str) -> bool:
        """Return whether files of an instant are part of the table, and it exists."""
        return self.timeline.is_completed(instant) and self.claim(instant) is Claim.NAMED

    def _claim(self, instant: str) -> Claim:
        if self.timeline.find(instant):
            return Claim.NAMED
        if not self.timeline.is_completed(instant):
            return Claim.ORPHAN
        return Claim.NAMED if instant in self.archive.times else Claim.GHOST

    @cached_property
    def _claims(self) -> dict[str, Claim]:
        return {}

    @cached_property
    def newest(self) -> str:
        """The newest completed instant of data; "" if there is none."""
        done = (e.requested_time for e in self.timeline.completed if e.action in DATA_ACTIONS)
        return max(done, default="")
