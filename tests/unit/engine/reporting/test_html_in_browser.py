"""The HTML report in a real browser: it fits a phone, runs nothing and asks for nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from framework.engine.reporting.html import html_text
from framework.engine.results import AuditReport
from tests.support.browser import NO_CHROMIUM, chromium, seen
from tests.support.reports import a_hostile_report, a_refused_report, a_report

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason=NO_CHROMIUM),
]


@pytest.mark.parametrize("width", [360, 768, 1200])
@pytest.mark.parametrize("made", [a_report, a_refused_report, a_hostile_report])
def test_page_at_any_width_does_not_overflow(
    tmp_path: Path, made: Callable[[], AuditReport], width: int
) -> None:
    """With every fold open, nothing is wider than the screen."""
    found = seen(tmp_path, html_text(made()), width=width)
    assert found.measures["wide"] == []
    assert found.measures["scroll"] <= found.measures["client"]
    assert found.measures["checks"] == len(made().checks)


@pytest.mark.parametrize("made", [a_report, a_hostile_report])
def test_page_runs_nothing_and_asks_for_nothing(
    tmp_path: Path, made: Callable[[], AuditReport]
) -> None:
    """Its own file is the only request, and the console stays empty."""
    found = seen(tmp_path, html_text(made()), width=360)
    assert sorted(found.requests) == ["/page.html", "/probe.html"]
    assert found.console == []
    assert found.measures["scripts"] == 0


def test_page_follows_the_reader_s_colour_scheme(tmp_path: Path) -> None:
    """Light and dark differ."""
    html = html_text(a_report())
    light = seen(tmp_path, html, width=800).measures["background"]
    dark = seen(tmp_path, html, width=800, dark=True).measures["background"]
    assert light == "rgb(246, 247, 249)"
    assert dark == "rgb(17, 22, 29)"


def test_every_check_is_reached_by_keyboard(tmp_path: Path) -> None:
    """Folds and the link past the head take the focus."""
    found = seen(tmp_path, html_text(a_report()), width=800)
    assert found.measures["focusable"] == len(a_report().checks) + 1
