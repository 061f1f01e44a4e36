"""From Spark's old calendar to the Gregorian one: pure arithmetic on days and microseconds.

Up to Spark 2.4, and since then on request, days before 1582-10-15 are counted by the Julian
calendar, and moments by local times of it, whose zones know nothing of before 1900. Spark keeps the
local date and time when it reads such a value: 1000-02-28 stays 1000-02-28, though its number of
days changes. The numbers here are Spark's own, asked of it by `tests/golden/make_calendar.py`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "FIRST_SAFE_DAY",
    "FIRST_SAFE_SECOND",
    "SPARK_FAILS_BEFORE",
    "LegacyZone",
    "gregorian_days",
    "legacy_zone",
]

FIRST_SAFE_DAY: Final = -141_427
"""1582-10-15: this day and those after it have the same number in both calendars."""

FIRST_SAFE_SECOND: Final = -1_800_000_000
"""In 1912: from here on no zone's moments differ."""

SPARK_FAILS_BEFORE: Final = -2_208_988_800
"""1900-01-01: Spark 3 does not read earlier timestamps of files that do not name their calendar."""

_DAY: Final = 86_400
_ZONES: Final = Path(__file__).with_name("legacy_zones.json")
# What Java understands beside the names of its zones; it takes anything else for GMT.
_OFFSET: Final = re.compile(r"GMT([+-])(\d{1,2})(?::?([0-5]\d))?")
_NO_JAVA_NAME: Final = re.compile(r"Z|(?:UTC|UT|GMT)?[+-][\d:]+")
_MOST_HOURS: Final = 23


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyZone:
    """A time zone as Spark's old calendar knows it.

    Attributes:
        offset: what it adds to UTC before 1582-10-15, in seconds.
        starts: moments in seconds since the epoch, ascending; the first begins 1582-10-15.
        differences: seconds to add from each of `starts` on.
    """

    offset: int
    starts: np.ndarray
    differences: np.ndarray

    def gregorian(self, values: np.ndarray, per_second: int) -> np.ndarray:
        """Return moments, in units of `per_second` since the epoch, as Spark reads them."""
        seconds = values // per_second
        days = (seconds + self.offset) // _DAY
        early = (gregorian_days(days) - days) * _DAY + self.differences[0]
        at = np.searchsorted(self.starts, seconds, side="right") - 1
        late = self.differences[at.clip(min=0)]
        return np.asarray(values + np.where(at < 0, early, late) * per_second)


def gregorian_days(days: np.ndarray) -> np.ndarray:
    """Return days since 1970-01-01 of the old calendar as the days with the same date.

    29 February of a year that is no Gregorian leap year becomes 1 March. `days` are of int64.
    """
    # Years that begin in March, counted from -4800 so that days of February end them.
    years = (4 * (days + 2_472_670) + 3) // 1461 - 4800
    return np.where(days < FIRST_SAFE_DAY, days - (years // 100 - years // 400 - 2), days)


def legacy_zone(name: str) -> LegacyZone | None:
    """Return a time zone by the name that Spark wrote into a footer.

    Before the year 1, where Spark asks Java, it has the differences of that year. As in Java,
    whatever is no name of a zone, such as `+02:00`, means GMT. None if it may be the name of a zone
    that is not known here.
    """
    found = _zones().get(name)
    if found is None and (match := _OFFSET.fullmatch(name)) and int(match[2]) <= _MOST_HOURS:
        seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60
        return _fixed(seconds if match[1] == "+" else -seconds)
    if found is None and _NO_JAVA_NAME.fullmatch(name):
        return _fixed(0)
    return found


def _fixed(offset: int) -> LegacyZone:
    """Return the zone that has always been this number of seconds ahead of UTC."""
    start = FIRST_SAFE_DAY * _DAY - offset
    return LegacyZone(offset=offset, starts=np.array([start]), differences=np.array([0]))


@cache
def _zones() -> Mapping[str, LegacyZone]:
    """Return the zones that Java knows, by name."""
    found = {}
    for offset, steps, names in json.loads(_ZONES.read_text(encoding="utf-8")):
        starts, differences = np.array(steps, np.int64).T
        zone = LegacyZone(offset=offset, starts=starts, differences=differences)
        found.update(dict.fromkeys(names, zone))
    return found
