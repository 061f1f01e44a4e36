"""One action at one time in one state, its file name, and the legal state transitions.

The format sheet, section 2.2, has the names. An action is requested (its plan is written), becomes
inflight (files are being written), and completes (one file appears, and all of it is visible at
once). Each step adds a file and removes none, so all steps remain known while the instant is on the
active timeline. Savepoints start inflight. A compaction completes as `commit`, a log compaction as
`deltacommit`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from types import MappingProxyType
from typing import Final

from framework.errors import CommitConflictError, UnsupportedTableError, Where
from framework.hudi.table.layout import HOODIE, join

__all__ = [
    "COMPACTIONS",
    "DATA_ACTIONS",
    "LATEST",
    "TRANSITIONS",
    "Action",
    "Instant",
    "InstantState",
    "advance",
]


@unique
class Action(StrEnum):
    """The action of an instant."""

    COMMIT = "commit"
    DELTACOMMIT = "deltacommit"
    REPLACECOMMIT = "replacecommit"
    COMPACTION = "compaction"
    LOGCOMPACTION = "logcompaction"
    CLEAN = "clean"
    ROLLBACK = "rollback"
    RESTORE = "restore"
    SAVEPOINT = "savepoint"
    INDEXING = "indexing"


@unique
class InstantState(StrEnum):
    """The progress of an action."""

    REQUESTED = "requested"
    INFLIGHT = "inflight"
    COMPLETED = "completed"


DATA_ACTIONS: Final = frozenset(
    {
        Action.COMMIT,
        Action.DELTACOMMIT,
        Action.REPLACECOMMIT,
        Action.COMPACTION,
        Action.LOGCOMPACTION,
    }
)
"""Actions whose files hold records."""

COMPACTIONS: Final = frozenset({Action.COMPACTION, Action.LOGCOMPACTION})
"""Actions that are requested with a plan of log files."""

LATEST: Final = "9" * 17
"""The greatest possible requested time."""

_COMPLETES_AS: Mapping[Action, Action] = MappingProxyType(
    {Action.COMPACTION: Action.COMMIT, Action.LOGCOMPACTION: Action.DELTACOMMIT}
)
_NAME: Final = re.compile(r"([0-9]{1,17})\.([a-z]+)(?:\.([a-z]+))?")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Instant:
    """One action at one time in one state.

    Attributes:
        requested_time: when the action began, and its id: UTC `yyyyMMddHHmmssSSS`; 14 digits in
            old tables and for bootstraps. Compared as text.
        action: a compaction that completes becomes a `commit`, a log compaction a `deltacommit`.
        state: its progress; savepoints are never requested.
    """

    requested_time: str
    action: Action
    state: InstantState

    def __post_init__(self) -> None:
        """Refuse a state that the action never has."""
        if (self.action, self.state) not in _SUFFIXES:
            raise UnsupportedTableError(
                "timeline/illegal-state",
                f"a {self.action} is never {self.state}",
                where=Where(instant=self.requested_time),
            )

    @property
    def file_name(self) -> str:
        """Name of its file in `.hoodie`."""
        return f"{self.requested_time}.{_SUFFIXES[self.action, self.state]}"

    @property
    def path(self) -> str:
        """Path of its file below the table's root."""
        return join(HOODIE, self.file_name)

    @property
    def is_completed(self) -> bool:
        """Whether it is completed, hence visible."""
        return self.state is InstantState.COMPLETED

    @classmethod
    def parse(cls, file_name: str) -> Instant | None:
        """Return the instant of a file name in `.hoodie`, None for other files."""
        found = _NAME.fullmatch(file_name)
        if found is None:
            return None
        suffix = found[2] if found[3] is None else f"{found[2]}.{found[3]}"
        parts = _PARTS.get(suffix)
        return parts and cls(requested_time=found[1], action=parts[0], state=parts[1])


def _suffix(action: Action, state: InstantState) -> str:
    """Return the part after `<t>.`; in layout 1 an inflight commit drops its action."""
    if state is InstantState.COMPLETED:
        return action.value
    if (action, state) == (Action.COMMIT, InstantState.INFLIGHT):
        return "inflight"
    return f"{action}.{state}"


def _exists(action: Action, state: InstantState) -> bool:
    """Whether an action has its own file in `state`."""
    if state is InstantState.COMPLETED:
        return action not in _COMPLETES_AS
    return (action, state) != (Action.SAVEPOINT, InstantState.REQUESTED)


_SUFFIXES: Mapping[tuple[Action, InstantState], str] = MappingProxyType(
    {(a, s): _suffix(a, s) for a in Action for s in InstantState if _exists(a, s)}
)
_PARTS: Mapping[str, tuple[Action, InstantState]] = MappingProxyType(
    {suffix: parts for parts, suffix in _SUFFIXES.items()}
)


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
    """Return the successor of `instant`, whose state must be `to`.

    Raises:
        CommitConflictError: `timeline/illegal-transition`; `instant` is unchanged.
    """
    following = TRANSITIONS.get((instant.action, instant.state))
    if following is None or following[1] is not to:
        raise CommitConflictError(
            "timeline/illegal-transition",
            f"a {instant.state} {instant.action} cannot become {to}",
            where=Where(instant=instant.requested_time),
            remedy="Another writer may have advanced the instant; check it with status.",
        )
    return Instant(requested_time=instant.requested_time, action=following[0], state=following[1])
