"""All instants of a table, and the files they make visible (format sheet, section 2.9).

The files of *completed* instants are visible. Completed instants are archived oldest first, so
"older than every active instant" also means completed, with two exceptions: instants under a
savepoint stay active when others are archived, and a pending instant is never archived, nor is
any instant after it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import HOODIE
from framework.hudi.timeline.instant import COMPACTIONS, DATA_ACTIONS, Action, Instant, InstantState

__all__ = [
    "Timeline",
    "instants_hash",
    "load_timeline",
    "timeline_hash",
    "timeline_hashes",
    "timeline_of",
]


_LOOKS: Final = 8
_COMPACTION_ALONE: Final = frozenset({Action.COMPACTION})

_ORDER: Final = {state: place for place, state in enumerate(InstantState)}
_RESULT: Final = {Action.COMPACTION: Action.COMMIT, Action.LOGCOMPACTION: Action.DELTACOMMIT}


def instants_hash(instants: Iterable[Instant]) -> str:
    """Return Apache Hudi's hash of instants in the given order."""
    texts = (f"{each.requested_time}_{each.action}_{each.state.upper()}" for each in instants)
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def timeline_hash(timeline: Timeline) -> str:
    """Return the hash sent by our clients: of completed instants and pending compactions."""
    return instants_hash(_counting(_ordered(timeline), _COMPACTION_ALONE))


def timeline_hashes(timeline: Timeline) -> frozenset[str]:
    """Return the hashes that clients of the same timeline may send, including ours.

    Apache Hudi's clients start with all completed instants and pending compactions, and continue
    with those that write data; later releases add pending log compactions.
    """
    found = _ordered(timeline)
    writes = [each for each in found if each.action in DATA_ACTIONS]
    return frozenset(
        instants_hash(_counting(instants, planned))
        for instants in (found, writes)
        for planned in (_COMPACTION_ALONE, COMPACTIONS)
    )


def _ordered(timeline: Timeline) -> list[Instant]:
    return sorted((*timeline.completed, *timeline.pending))


def _counting(instants: Iterable[Instant], planned: frozenset[Action]) -> Iterator[Instant]:
    """Yield completed instants and the pending ones of actions in `planned`."""
    return (each for each in instants if each.is_completed or each.action in planned)


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """The active timeline as of one listing.

    Attributes:
        instants: each action once, in its furthest state, by requested time.
        until: the last instant that counts in a read as of that instant; None if all count.
    """

    instants: tuple[Instant, ...]
    until: str | None = None

    @cached_property
    def completed(self) -> tuple[Instant, ...]:
        """Completed instants that count, oldest first."""
        return tuple(each for each in self._counting if each.is_completed)

    @cached_property
    def pending(self) -> tuple[Instant, ...]:
        """Requested and inflight instants that count, oldest first."""
        return tuple(each for each in self._counting if not each.is_completed)

    @cached_property
    def first_active(self) -> str | None:
        """The instant before which data instants were archived, hence completed, or None.

        It is the first completed data instant that no savepoint holds, or the first pending data
        instant if that is older. If savepoints hold all of them, it is the last one: another
        savepoint hides no row.
        """
        done = [each for each in self.instants if each.is_completed]
        if not any(each.action in DATA_ACTIONS for each in done):
            return None
        held = {each.requested_time for each in done if each.action is Action.SAVEPOINT}
        begun = [each.requested_time for each in self.instants if each.action in DATA_ACTIONS]
        return next((each for each in begun if each not in held), begun[-1])

    @property
    def oldest_commit(self) -> Instant | None:
        """The first completed data instant that no savepoint holds; None if there is none."""
        done = [each for each in self.instants if each.is_completed]
        held = {each.requested_time for each in done if each.action is Action.SAVEPOINT}
        data = (each for each in done if each.action in DATA_ACTIONS)
        return next((each for each in data if each.requested_time not in held), None)

    @property
    def last_requested_time(self) -> str | None:
        """The greatest instant, pending ones included; None on an empty timeline."""
        return self.instants[-1].requested_time if self.instants else None

    def is_completed(self, requested_time: str) -> bool:
        """Whether files of this instant are part of the table."""
        if requested_time in self._completed_times:
            return True
        if requested_time in self._pending_times or self._is_later(requested_time):
            return False
        return self.first_active is not None and requested_time < self.first_active

    def find(self, requested_time: str) -> tuple[Instant, ...]:
        """Return the active instants of this time; only another writer's error makes several."""
        return tuple(each for each in self.instants if each.requested_time == requested_time)

    def as_of(self, instant: str) -> Timeline:
        """Return this timeline with `instant` as the last instant that counts."""
        return replace(self, until=instant)

    def _is_later(self, requested_time: str) -> bool:
        return self.until is not None and requested_time > self.until

    @cached_property
    def _counting(self) -> tuple[Instant, ...]:
        """The instants up to `until`."""
        return tuple(each for each in self.instants if not self._is_later(each.requested_time))

    @cached_property
    def _completed_times(self) -> frozenset[str]:
        done = (each for each in self.completed if each.action in DATA_ACTIONS)
        return frozenset(each.requested_time for each in done)

    @cached_property
    def _pending_times(self) -> frozenset[str]:
        return frozenset(each.requested_time for each in self.pending)


def load_timeline(storage: Storage) -> Timeline:
    """Return the active timeline of a table at version 6; costs one listing and one stat.

    A table that does not exist has an empty timeline. Files of earlier states stay beside the
    completed one; only the furthest state is returned.

    A listing is not one moment: an archival beside it deletes commits oldest first, and may delete
    one before the listing comes to it that follows one already seen. Its rows would be missing. So
    if the first commit is gone after the listing, the folder is listed again.
    """
    timeline = _listed(storage)
    for _ in range(_LOOKS):
        first = timeline.oldest_commit
        if first is None or storage.stat(first.path) is not None:
            break
        timeline = _listed(storage)
    return timeline


def _listed(storage: Storage) -> Timeline:
    return timeline_of(entry.name for entry in storage.list(HOODIE) if not entry.is_folder)


def timeline_of(names: Iterable[str]) -> Timeline:
    """Return the timeline for file names in `.hoodie`; names of other files are ignored."""
    found = (Instant.parse(name) for name in names)
    furthest: dict[tuple[str, Action], Instant] = {}
    for instant in filter(None, found):
        key = (instant.requested_time, instant.action)
        known = furthest.get(key)
        if known is None or _ORDER[known.state] < _ORDER[instant.state]:
            furthest[key] = instant
    return Timeline(instants=tuple(sorted(_without_finished_plans(furthest))))


def _without_finished_plans(furthest: dict[tuple[str, Action], Instant]) -> list[Instant]:
    """Exclude compactions that completed as commits of the same time."""
    finished = {
        (time, plan)
        for (time, action), instant in furthest.items()
        for plan in (Action.COMPACTION, Action.LOGCOMPACTION)
        if instant.is_completed and action is _RESULT[plan]
    }
    return [instant for key, instant in furthest.items() if key not in finished]
