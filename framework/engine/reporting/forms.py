"""One report in five forms."""

from __future__ import annotations

from typing import assert_never

from framework.engine.reporting.document import report_text
from framework.engine.reporting.gx import gx_text
from framework.engine.reporting.html import html_text
from framework.engine.reporting.junit import junit_text
from framework.engine.reporting.markdown import markdown_text
from framework.engine.results import AuditReport
from framework.vocabulary import ReportForm

__all__ = ["render"]


def render(report: AuditReport, form: ReportForm) -> str:
    """Return the report in a form, as text that UTF-8 can hold and that ends in a newline.

    A passed report calls its rows published, so it is rendered once they are.
    """
    match form:
        case ReportForm.HTML:
            return html_text(report)
        case ReportForm.JSON:
            return report_text(report)
        case ReportForm.JUNIT:
            return junit_text(report)
        case ReportForm.MARKDOWN:
            return markdown_text(report)
        case ReportForm.GX:
            return gx_text(report)
    assert_never(form)
