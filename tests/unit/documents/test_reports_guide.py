"""The examples in the guide to reports are real output."""

from __future__ import annotations

import contextlib
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from framework.cli.render.checks import write_checks
from framework.cli.status import write_events
from framework.engine.reading.load_history import Event
from framework.engine.reporting.forms import render
from framework.engine.reporting.summary import commit_summary
from framework.vocabulary import ReportForm
from tests.support.reports import KEYS, a_refused_report, a_report

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "reports.md"


def terminal_text() -> str:
    """Return the refused report as a wide terminal shows it."""
    file = StringIO()
    write_checks(Console(file=file, soft_wrap=True, highlight=False), a_refused_report())
    return file.getvalue()


def history_text() -> str:
    """Return the history of a table with one commit."""
    event = Event(
        instant="20261122093000123",
        action="commit",
        state="completed",
        operation="upsert",
        files=12,
        rows=336_761,
        bytes=6_100_000,
        write_id="w1",
        audit={**KEYS, **commit_summary(a_report())},
    )
    file = StringIO()
    with contextlib.redirect_stdout(file):
        write_events((event,))
    return file.getvalue()


@pytest.mark.parametrize("language", ["text", "markdown", "xml", "json"])
def test_example_in_the_guide_is_real(language: str) -> None:
    """Every block of the guide is part of the code's output, verbatim."""
    refused = a_refused_report()
    written = {
        "text": terminal_text() + history_text(),
        "markdown": render(refused, ReportForm.MARKDOWN),
        "xml": render(refused, ReportForm.JUNIT),
        "json": render(refused, ReportForm.GX),
    }[language]
    blocks = re.findall(
        rf"^```{language}\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert blocks
    for block in blocks:
        assert block in written


def test_guide_names_every_form() -> None:
    """In its table."""
    text = GUIDE.read_text("utf-8")
    assert all(f"| `{form}` |" in text for form in ReportForm)
