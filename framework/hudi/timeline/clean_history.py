"""Limits that cleaning sets on time travel (format sheet, section 2.7)."""

from __future__ import annotations

from typing import Final

from framework.errors import UnsupportedTableError, Where
from framework.hudi.codecs.avro import read_container
from framework.hudi.storage.port import Storage
from framework.hudi.timeline.instant import DATA_ACTIONS, Action, Instant
from framework.hudi.timeline.timeline import Timeline

__all__ = ["check_not_cleaned"]

_BOUNDS: Final = ("earliestCommitToRetain", "lastCompletedCommitTimestamp", "startCleanTime")


def check_not_cleaned(storage: Storage, timeline: Timeline, instant: str) -> None:
    """Raise if slices that made up the table at `instant` may have been deleted.

    `timeline` must be the whole timeline. Slices under a savepoint are never cleaned, nor are those
    of the newest instant, which a restore may have gone back to. Costs one small read per completed
    clean.

    Raises:
        UnsupportedTableError: `read/cleaned`, `read/archived`, `read/before-table`.
        CorruptFileError: `avro/corrupt`.
    """
    if any(each.requested_time == instant for each in _of(timeline, Action.SAVEPOINT)):
        return
    written = [e.requested_time for e in timeline.completed if e.action in DATA_ACTIONS]
    if written and instant >= written[-1]:
        return
    data = [each for each in timeline.instants if each.is_completed]
    if not data or instant < data[0].requested_time:
        raise _lost("before-table", "the timeline starts later", instant)
    if timeline.first_active is not None and instant < timeline.first_active:
        message = f"instants before {timeline.first_active} were archived"
        raise _lost("archived", message, instant)
    for clean in _of(timeline, Action.CLEAN):
        bound = _bound(storage, clean)
        if instant < bound:
            raise _lost("cleaned", f"slices before {bound} were cleaned", instant)


def _of(timeline: Timeline, action: Action) -> list[Instant]:
    return [each for each in timeline.completed if each.action is action]


def _bound(storage: Storage, clean: Instant) -> str:
    """Return the first instant whose slices a clean left complete, `""` if it deleted nothing.

    A clean by number of versions names no commit; then it is the last commit before the clean.
    """
    with storage.open_input(clean.path) as source:
        found = read_container(
            bytes(source.read()), where=Where(file=f"{storage.location}/{clean.path}")
        )
    if not any(part["successDeleteFiles"] for part in found["partitionMetadata"].values()):
        return ""
    return next((found[name] for name in _BOUNDS if found.get(name)), "")


def _lost(condition: str, message: str, instant: str) -> UnsupportedTableError:
    """Return the error for a state of the table that is no longer available."""
    return UnsupportedTableError(
        f"read/{condition}",
        f"the table as of {instant} cannot be read: {message}",
        where=Where(instant=instant),
        remedy="Choose a later time; a savepoint keeps a state from being cleaned.",
    )
