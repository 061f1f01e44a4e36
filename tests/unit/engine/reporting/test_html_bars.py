"""Bars of the HTML report show shares: to scale, within the bar, and never too thin to be seen."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.engine.reporting.html import html_text
from framework.engine.results import Fate
from tests.support.reports import a_report

PIECE = re.compile(r'<rect class="f-(\w+)" x="([\d.]+)" y="0" width="([\d.]+)"')
KINDS = ("published", "quarantined", "dropped")
THINNEST = 0.75
ROUNDING = 0.02

Pieces = dict[str, tuple[float, float]]


def pieces(published: int, quarantined: int, dropped: int) -> Pieces:
    """Return where each piece of the bar of rows begins and how wide it is, of 100."""
    fate = Fate(
        input=published + quarantined + dropped,
        published=published,
        quarantined=quarantined,
        dropped=dropped,
    )
    page = html_text(a_report([], fate=fate))
    bar = page[page.index('class="card fate"') :]
    bar = bar[: bar.index("</svg>")]
    return {kind: (float(x), float(width)) for kind, x, width in PIECE.findall(bar)}


@pytest.mark.parametrize(
    ("rows", "widths"),
    [
        ((0, 0, 0), {}),
        ((7, 0, 0), {"published": 100.0}),
        ((0, 0, 3), {"dropped": 100.0}),
        ((3, 1, 0), {"published": 75.0, "quarantined": 25.0}),
        ((2, 1, 1), {"published": 50.0, "quarantined": 25.0, "dropped": 25.0}),
    ],
)
def test_bar_of_rows_is_to_scale(rows: tuple[int, int, int], widths: dict[str, float]) -> None:
    """A kind without rows has no piece."""
    assert {kind: width for kind, (_, width) in pieces(*rows).items()} == widths


def test_bar_of_one_row_in_a_billion_shows_it() -> None:
    """The bar shows that a row was dropped."""
    found = pieces(999_999_999, 0, 1)
    assert found["dropped"][1] >= THINNEST
    assert found["published"][1] > 99


@given(*[st.integers(0, 10**12)] * 3)
def test_bar_of_any_rows_is_whole_and_in_order(
    published: int, quarantined: int, dropped: int
) -> None:
    """Pieces touch each other, stay within the bar, and each that has rows can be seen."""
    amounts = dict(zip(KINDS, (published, quarantined, dropped), strict=True))
    found = pieces(**amounts)
    assert list(found) == [kind for kind in KINDS if amounts[kind]]
    at = 0.0
    for x, width in found.values():
        assert x == pytest.approx(at, abs=ROUNDING)
        assert width >= THINNEST
        at = x + width
    assert at <= 100 + ROUNDING
