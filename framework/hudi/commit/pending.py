"""Leftovers of an earlier run, found without changing anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

from framework.errors import StorageError
from framework.hudi.commit.drop import is_half_dropped
from framework.hudi.commit.intent import BEGIN_FILE, WRITE_ID_KEY, Intent, read_intent
from framework.hudi.commit.rollback import UNDOING
from framework.hudi.commit.staging import DEAD, staging_folders, tombstones
from framework.hudi.storage.port import Storage, uploads_of
from framework.hudi.table.layout import PROPERTIES, PROPERTIES_BACKUP, write_folder
from framework.hudi.timeline.commit_metadata import read_commit_head
from framework.hudi.timeline.instant import DATA_ACTIONS, Action, Instant, InstantState
from framework.hudi.timeline.timeline import Timeline, load_timeline

__all__ = ["Pending", "PendingKind", "find_pending"]

_LOOKS: Final = 8


@unique
class PendingKind(StrEnum):
    """A kind of leftover, which decides how it is handled."""

    FOREIGN = "foreign"
    """A pending instant of another writer, or a commit without properties: left untouched.

    A compaction is none: it is planned work, which writes to slices that no other writer writes to.
    """

    DEAD_RUN = "dead_run"
    """A pending lakestrap instant: resumed or rolled back."""

    UNFINISHED = "unfinished"
    """A completed lakestrap instant with steps left to do: rolled forward."""

    ORPHANS = "orphans"
    """Staging folders without an instant: deleted."""

    DROPPED = "dropped"
    """A table whose removal has begun: removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """One leftover of an earlier run.

    Attributes:
        kind: decides how it is handled.
        instant: the instant, None for orphans.
        write_id: the run, None for foreign instants and orphans.
        intent: the run's intent, None if its staging folder is missing.
        facts: `extraMetadata` of the instant, `lakestrap.*` among it.
        folders: its staging folders, including renamed ones.
        is_fenced: whether its recovery has begun, on a store without moves.
    """

    kind: PendingKind
    instant: Instant | None = None
    write_id: str | None = None
    intent: Intent | None = None
    facts: Mapping[str, str]
    folders: tuple[str, ...] = ()
    is_fenced: bool = False

    @property
    def can_resume(self) -> bool:
        """Whether the run's own folder still exists to resume from."""
        return (
            self.kind is PendingKind.DEAD_RUN
            and self.intent is not None
            and not self.is_fenced
            and write_folder(self.intent.write_id) in self.folders
        )


def find_pending(storage: Storage, *, own: str | None = None) -> Pending | None:
    """Return the most serious leftover of earlier runs, or None if there is none.

    A live run looks like a dead one here, so take the lease before acting on the result. Costs two
    listings, and one small read per pending instant and staging folder; repeated if a live run
    removes something in between.

    Args:
        storage: the table.
        own: write id of the calling run, whose staging folder is ignored.
    """
    for _ in range(_LOOKS):
        try:
            return _look(storage, own)
        except StorageError as error:
            if error.condition != "storage/not-found":
                raise
    return _look(storage, own)


def _look(storage: Storage, own: str | None) -> Pending | None:
    """Look once.

    A rollback of ours comes first: it is finished before the instants that it has made pending.
    """
    timeline = load_timeline(storage)
    folders = _folders(storage, own)
    for instant in sorted(timeline.pending, key=lambda each: each.action not in UNDOING):
        facts = read_commit_head(storage, instant.path).extra
        write_id = facts.get(WRITE_ID_KEY)
        if instant.action is Action.COMPACTION and _is_plan(instant, write_id, folders):
            continue
        if write_id is None:
            return Pending(kind=PendingKind.FOREIGN, instant=instant, facts=facts)
        return _found(storage, PendingKind.DEAD_RUN, instant, folders)
    return (
        _without_properties(storage, timeline, folders)
        or _with_leftovers(storage, timeline, folders)
        or _orphans(folders)
    )


def _is_plan(instant: Instant, write_id: str | None, folders: Folders) -> bool:
    """Return whether a pending compaction is no leftover: writers respect it, `compact` runs it.

    The plan of an own run whose folder is gone was kept by recovery, because it was in use.
    """
    requested = instant.state is InstantState.REQUESTED
    return write_id is None or (requested and write_id not in folders)


Folders = dict[str, list[str]]


def _folders(storage: Storage, own: str | None) -> Folders:
    """Return staging folders, including renamed ones, by write id."""
    found = staging_folders(storage)
    if own in found:
        found[own] = [path for path in found[own] if path != write_folder(own)]
    return {write_id: folders for write_id, folders in found.items() if folders}


def _found(storage: Storage, kind: PendingKind, instant: Instant, folders: Folders) -> Pending:
    facts = read_commit_head(storage, instant.path).extra
    write_id = facts[WRITE_ID_KEY]
    mine = folders.get(write_id, [])
    dead = [] if uploads_of(storage) is None else tombstones(storage, write_id)
    places = [*((folder, BEGIN_FILE) for folder in mine), *((DEAD, each.name) for each in dead)]
    intents = (read_intent(storage, folder, name=name) for folder, name in places)
    return Pending(
        kind=kind,
        instant=instant,
        write_id=write_id,
        intent=next((each for each in intents if each is not None), None),
        facts=facts,
        folders=tuple(mine),
        is_fenced=bool(dead),
    )


def _without_properties(storage: Storage, timeline: Timeline, folders: Folders) -> Pending | None:
    """Return the last commit if the table has no properties, or the removal that took them."""
    if is_half_dropped(storage):
        return Pending(kind=PendingKind.DROPPED, facts={})
    data = [each for each in timeline.completed if each.action in DATA_ACTIONS]
    if not data or any(storage.stat(path) for path in (PROPERTIES, PROPERTIES_BACKUP)):
        return None
    facts = read_commit_head(storage, data[-1].path).extra
    if WRITE_ID_KEY not in facts:
        return Pending(kind=PendingKind.FOREIGN, instant=data[-1], facts=facts)
    return _found(storage, PendingKind.UNFINISHED, data[-1], folders)


def _with_leftovers(storage: Storage, timeline: Timeline, folders: Folders) -> Pending | None:
    """Return a completed instant whose run has a staging folder left."""
    for write_id, mine in folders.items():
        for intent in _intents(storage, mine):
            completed = intent.completed
            if completed in timeline.completed:
                extra = read_commit_head(storage, completed.path).extra
                if extra.get(WRITE_ID_KEY) == write_id:
                    return _found(storage, PendingKind.UNFINISHED, completed, folders)
    return None


def _orphans(folders: Folders) -> Pending | None:
    """Return staging folders that belong to no instant."""
    paths = tuple(path for mine in folders.values() for path in mine)
    return Pending(kind=PendingKind.ORPHANS, facts={}, folders=paths) if paths else None


def _intents(storage: Storage, folders: list[str]) -> Iterator[Intent]:
    """Yield the intents recorded in the folders."""
    found = (read_intent(storage, folder) for folder in folders)
    return (each for each in found if each is not None)
