"""Which files of the timeline a view knows, and what a look at them later means.

Timelines are compared as sets, never by what comes "after the last": an instant may complete behind
others, and one that leaves the active timeline was either archived, so it still counts, or rolled
back. A completed instant's file never changes, so one of another size or age is another instant
under the same name: the table was made anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from framework.hudi.table.layout import HOODIE
from framework.hudi.timeline.instant import DATA_ACTIONS, Instant
from framework.hudi.timeline.timeline import Timeline, timeline_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.hudi.storage.port import Storage

__all__ = ["Known", "Step", "look", "step"]

Identity: TypeAlias = tuple[int, int]
"""Size in bytes and last modification in nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The timeline's files as one listing saw them.

    Attributes:
        files: size and age of each instant's file by its name in `.hoodie`, of every state.
        timeline: what they say.
    """

    files: Mapping[str, Identity]
    timeline: Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """From one look to the next.

    Attributes:
        new: instants that completed since, by requested time.
        lost: completed data instants that are gone and not archived; a rollback has to tell of
            them.
        begins_anew: whether no step leads from the one to the other: the table was made anew, or
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
    """Return what happened between two looks. Pure."""
    old, new = set(before.timeline.completed), set(after.timeline.completed)
    shared = before.files.keys() & after.files.keys()
    remade = any(
        before.files[each.file_name] != after.files[each.file_name]
        for each in old
        if each.file_name in shared
    )
    if remade or _has_gap(before, after):
        return Step(begins_anew=True)
    counted = {each.requested_time for each in old if each.action in DATA_ACTIONS}
    return Step(
        new=tuple(sorted(new - old)),
        lost=frozenset(t for t in counted if not after.timeline.is_completed(t)),
    )


def _has_gap(before: Known, after: Known) -> bool:
    """Return whether instants may have completed and been archived unseen."""
    first = after.timeline.first_active
    if first is None:
        return False
    times = [e.requested_time for e in before.timeline.completed if e.action in DATA_ACTIONS]
    unseen = {e.requested_time for e in before.timeline.pending if e.action in DATA_ACTIONS}
    there = {e.requested_time for e in after.timeline.instants}
    archived = any(time < first and time not in there for time in unseen)
    return archived or (bool(times) and first > max(times))
