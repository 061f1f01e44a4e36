"""Progress of a run: bars on a terminal, plain lines elsewhere, JSON for machines.

All of it goes to stderr; stdout is for results.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rich.progress import BarColumn, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from framework.cli.options import LogFormat
from framework.cli.render.console import clean, err, write
from framework.engine import events

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["log_line", "reporting"]

_LINE_EVERY_S: Final = 5.0
_NAME_WIDTH: Final = 12
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")


def log_line(event: str, fields: Mapping[str, Any]) -> None:
    """Write one JSON object to stderr: `time` (UTC, ISO 8601), `event`, then the fields."""
    now = datetime.now(tz=UTC).isoformat(timespec="milliseconds")
    sys.stderr.write(json.dumps({"time": now, "event": event, **fields}) + "\n")
    sys.stderr.flush()


@contextmanager
def reporting(form: LogFormat, spec: str) -> Iterator[events.Events]:
    """Yield a receiver for the events of one spec, drawn while the context is open."""
    if form is LogFormat.JSON:
        yield _json_writer(spec)
        return
    console = err()
    if not console.is_interactive:
        yield _Lines(console)
        return
    columns = (
        TextColumn(" "),
        SpinnerColumn("line"),
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=12),
        TextColumn("{task.fields[counts]}"),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )
    bars = Bars(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    )
    with bars:
        yield _Drawn(bars, console)


def _json_writer(spec: str) -> Callable[[events.Event], None]:
    """Return a receiver that logs events: `stage_started`, `progress`, `stage_finished`, `note`."""

    def write_event(event: events.Event) -> None:
        name = _CAPITAL.sub("_", type(event).__name__).lower()
        members = _audited(event) if isinstance(event, events.Audited) else asdict(event)
        log_line(name, {"spec": spec, **members})

    return write_event


class _Stage:
    """Totals of one stage; rates are rows per second since it started."""

    def __init__(self, event: events.StageStarted) -> None:
        self.name = event.stage
        self.of_files, self.of_rows = event.files, event.rows
        self.files = self.rows = 0
        self.begun = time.monotonic()

    def add(self, event: events.Progress) -> None:
        self.files += event.files
        self.rows += event.rows

    def counts(self) -> str:
        """Return `12 of 70 files, 1.2M rows, 3.1M rows/s`, without unknown parts."""
        parts = []
        if self.of_files or self.files:
            of = f" of {self.of_files:,}" if self.of_files else ""
            parts.append(f"{self.files:,}{of} files")
        if self.rows:
            seconds = max(time.monotonic() - self.begun, 1e-3)
            parts += [f"{_short(self.rows)} rows", f"{_short(self.rows / seconds)} rows/s"]
        return ", ".join(parts)

    def time_left(self) -> str:
        """Return `, about 40 s left`, or "" without enough progress for an estimate."""
        done, total = (self.rows, self.of_rows) if self.of_rows else (self.files, self.of_files)
        if not done or total <= done:
            return ""
        passed = time.monotonic() - self.begun
        return f", about {passed * (total - done) / done:,.0f} s left"


def _audited(event: events.Audited) -> dict[str, object]:
    """Return the audit's result in short; reports have it in full."""
    outcomes = {each.check.name: each.outcome.value for each in event.report.checks}
    return {"passed": event.report.passed, "instant": event.report.instant, "checks": outcomes}


def _short(number: float) -> str:
    """Return a number in at most five characters, such as `950`, `12.3k`, `1.2M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def _finished(event: events.StageFinished) -> Text:
    name = f"{event.stage:<{_NAME_WIDTH}} "
    seconds = (f"{event.seconds:7.1f} s  ", "dim")
    return Text.assemble("  ", ("✓ ", "green"), name, seconds, clean(event.summary))


def _note(event: events.Note) -> Text:
    if event.level == "warning":
        return Text.assemble(("  warning: ", "yellow"), clean(event.message))
    return Text(f"    {clean(event.message)}", style="dim")


class _Lines:
    """Plain lines: one at the start and end of a stage, and one every few seconds between."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stages: dict[str, _Stage] = {}
        self._last = 0.0

    def __call__(self, event: events.Event) -> None:
        """Write the event, if a line is due."""
        if isinstance(event, events.StageStarted):
            self._stages[event.stage] = _Stage(event)
            self._last = time.monotonic()
            if event.rows:
                files = f"{event.files:,} files, " if event.files else ""
                todo = f"{files}{event.rows:,} rows to do"
                write(self._console, f"    {event.stage:<{_NAME_WIDTH}} {todo}")
        elif isinstance(event, events.Progress):
            self._progress(event)
        elif isinstance(event, events.StageFinished):
            self._stages.pop(event.stage, None)
            write(self._console, _finished(event))
        elif isinstance(event, events.Note):
            write(self._console, _note(event))

    def _progress(self, event: events.Progress) -> None:
        stage = self._stages.get(event.stage)
        if stage is None:
            return
        stage.add(event)
        now = time.monotonic()
        if now - self._last >= _LINE_EVERY_S:
            self._last = now
            text = f"    {stage.name:<{_NAME_WIDTH}} {stage.counts()}{stage.time_left()}"
            write(self._console, text)


class _Drawn:
    """Bars on a terminal; a finished stage becomes a line above them."""

    def __init__(self, bars: Bars, console: Console) -> None:
        self._bars, self._console = bars, console
        self._stages: dict[str, tuple[_Stage, TaskID]] = {}

    def __call__(self, event: events.Event) -> None:
        """Draw the event."""
        if isinstance(event, events.StageStarted):
            total = event.rows or event.files or None
            task = self._bars.add_task(event.stage, total=total, counts="")
            self._stages[event.stage] = (_Stage(event), task)
        elif isinstance(event, events.Progress):
            self._progress(event)
        elif isinstance(event, events.StageFinished):
            known = self._stages.pop(event.stage, None)
            if known:
                self._bars.remove_task(known[1])
            write(self._console, _finished(event), hang=_NAME_WIDTH + 16)
        elif isinstance(event, events.Note):
            write(self._console, _note(event), hang=4)

    def _progress(self, event: events.Progress) -> None:
        known = self._stages.get(event.stage)
        if known is None:
            return
        stage, task = known
        stage.add(event)
        step = event.rows if stage.of_rows else event.files
        self._bars.update(task, advance=step, counts=stage.counts())
