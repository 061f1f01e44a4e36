"""The partitions that a sync looks at: those that commits changed since the last one, or all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from framework.engine.reading.table import Table
from framework.engine.reading.views import Views
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.commit_body import read_commit_body
from framework.hudi.timeline.instant import DATA_ACTIONS, Instant
from framework.hudi.timeline.timeline import Timeline
from framework.plan.catalogs.registered import RegisteredTable
from framework.plan.catalogs.sync_plan import PartitionScope

__all__ = ["CompletedCommits", "scope_since"]

_NS_PER_MS: Final = 1_000_000
_MS_PER_S: Final = 1000


class CompletedCommits:
    """The completed commits of the active timeline, with the time at which each was completed.

    At table version 6 that is the modification time of the completed instant's file, as Apache Hudi
    takes it. Costs one stat per commit.
    """

    def __init__(self, storage: Storage, timeline: Timeline) -> None:
        found = [each for each in timeline.completed if each.action in DATA_ACTIONS]
        self._times = {each: _completion(storage, each) for each in found}

    @property
    def last(self) -> str:
        """Requested time of the last commit; "" if there is none."""
        return max((each.requested_time for each in self._times), default="")

    @property
    def last_completion(self) -> str:
        """The latest completion time; "" if there is no commit."""
        return max(self._times.values(), default="")

    def has(self, requested_time: str) -> bool:
        """Return whether the commit is completed and on the active timeline."""
        return any(each.requested_time == requested_time for each in self._times)

    def since(self, requested_time: str, completion: str | None) -> tuple[Instant, ...]:
        """Return the commits that are later, by either time, oldest first.

        A commit that was requested before another one and completed after it is found by the
        second; without a completion time it is not.
        """
        return tuple(
            each
            for each, completed in sorted(self._times.items())
            if each.requested_time > requested_time
            or (completion is not None and completed > completion)
        )


def _completion(storage: Storage, instant: Instant) -> str:
    """Return when an instant was completed, as 17 digits in UTC."""
    entry = storage.stat(instant.path)
    at_ms = 0 if entry is None else entry.mtime_ns // _NS_PER_MS
    at = datetime.fromtimestamp(at_ms // _MS_PER_S, UTC)
    return f"{at:%Y%m%d%H%M%S}{at_ms % _MS_PER_S:03}"


def scope_since(
    table: Table, commits: CompletedCommits, synced: RegisteredTable | None, views: Views
) -> PartitionScope:
    """Return the partitions that the next sync of one registered table looks at.

    These are all partitions of the table if it was never synced, or its last commit is not on the
    active timeline any more: it was archived, rolled back, or restored away. Then each partition is
    listed. Otherwise only commits are read, and of the partitions in which they replaced file
    groups each is listed.

    Raises:
        CorruptFileError: a commit is damaged.
    """
    last = None if synced is None else synced.last_commit
    if synced is None or last is None or not commits.has(last):
        return _all_partitions(table, views)
    written: dict[str, None] = {}
    replaced: dict[str, None] = {}
    for instant in commits.since(last, synced.last_completion):
        body = read_commit_body(table.storage, instant.path)
        written.update(dict.fromkeys(body.partitions))
        replaced.update(dict.fromkeys(body.replaced))
    live, emptied = _split(table, views, replaced)
    sure = (path for path in written if path not in replaced)
    return PartitionScope(live=tuple(sorted({*sure, *live})), emptied=tuple(emptied))


def _all_partitions(table: Table, views: Views) -> PartitionScope:
    """Return all partitions that have a file slice."""
    with views.opened(table) as view:
        live = tuple(path for path in view.partitions() if view.latest_slices(path))
    return PartitionScope(live=live, is_all=True)


def _split(table: Table, views: Views, paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the paths of partitions with and without a file slice."""
    live: list[str] = []
    emptied: list[str] = []
    for path, lives in _lives(table, views, list(paths)):
        (live if lives else emptied).append(path)
    return live, emptied


def _lives(table: Table, views: Views, paths: list[str]) -> Iterator[tuple[str, bool]]:
    if not paths:
        return
    with views.opened(table) as view:
        for path in paths:
            yield path, bool(view.latest_slices(path))
