"""Points in time as users write them, and the instants that they stand for.

Instants are compared as text, so every moment becomes 17 digits: the last instant that it includes.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Final

from framework.errors import PlanError
from framework.hudi.timeline.timeline import Timeline

__all__ = ["Moment", "instant_of"]

Moment = str | date | datetime
"""An instant (14 or 17 digits), an ISO date or time as text, or Python's own."""

_INSTANT: Final = re.compile(r"[0-9]{14}(?:[0-9]{3})?")
_SECONDS_DIGITS: Final = 14
_LAST_OF_SECOND: Final = "999"


def instant_of(moment: Moment, timeline: Timeline, timezone: str) -> str:
    """Return the instant that a moment stands for; what it includes is not greater.

    A date means its beginning. Text and times without a zone are in the table's own zone. An
    instant of 14 digits means its whole second, unless the timeline has exactly that one.

    Args:
        moment: of a user.
        timeline: of the table.
        timezone: of the table's instants: `UTC`, or `LOCAL` for the zone of whoever wrote them.

    Raises:
        PlanError: `read/moment-not-readable`, `read/moment-has-a-zone`.
    """
    if isinstance(moment, str) and _INSTANT.fullmatch(moment):
        if len(moment) > _SECONDS_DIGITS or timeline.find(moment):
            return moment
        return moment + _LAST_OF_SECOND
    when = _parsed(moment) if isinstance(moment, str) else moment
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)  # noqa: DTZ001 - the table's own zone
    if when.tzinfo is not None:
        if timezone != "UTC":
            raise PlanError(
                "read/moment-has-a-zone",
                f"{moment} has a time zone, but the table's instants are local times of its writer",
                remedy="Give the instant itself, or a time without a zone, in the writer's zone.",
            )
        when = when.astimezone(UTC)
    return f"{when:%Y%m%d%H%M%S}{when.microsecond // 1000:03}"


def _parsed(text: str) -> datetime:
    """Return a date or time in ISO's form."""
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise PlanError(
            "read/moment-not-readable",
            f"{text!r} is neither an instant nor a time",
            remedy="Write 20261121093000123, 2026-11-21 or 2026-11-21 09:30:00.",
        ) from error
