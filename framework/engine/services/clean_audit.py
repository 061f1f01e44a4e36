"""The last look before a clean deletes: at the names on disk, not at what commits say.

For each planned file it finds the slice that comes next in the same group. The planned slice was
the newest one until then, so no state that stays readable may be in between.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from framework.errors import CorruptFileError, Where
from framework.hudi.filegroup.names import instant_of, slice_of
from framework.hudi.storage.port import Storage
from framework.hudi.table.layout import name_of, parent_of
from framework.hudi.timeline.action_metadata import read_savepoint
from framework.hudi.timeline.instant import DATA_ACTIONS, Action
from framework.hudi.timeline.timeline import Timeline
from framework.hudi.view.facts import read_facts
from framework.plan.services.clean import CleanPlan

__all__ = ["audit_names"]


def audit_names(storage: Storage, timeline: Timeline, plan: CleanPlan) -> None:
    """Raise if a planned file is needed; lists each partition that has one, and deletes nothing.

    Needed are the states of the earliest retained commit and of all later ones, the state just
    before it, and those under a savepoint.

    Raises:
        CorruptFileError: `audit/file-needed`.
    """
    states, held = _states(timeline, plan), _held_names(storage, timeline)
    replaced = read_facts(storage, timeline).replaced
    for partition, paths in plan.by_partition.items():
        names = (each.name for each in storage.list(partition) if not each.is_folder)
        instants, gone = _instants(names, timeline), replaced.get(partition, {})
        for path in paths:
            file_id, instant = slice_of(name_of(path)) or ("", "")
            end = _end(instants.get(file_id, ()), instant, gone.get(file_id))
            place = bisect_left(states, instant)
            is_needed = place < len(states) and (end is None or states[place] < end)
            is_held = name_of(path) in held.get(partition, ())
            if is_needed or is_held or not _may_go(path, partition, timeline):
                raise _needed(storage, path, partition)


def _states(timeline: Timeline, plan: CleanPlan) -> list[str]:
    """Return the instants whose states stay readable, sorted.

    The instant before the earliest one may be archived, so the greatest text that is smaller than
    the earliest one stands for it.
    """
    first = plan.earliest or plan.last_completed
    done = (each.requested_time for each in timeline.completed if each.action in DATA_ACTIONS)
    points = (each.requested_time for each in timeline.completed if each.action is Action.SAVEPOINT)
    before = {f"{first[:-1]}{chr(ord(first[-1]) - 1)}~"} if plan.earliest else set()
    return sorted({*(each for each in done if each >= first), *before, *points})


def _held_names(storage: Storage, timeline: Timeline) -> Mapping[str, frozenset[str]]:
    """Return the names of files under a savepoint by partition path."""
    found: dict[str, frozenset[str]] = defaultdict(frozenset)
    for each in timeline.completed:
        if each.action is Action.SAVEPOINT:
            for partition, names in read_savepoint(storage, each.path).items():
                found[partition] |= names
    return found


def _instants(names: Iterable[str], timeline: Timeline) -> Mapping[str, Sequence[str]]:
    """Return the completed base instants of each file id, sorted."""
    found: dict[str, set[str]] = defaultdict(set)
    for file_id, instant in filter(None, map(slice_of, names)):
        if timeline.is_completed(instant):
            found[file_id].add(instant)
    return {file_id: sorted(times) for file_id, times in found.items()}


def _end(instants: Sequence[str], instant: str, replaced: str | None) -> str | None:
    """Return the instant from which on a slice is not its group's newest; None if it still is."""
    following = instants[bisect_right(instants, instant) :][:1]
    return min([*following, *([] if replaced is None else [replaced])], default=None)


def _may_go(path: str, partition: str, timeline: Timeline) -> bool:
    """Return whether a path is a data file of its partition, of a completed instant."""
    instant = instant_of(name_of(path))
    return instant is not None and parent_of(path) == partition and timeline.is_completed(instant)


def _needed(storage: Storage, path: str, partition: str) -> CorruptFileError:
    return CorruptFileError(
        "audit/file-needed",
        f"a clean would delete {path}, which a state that stays readable needs",
        where=Where(file=f"{storage.location}/{path}", partition=partition or None),
        remedy="Nothing was deleted. Report it: this is a bug in Lakestrap.",
    )
