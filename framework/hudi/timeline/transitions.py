"""Which state may follow which: the machine of the timeline, as data.

An action is requested (its plan is written down), becomes inflight (files are being written), and
completes (one file appears, and all of it is visible at once). Each step adds a file and removes
none, so the steps are remembered as long as the instant is on the active timeline. Savepoints begin
inflight. A compaction completes as a `commit`, a log compaction as a `deltacommit`, since readers
see ordinary commits from then on. Nothing leaves `completed`: a commit is undone by another action
(rollback, restore), never by a step back.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from framework.errors import CommitConflictError, Where
from framework.hudi.timeline.instant import Action, Instant, InstantState

__all__ = ["TRANSITIONS", "advance"]

_REQUESTED, _INFLIGHT, _COMPLETED = InstantState

Step = tuple[Action, InstantState]

TRANSITIONS: Mapping[Step, Step] = MappingProxyType(
    {
        (Action.COMMIT, _REQUESTED): (Action.COMMIT, _INFLIGHT),
        (Action.COMMIT, _INFLIGHT): (Action.COMMIT, _COMPLETED),
        (Action.DELTACOMMIT, _REQUESTED): (Action.DELTACOMMIT, _INFLIGHT),
        (Action.DELTACOMMIT, _INFLIGHT): (Action.DELTACOMMIT, _COMPLETED),
        (Action.REPLACECOMMIT, _REQUESTED): (Action.REPLACECOMMIT, _INFLIGHT),
        (Action.REPLACECOMMIT, _INFLIGHT): (Action.REPLACECOMMIT, _COMPLETED),
        (Action.COMPACTION, _REQUESTED): (Action.COMPACTION, _INFLIGHT),
        (Action.COMPACTION, _INFLIGHT): (Action.COMMIT, _COMPLETED),
        (Action.LOGCOMPACTION, _REQUESTED): (Action.LOGCOMPACTION, _INFLIGHT),
        (Action.LOGCOMPACTION, _INFLIGHT): (Action.DELTACOMMIT, _COMPLETED),
        (Action.CLEAN, _REQUESTED): (Action.CLEAN, _INFLIGHT),
        (Action.CLEAN, _INFLIGHT): (Action.CLEAN, _COMPLETED),
        (Action.ROLLBACK, _REQUESTED): (Action.ROLLBACK, _INFLIGHT),
        (Action.ROLLBACK, _INFLIGHT): (Action.ROLLBACK, _COMPLETED),
        (Action.RESTORE, _REQUESTED): (Action.RESTORE, _INFLIGHT),
        (Action.RESTORE, _INFLIGHT): (Action.RESTORE, _COMPLETED),
        (Action.SAVEPOINT, _INFLIGHT): (Action.SAVEPOINT, _COMPLETED),
        (Action.INDEXING, _REQUESTED): (Action.INDEXING, _INFLIGHT),
        (Action.INDEXING, _INFLIGHT): (Action.INDEXING, _COMPLETED),
    }
)


def advance(instant: Instant, to: InstantState) -> Instant:
    """Return `instant` one step on; it must be the step to `to`.

    Raises:
        CommitConflictError: `timeline/illegal-transition`; `instant` stays what it is.
    """
    following = TRANSITIONS.get((instant.action, instant.state))
    if following is None or following[1] is not to:
        raise CommitConflictError(
            "timeline/illegal-transition",
            f"a {instant.state} {instant.action} cannot become {to}",
            where=Where(instant=instant.requested_time),
            remedy="Another writer may have moved the instant; look at it with status.",
        )
    return Instant(requested_time=instant.requested_time, action=following[0], state=following[1])
