"""Events of a run, as frozen values passed to a callable; the command line draws them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from framework.engine.results import AuditReport

__all__ = [
    "Audited",
    "Event",
    "Events",
    "Note",
    "Progress",
    "Published",
    "StageFinished",
    "StageStarted",
    "silent",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageStarted:
    """A stage has started; totals are those of the plan, 0 if it has none."""

    stage: str
    files: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Work done since the last `Progress` of the same stage (increments, not totals)."""

    stage: str
    files: int = 0
    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFinished:
    """A stage has ended after `seconds` of wall time; `summary` is one line for people."""

    stage: str
    seconds: float
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note for people; `level` is `info` or `warning`."""

    level: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """The gate has decided; emitted once, also if it refuses."""

    report: AuditReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The commit is written, `seconds` of wall time after the run started to read its source."""

    instant: str
    seconds: float


Event = StageStarted | Progress | StageFinished | Note | Audited | Published
Events = Callable[[Event], None]


def silent(event: Event) -> None:
    """Discard the event."""
    del event
