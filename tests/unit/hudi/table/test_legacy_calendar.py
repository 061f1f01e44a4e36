"""Days and moments of Spark's old calendar become what Spark itself makes of them."""

from __future__ import annotations

import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.hudi.table.calendar import (
    FIRST_SAFE_DAY,
    FIRST_SAFE_SECOND,
    gregorian_days,
    legacy_zone,
)

GOLDEN = Path(__file__).parents[3] / "golden" / "calendar.json"
EPOCH = date(1970, 1, 1).toordinal()
JULIAN_YEAR_1 = -719_164
FOUR_YEARS = 1461
YEAR_1 = -62_135_700_000_000_000
# Before the year 1 Spark asks Java, whose releases differ by eight seconds of local time there.
OF_JAVA = {"Asia/Manila"}


@cache
def golden() -> dict[str, Any]:
    """Return what Spark made of days and moments."""
    found: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return found


def test_gregorian_days_of_days_that_spark_rebased_are_sparks() -> None:
    """Every day becomes the one that Spark makes of it, before the year 1 too."""
    days, wanted = np.array(golden()["days"], np.int64).T
    assert gregorian_days(days).tolist() == wanted.tolist()


@pytest.mark.parametrize("zone", golden()["micros"])
def test_gregorian_of_moments_that_spark_rebased_is_sparks(zone: str) -> None:
    """Every moment becomes the one that Spark makes of it in its zone."""
    moments, wanted = np.array(golden()["micros"][zone], np.int64).T
    if zone in OF_JAVA:
        known_to_spark = moments >= YEAR_1
        moments, wanted = moments[known_to_spark], wanted[known_to_spark]
    known = legacy_zone(zone)
    if known is None:
        assert zone == "No/Such_Zone"
        return
    assert known.gregorian(moments, 1_000_000).tolist() == wanted.tolist()


@given(days=st.integers(JULIAN_YEAR_1, FIRST_SAFE_DAY - 1))
def test_gregorian_days_of_a_julian_day_has_the_same_date(days: int) -> None:
    """Counting Julian years of 365 and 366 days gives the date that comes out."""
    cycles, rest = divmod(days - JULIAN_YEAR_1, FOUR_YEARS)
    year = 1 + 4 * cycles + min(rest // 365, 3)
    day_of_year = rest - 365 * min(rest // 365, 3)
    # In a year like 2000 or 2001 a day of the year has the same name.
    like = date(2000 if year % 4 == 0 else 2001, 1, 1).toordinal() + day_of_year
    named = date.fromordinal(like)
    found = date.fromordinal(int(gregorian_days(np.array([days]))[0]) + EPOCH)
    leap = (named.month, named.day) == (2, 29) and year % 100 == 0 and year % 400
    month, day = (3, 1) if leap else (named.month, named.day)
    assert (found.year, found.month, found.day) == (year, month, day)


@given(days=st.integers(FIRST_SAFE_DAY, 2**31 - 1), second=st.integers(FIRST_SAFE_SECOND, 2**40))
def test_gregorian_of_what_is_late_enough_is_itself(days: int, second: int) -> None:
    """From 1582-10-15 days stay, and from 1912 moments in any zone."""
    assert gregorian_days(np.array([days])).tolist() == [days]
    for name in golden()["micros"]:
        zone = legacy_zone(name)
        assert zone is None or zone.gregorian(np.array([second]), 1).tolist() == [second]


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "europe/berlin"])
def test_legacy_zone_of_a_name_that_nothing_is_known_of_is_none(name: str) -> None:
    """A zone that a newer Java may know is not taken for GMT."""
    assert legacy_zone(name) is None
