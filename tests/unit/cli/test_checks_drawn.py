"""Checks on a terminal: within its width, with and without colour."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from framework.cli.render.checks import write_checks
from framework.engine.results import AuditReport
from tests.support.reports import a_hostile_report, a_refused_report, a_report


def drawn(
    report: AuditReport, width: int = 80, *, terminal: bool = True, colour: bool = False
) -> list[str]:
    """Return the lines that a console of this width shows."""
    file = StringIO()
    console = Console(
        file=file,
        width=width,
        force_terminal=terminal,
        color_system="standard" if colour else None,
        soft_wrap=True,
        highlight=False,
    )
    write_checks(console, report)
    return file.getvalue().split("\n")[:-1]


REFUSED = """\
checks  2 failed, 1 warned, 1 quarantined, 1 dropped, 3 passed
  failed       amount_is_positive      1,204 of 336,776 rows failed, 3 of them
               null
               every row: amount > 0 AND amount < 100000
               country=DE/part-00001.parquet row 411  key A-100411,
               order_id=A-100411, amount=-12.50, email=***
               country=DE/part-00001.parquet row 9034  key A-109034,
               order_id=A-109034, amount=null, email=***
               … and 1,202 more
  failed       enough_orders           found 336,776 over 336,776 rows
               all rows together: count(*) >= 400000"""


def test_refused_report_shows_failures_first_with_their_rows() -> None:
    """At 80 columns."""
    assert drawn(a_refused_report())[:11] == REFUSED.splitlines()


def test_check_that_passed_has_one_line() -> None:
    """Its demand is in the other formats."""
    lines = drawn(a_report(), 120)
    passed = [line for line in lines if line.startswith("  passed")]
    assert len(passed) == 4
    assert lines[-1] == "rows    336,776 input rows: 336,761 published, 12 quarantined, 3 dropped"


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("report", [a_report(), a_refused_report(), a_hostile_report()])
def test_no_line_is_wider_than_the_terminal(report: AuditReport, width: int) -> None:
    """Nor does anything steer it."""
    lines = drawn(report, width)
    assert max(map(cell_len, lines)) <= width
    assert "\x1b" not in "".join(lines)


def test_lines_off_a_terminal_stay_whole() -> None:
    """So that grep finds what they say."""
    lines = drawn(a_refused_report(), 40, terminal=False)
    assert any("amount_is_positive" in each and "3 of them null" in each for each in lines)


def test_colours_change_no_word() -> None:
    """Output without colours has the same content."""
    plain = "".join(drawn(a_report(), 200))
    coloured = "".join(drawn(a_report(), 200, colour=True))
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[35m", "\x1b[36m"):
        coloured = coloured.replace(code, "")
    assert coloured == plain


def test_report_without_checks_draws_nothing() -> None:
    """Keys are reported elsewhere."""
    assert drawn(a_report([])) == []
