"""Let Spark make the table of time zones and the golden vectors of its old calendar.

Run with PySpark 4.1 (or 3.5, which answers the same) on Java 17:

    python tests/golden/make_calendar.py

Files that Spark wrote with `datetimeRebaseModeInWrite=LEGACY` hold days of the Julian calendar
before 1582-10-15, and local times of Java's old time zones before 1900 or so. What Spark makes of
each value when it reads such a file is asked of Spark's own function, value by value. Two files
come of it:

* `framework/hudi/table/legacy_zones.json`: for each time zone that Java knows its offset in the
  old calendar, and the moments since 1582 from which on another difference is to be added;
* `calendar.json` beside this file: days and moments, and what Spark makes of them.
"""

from __future__ import annotations

import json
import logging
import random
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

LOG = logging.getLogger("make_calendar")
HERE = Path(__file__).parent
ZONES = HERE.parents[1] / "framework" / "hudi" / "table" / "legacy_zones.json"
VECTORS = HERE / "calendar.json"

DAY = 86_400
MICROS = 1_000_000
SWITCH_DAY = -141_427  # 1582-10-15, the first day of the Gregorian calendar
FIRST = SWITCH_DAY * DAY  # the same in seconds
LAST = -1_800_000_000  # in 1912: from here on Spark leaves every moment as it is
YEAR = 365 * DAY
SHOWN = (
    "UTC",
    "America/Los_Angeles",
    "Europe/Berlin",
    "Europe/Amsterdam",
    "Asia/Manila",
    "Asia/Kathmandu",
    "America/Juneau",
    "Pacific/Apia",
    "Africa/Monrovia",
    "EST",
    "Europe/Kyiv",
    "GMT+8",
    "GMT-03:30",
    "+02:00",
    "UTC+03:00",
    "Z",
    "No/Such_Zone",
)


def main() -> None:
    """Ask Spark and write both files."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    jvm: Any = spark._jvm  # noqa: SLF001 - the only way to Spark's function
    rebase = getattr(jvm.org.apache.spark.sql.catalyst.util, "RebaseDateTime$")
    rebase = getattr(rebase, "MODULE$")
    known = sorted(set(jvm.java.util.TimeZone.getAvailableIDs()))
    groups: dict[str, list[str]] = {}
    for zone in known:
        groups.setdefault(json.dumps(_zone(rebase, zone)), []).append(zone)
    lines = [json.dumps([*json.loads(facts), zones]) for facts, zones in groups.items()]
    ZONES.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    LOG.info("%s zones in %s groups", len(known), len(groups))
    VECTORS.write_text(_vectors(rebase), encoding="utf-8")
    spark.stop()


def _zone(rebase: Any, zone: str) -> tuple[int, list[tuple[int, int]]]:
    """Return the offset of the old calendar in seconds, and moments with differences from then."""

    def difference(second: int) -> int:
        found = int(rebase.rebaseJulianToGregorianMicros(zone, second * MICROS))
        return (found - second * MICROS) // MICROS

    begin = FIRST - 2 * DAY  # days are cut out here, in every zone
    start = _switch(difference, begin, FIRST + 2 * DAY)
    steps = [(start, difference(start))]
    at = start
    while at < LAST:
        upper = min(at + YEAR, LAST)
        if difference(upper) != steps[-1][1]:
            upper = _switch(difference, at, upper)
            steps.append((upper, difference(upper)))
        at = upper
    if steps[-1][1]:
        raise ValueError(f"{zone} differs after 1912")
    return FIRST - start, steps


def _switch(difference: Any, low: int, high: int) -> int:
    """Return the first second after `low` with another difference; there is one up to `high`."""
    before = difference(low)
    while high - low > 1:
        middle = (low + high) // 2
        if difference(middle) == before:
            low = middle
        else:
            high = middle
    return high


def _vectors(rebase: Any) -> str:
    """Return days, and moments in microseconds by zone, each with what Spark makes of it."""
    chance = random.Random(1582)
    edges = [at + by for at in _century_ends() for by in (-2, -1, 0, 1, 2)]
    edges += [0, 1, 20_000, SWITCH_DAY, SWITCH_DAY - 1, -719_162, -719_165, 2**31 - 1, -(2**31)]
    days = sorted({*edges, *(chance.randrange(-1_200_000, 10_000) for _ in range(200))})
    moments = {}
    for zone in SHOWN:
        local = [day * DAY + chance.randrange(DAY) for day in edges[:-2]]
        local += [chance.randrange(-70_000_000_000, 0) for _ in range(60)]
        local += [chance.randrange(-5_500_000_000, LAST) for _ in range(40)]
        micros = sorted(second * MICROS + chance.randrange(MICROS) for second in local)
        moments[zone] = [[m, rebase.rebaseJulianToGregorianMicros(zone, m)] for m in micros]
    found = {
        "days": [[day, rebase.rebaseJulianToGregorianDays(day)] for day in days],
        "micros": moments,
    }
    return json.dumps(found, separators=(",", ":")) + "\n"


def _century_ends() -> list[int]:
    """Return days near each 1 March of a century since 400 BC, in the old calendar's count."""
    return [-719_105 + 36_525 * number for number in range(-4, 17)]


if __name__ == "__main__":
    main()
