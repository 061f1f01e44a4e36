"""Every form of every report."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from framework.engine.reporting.forms import render
from framework.engine.results import AuditReport
from framework.vocabulary import ReportForm
from tests.support.reports import a_hostile_report, a_refused_report, a_report


@pytest.mark.parametrize("form", ReportForm)
@pytest.mark.parametrize("made", [a_report, a_refused_report, a_hostile_report])
def test_form_of_a_report_is_text_for_a_file(
    made: Callable[[], AuditReport], form: ReportForm
) -> None:
    """It can be encoded, ends in a newline, and is the same each time."""
    text = render(made(), form)
    assert text.encode().endswith(b"\n")
    assert render(made(), form) == text
