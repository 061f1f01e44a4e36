"""The number of points at which crash tests have killed a process, printed after a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

_OUTCOMES = ("passed", "failed")


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Write the sum over all tests; each point is another one, and its kill was proved."""
    found = [
        int(str(value))
        for outcome in _OUTCOMES
        for report in terminalreporter.stats.get(outcome, ())
        for name, value in report.user_properties
        if name == "crash_points"
    ]
    if found:
        points, tests = f"{sum(found):,} points", f"{len(found)} tests"
        terminalreporter.write_line(f"table services killed at {points}, all different, in {tests}")
