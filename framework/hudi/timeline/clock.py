"""Wall time as a port, and the next free instant (format sheet, section 2.1).

Instants are UTC whatever the machine's zone is, and greater than everything on the timeline,
unfinished instants included: a clock that stands still or steps back cannot make one twice.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from framework.errors import CommitConflictError, Where
from framework.hudi.timeline.timeline import Timeline

__all__ = ["Clock", "ManualClock", "SystemClock", "instant_at", "next_instant"]

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
