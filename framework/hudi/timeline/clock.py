"""Wall time as a port, the next free instant, and instants for times that users write.

The format sheet, section 2.1, has the form. Instants are UTC whatever the machine's zone is, and
greater than everything on the timeline, unfinished instants included: a clock that stands still or
steps back cannot make one twice. Instants are compared as text, so a time that a user writes
becomes 17 digits: the last instant that it includes.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta
from typing import Final, Protocol

from framework.errors import CommitConflictError, PlanError, Where
from framework.hudi.timeline.timeline import Timeline

__all__ = [
    "Clock",
    "ManualClock",
    "Moment",
    "SystemClock",
    "instant_at",
    "instant_of",
    "next_instant",
]

DEFAULT_SKEW_MS: Final = 60_000
_SECONDS_DIGITS: Final = 14
_MILLIS_DIGITS: Final = 17
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """The time of day."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch, UTC; may repeat and step back."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that stands until it is set."""

    def __init__(self, now_ms: int = 1_767_225_600_000) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """Return what was set last."""
        return self._now_ms

    def advance(self, by_ms: int) -> None:
        """Go on, or back, by so many milliseconds."""
        self._now_ms += by_ms


def instant_at(epoch_ms: int) -> str:
    """Return the requested time `yyyyMMddHHmmssSSS`, UTC, of a moment from year 1 to 9999."""
    moment = _EPOCH + timedelta(milliseconds=epoch_ms)
    return f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03}".zfill(_MILLIS_DIGITS)


def next_instant(clock: Clock, timeline: Timeline, *, skew_ms: int = DEFAULT_SKEW_MS) -> str:
    """Return an instant greater than every instant of `timeline`, pending ones included.

    It is the present, or one millisecond after the last instant where that lies up to `skew_ms`
    ahead of the present.

    Raises:
        CommitConflictError: `timeline/clock-behind` where the last instant lies further ahead, or
            is no time at all.
    """
    now_ms = clock.now_ms()
    present = instant_at(now_ms)
    last = timeline.last_requested_time
    if last is None or last < present:
        return present
    last_ms = _epoch_ms(last)
    if last_ms is None or last_ms - now_ms > skew_ms:
        raise CommitConflictError(
            "timeline/clock-behind",
            f"this machine's clock says {present} (UTC), but the table has an instant at {last}",
            where=Where(instant=last),
            remedy="Set the clocks of all writers, or wait until the time has passed.",
        )
    return instant_at(last_ms + 1)


def _epoch_ms(requested_time: str) -> int | None:
    """Return the moment of an instant, None where it is none; Java reads 14 digits as `….999`."""
    text = requested_time
    if len(text) == _SECONDS_DIGITS:
        text += "999"
    try:
        moment = datetime.strptime(text[:_SECONDS_DIGITS], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        return (moment - _EPOCH) // timedelta(milliseconds=1) + int(text[_SECONDS_DIGITS:])
    except ValueError:
        return None


Moment = str | date | datetime
"""An instant (14 or 17 digits), an ISO date or time as text, or Python's own."""

_INSTANT: Final = re.compile(r"[0-9]{14}(?:[0-9]{3})?")
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
