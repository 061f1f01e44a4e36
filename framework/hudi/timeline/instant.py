"""One action at one time in one state, and the name of its file (format sheet, section 2.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from types import MappingProxyType
from typing import Final

from framework.errors import UnsupportedTableError, Where
from framework.hudi.table.layout import HOODIE, join

__all__ = ["COMPACTIONS", "DATA_ACTIONS", "LATEST", "Action", "Instant", "InstantState"]


@unique
class Action(StrEnum):
    """What an instant does."""

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
    """How far an action has come."""

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
"""A time that no instant is later than."""

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
        state: how far it has come; savepoints are never requested.
    """

    requested_time: str
    action: Action
    state: InstantState

    def __post_init__(self) -> None:
        """Refuse what has no file name."""
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
        """Whether it is over, and visible."""
        return self.state is InstantState.COMPLETED

    @classmethod
    def parse(cls, file_name: str) -> Instant | None:
        """Return the instant of a file in `.hoodie`, None where the name is no instant's."""
        found = _NAME.fullmatch(file_name)
        if found is None:
            return None
        suffix = found[2] if found[3] is None else f"{found[2]}.{found[3]}"
        parts = _PARTS.get(suffix)
        return parts and cls(requested_time=found[1], action=parts[0], state=parts[1])


def _suffix(action: Action, state: InstantState) -> str:
    """Return what follows `<t>.`; in layout 1 an inflight commit drops its action."""
    if state is InstantState.COMPLETED:
        return action.value
    if (action, state) == (Action.COMMIT, InstantState.INFLIGHT):
        return "inflight"
    return f"{action}.{state}"


def _exists(action: Action, state: InstantState) -> bool:
    """Whether an action has a file of its own in `state`."""
    if state is InstantState.COMPLETED:
        return action not in _COMPLETES_AS
    return (action, state) != (Action.SAVEPOINT, InstantState.REQUESTED)


_SUFFIXES: Mapping[tuple[Action, InstantState], str] = MappingProxyType(
    {(a, s): _suffix(a, s) for a in Action for s in InstantState if _exists(a, s)}
)
_PARTS: Mapping[str, tuple[Action, InstantState]] = MappingProxyType(
    {suffix: parts for parts, suffix in _SUFFIXES.items()}
)
