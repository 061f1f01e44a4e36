"""The process whose forks are killed, and the number of kills, printed after a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.crash.forks import Forks, forks

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

_OUTCOMES = ("passed", "failed")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """One process for the forks of a module's tests."""
    with forks(tmp_path_factory.mktemp("forks") / "server") as found:
        yield found


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
