"""Wall time as a port, the next free instant, and instants for times written by users.

The format sheet, section 2.1, has the format. Instants are UTC regardless of the machine's zone,
and greater than every instant on the timeline, pending ones included, so a clock that stops or
steps back cannot repeat one. Instants are compared as text, so a user's time becomes 17 digits: the
last instant that it includes.
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
    """A clock that changes only when set."""

    def __init__(self, now_ms: int = 1_767_225_600_000) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """Return the time set last."""
        return self._now_ms

    def advance(self, by_ms: int) -> None:
        """Move forward by `by_ms` milliseconds, or back if negative."""
        self._now_ms += by_ms


def instant_at(epoch_ms: int) -> str:
    """Return the requested time `yyyyMMddHHmmssSSS`, UTC, of a moment from year 1 to 9999."""
    moment = _EPOCH + timedelta(milliseconds=epoch_ms)
    return f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03}".zfill(_MILLIS_DIGITS)


def next_instant(clock: Clock, timeline: Timeline, *, skew_ms: int = DEFAULT_SKEW_MS) -> str:
    """Return an instant greater than every instant of `timeline`, pending ones included.

    It is the current time, or one millisecond after the last instant if that is up to `skew_ms`
    ahead of the current time.

    Raises:
        CommitConflictError: `timeline/clock-behind` if the last instant is further ahead, or is
            not a time.
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
            remedy="Correct the clocks of all writers, or wait until that time has passed.",
        )
    return instant_at(last_ms + 1)


def _epoch_ms(requested_time: str) -> int | None:
    """Return the time of an instant, None if it is not one; Java reads 14 digits as `….999`."""
    text = requested_time
    if len(text) == _SECONDS_DIGITS:
        text += "999"
    try:
        moment = datetime.strptime(text[:_SECONDS_DIGITS], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        return (moment - _EPOCH) // timedelta(milliseconds=1) + int(text[_SECONDS_DIGITS:])
    except ValueError:
        return None


Moment = str | date | datetime
"""An instant (14 or 17 digits), an ISO date or time as text, or Python's date or datetime."""

_INSTANT: Final = re.compile(r"[0-9]{14}(?:[0-9]{3})?")
_LAST_OF_SECOND: Final = "999"


def instant_of(moment: Moment, timeline: Timeline, timezone: str) -> str:
    """Return the last instant that a moment includes.

    A date means its start. Text and times without a zone are in the table's zone. An
    instant of 14 digits means its whole second, unless the timeline has exactly that instant.

    Args:
        moment: as written by the user.
        timeline: the table's timeline.
        timezone: of the table's instants: `UTC`, or `LOCAL` for their writer's zone.

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
                remedy="Pass the instant itself, or a time without a zone, in the writer's zone.",
            )
        when = when.astimezone(UTC)
    return f"{when:%Y%m%d%H%M%S}{when.microsecond // 1000:03}"


def _parsed(text: str) -> datetime:
    """Parse a date or time in ISO format."""
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise PlanError(
            "read/moment-not-readable",
            f"{text!r} is neither an instant nor a time",
            remedy="Write 20261121093000123, 2026-11-21 or 2026-11-21 09:30:00.",
        ) from error
