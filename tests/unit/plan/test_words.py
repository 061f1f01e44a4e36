"""Numbers as people read them."""

from __future__ import annotations

import pytest

from framework.plan.words import count_text, listing, number_text, seconds_text, size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (6_100_000, "6.1 MB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (1_030_000_000, "1.0 GB"),
        (12_000_000_000_000, "12.0 TB"),
        (9_000_000_000_000_000_000, "9000.0 PB"),
    ],
)
def test_size_text_of_any_size_has_a_unit_that_suits(size: int, text: str) -> None:
    """Sizes are decimal, and rounding never shows 1000.0 of a unit that has a next one."""
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 files"), (1, "1 file"), (2, "2 files"), (3500, "3,500 files")]
)
def test_count_text_of_a_noun_agrees_in_number(count: int, text: str) -> None:
    """One file, several files."""
    assert count_text(count, "file") == text


def test_number_text_of_a_large_number_has_thousands_apart() -> None:
    """Long numbers are grouped."""
    assert number_text(336_776) == "336,776"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 core-seconds"),
        (59.0, "59.0 core-seconds"),
        (90.0, "1.5 core-minutes"),
        (7200.0, "2.0 core-hours"),
    ],
)
def test_seconds_text_of_any_time_has_a_unit_that_suits(seconds: float, text: str) -> None:
    """Costs are shown in seconds, minutes or hours of one core."""
    assert seconds_text(seconds) == text


def test_listing_of_many_names_counts_the_omitted_ones() -> None:
    """A list in a message is bounded."""
    assert listing(("a", "b")) == "a, b"
    assert listing(tuple("abcdefg"), limit=5) == "a, b, c, d, e and 2 more"
