"""The timeline files known to a view, and the steps between two looks at them.

Timelines are compared as sets, never by "after the last": an instant may complete behind others,
and one that leaves the active timeline was either archived, so it still counts, or rolled back. A
completed instant's file never changes. If its size, age or action differs, it is another instant at
the same time: the table was recreated.

Instants may complete and be archived between two looks, and then nothing records their changes.
Instants that write are archived oldest first: never a pending one, nor any newer than that, nor the
newest of all; those under a savepoint stay. So nothing was missed if an instant of the earlier
look, in any state, still exists and is not held, or if none is new. Cleans and rollbacks are
archived separately, oldest first per action and never down to one. So nothing was missed if one of
the earlier look is left, or if the first of all still exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import HOODIE
from framework.hudi.timeline.instant import COMPACTIONS, DATA_ACTIONS, LATEST, Action, Instant
from framework.hudi.timeline.timeline import Timeline, timeline_of

__all__ = ["Known", "Step", "look", "step"]

_SERVICES: Final = frozenset({Action.CLEAN, Action.ROLLBACK, Action.RESTORE})
_WRITES_LOGS: Final = frozenset({Action.DELTACOMMIT, Action.LOGCOMPACTION, Action.COMPACTION})
"""Log files of a slice may be listed before their writer completes, and those of a plan move if it
is rolled back; base files are never counted before their writer completes."""

Identity: TypeAlias = tuple[int, int]
"""Size in bytes and last modification in nanoseconds."""

_TRIED_AGAIN: Final = COMPACTIONS | {Action.REPLACECOMMIT}
"""Their plans stay when an attempt is rolled back, so a rollback does not show their outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The timeline's files as of one listing.

    Attributes:
        files: size and age of each instant's file by its name in `.hoodie`, of every state.
        timeline: the timeline they make.
    """

    files: Mapping[str, Identity]
    timeline: Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The changes from one look to the next.

    Attributes:
        new: instants that completed since, in order of completion (age of their files).
        lost: times of instants that disappeared without being archived, if completed or possibly
            with log files, and of pending ones that may be archived; they were missed unless a
            rollback names them.
        begins_anew: whether no step leads from one look to the next: the table was recreated, or
            instants completed and were archived in between.
    """

    new: tuple[Instant, ...] = ()
    lost: frozenset[str] = frozenset()
    begins_anew: bool = False


def look(storage: Storage) -> Known:
    """Return the timeline's files; costs one listing of `.hoodie`."""
    found = {
        each.name: (each.size, each.mtime_ns)
        for each in storage.list(HOODIE)
        if not each.is_folder and Instant.parse(each.name) is not None
    }
    return Known(files=found, timeline=timeline_of(found))


def step(before: Known, after: Known) -> Step:
    """Return the changes between two looks. Pure."""
    old, new = set(before.timeline.completed), set(after.timeline.completed)
    if _is_remade(before, after) or _has_gap(before.timeline, after.timeline):
        return Step(begins_anew=True)
    return Step(
        new=tuple(sorted(new - old, key=lambda each: (after.files[each.file_name][1], each))),
        lost=frozenset(_lost(before.timeline, after.timeline)),
    )


def _is_remade(before: Known, after: Known) -> bool:
    """Return whether a completed instant's file or action changed."""
    shared = before.files.keys() & after.files.keys()
    old, new = set(before.timeline.completed), set(after.timeline.completed)
    if _times(old - new, DATA_ACTIONS) & _times(new - old, DATA_ACTIONS):
        return True
    names = (each.file_name for each in old)
    return any(before.files[each] != after.files[each] for each in names if each in shared)


def _lost(before: Timeline, after: Timeline) -> set[str]:
    """Return the times of missing instants that may have left files."""
    left = _times(before.pending, _WRITES_LOGS) - _times(after.instants, DATA_ACTIONS)
    left |= _times(before.completed, DATA_ACTIONS)
    return _missed(before, after) | {each for each in left if not after.is_completed(each)}


def _missed(before: Timeline, after: Timeline) -> set[str]:
    """Return the times of missing pending instants that may have completed before."""
    there = _times(after.instants, DATA_ACTIONS)
    first = min(there - _held(before, after), default=LATEST)
    return {each for each in _times(before.pending, DATA_ACTIONS) - there if each < first}


def _has_gap(before: Timeline, after: Timeline) -> bool:
    """Return whether instants may have completed and been archived between looks."""
    if _times(before.pending, _SERVICES) - _times(after.instants, _SERVICES):
        return True
    if any(_is_broken(before, after, each) for each in _SERVICES):
        return True
    if _missed(before, after) & _times(before.pending, _TRIED_AGAIN):
        return True
    seen, there = (_times(each.instants, DATA_ACTIONS) for each in (before, after))
    return not seen & there - _held(before, after) and not there <= seen


def _held(before: Timeline, after: Timeline) -> frozenset[str]:
    """Return the times of instants that were or are under a savepoint."""
    return _times((*before.completed, *after.completed), frozenset({Action.SAVEPOINT}))


def _is_broken(before: Timeline, after: Timeline, action: Action) -> bool:
    """Return whether completed instants of an action may have been archived between looks."""
    old = _times(before.completed, frozenset({action}))
    new = _times(after.completed, frozenset({action}))
    return not old & new and len(new) > (0 if old else 1)


def _times(instants: Iterable[Instant], actions: frozenset[Action]) -> frozenset[str]:
    return frozenset(each.requested_time for each in instants if each.action in actions)
