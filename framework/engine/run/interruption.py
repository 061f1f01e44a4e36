"""What an interrupted run left behind, looked up where it lies."""

from __future__ import annotations

from enum import StrEnum, unique
from typing import TYPE_CHECKING

from framework.errors import FrameworkError
from framework.hudi.commit.pending import PendingKind, find_pending
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.timeline import load_timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Aftermath", "aftermath"]


@unique
class Aftermath(StrEnum):
    """How far an interrupted run came.

    `UNTOUCHED` left nothing, `RESUMABLE` left files that nobody sees, `PUBLISHED` left a whole
    table, perhaps with leftovers beside it; `UNKNOWN` could not be looked up.
    """

    UNTOUCHED = "untouched"
    RESUMABLE = "resumable"
    PUBLISHED = "published"
    UNKNOWN = "unknown"

    def sentence(self, spec: str) -> str:
        """Return what it means and how to go on, for the user of a spec."""
        run = f"`run-pipeline run {spec}`"
        match self:
            case Aftermath.UNTOUCHED:
                return f"Nothing was published and nothing is left; begin again with {run}."
            case Aftermath.RESUMABLE:
                return f"Nothing was published; {run} goes on, or begins again with --fresh."
            case Aftermath.PUBLISHED:
                return f"The table was published and is whole; {run} finishes what is left to do."
            case Aftermath.UNKNOWN:
                return f"What it left could not be read; see `run-pipeline status {spec}`."


def aftermath(location: str, completed: Sequence[str]) -> Aftermath:
    """Return what lies at a table's location after an interruption.

    `completed` are the instants that were completed before the run.
    """
    try:
        storage = open_storage(location)
        pending = find_pending(storage)
        now = [each.requested_time for each in load_timeline(storage).completed]
    except FrameworkError:
        return Aftermath.UNKNOWN
    if set(now) - set(completed) or (pending and pending.kind is PendingKind.UNFINISHED):
        return Aftermath.PUBLISHED
    return Aftermath.UNTOUCHED if pending is None else Aftermath.RESUMABLE
