"""The steps that run and resume share: prepare, start Spark only if needed, run, report."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.text import Text

from framework.cli.exits import raise_if_lost
from framework.cli.options import LogFormat
from framework.cli.places import in_process
from framework.cli.render.console import clean, out, write
from framework.cli.render.errors import OutputOptions
from framework.cli.render.plan import write_outcome
from framework.cli.render.progress import reporting
from framework.cli.reports import ReportFiles, kept_reports
from framework.cli.spark_session import opened_backend
from framework.engine.backend import Backend
from framework.engine.events import Event, Events, Note
from framework.engine.prepare import PlanningContext, Prepared, Request, prepare, prepare_saved
from framework.engine.quarantine.record import PLACE
from framework.engine.run.lifecycle import interruption
from framework.engine.runner import RunResult
from framework.plan.render.explain import explain_text
from framework.plan.words import count_text, size_text

__all__ = ["RunOptions", "execute_saved_plan", "execute_spec", "interruptible"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run is executed and reported."""

    master: str | None
    conf: Mapping[str, str]
    in_process: bool
    voice: OutputOptions
    reports: ReportFiles = field(default_factory=ReportFiles)
    lineage: str | None = None

    @property
    def log_format(self) -> LogFormat:
        """The format of progress."""
        return LogFormat.JSON if self.voice.json_log else LogFormat.TEXT


def execute_spec(request: Request, order: RunOptions) -> int:
    """Prepare and run one spec; return 0, and raise on failure."""
    return _carry_out(lambda bench: prepare(request, bench), order, str(request.path))


def execute_saved_plan(path: Path, order: RunOptions) -> int:
    """Run a saved plan, if it equals a new plan."""
    return _carry_out(lambda bench: prepare_saved(path, bench), order, str(path))


def _carry_out(
    preparing: Callable[[PlanningContext], Prepared], order: RunOptions, name: str
) -> int:
    with tempfile.TemporaryDirectory() as scratch, reporting(order.log_format, name) as reporter:
        events = interruptible(reporter)
        bench = PlanningContext(tasks=in_process(), scratch=Path(scratch), events=events)
        prepared = preparing(bench)
        shows = not order.voice.json_log
        with kept_reports(order.reports, order.lineage, prepared, events, shows=shows) as listening:
            result = _run(prepared, order, listening) if prepared.plan.has_changes else None
    _print(result, prepared, order)
    return 0


def interruptible(events: Events) -> Events:
    """Return a receiver of events that checks each time for a lost signal."""

    def receive(event: Event) -> None:
        raise_if_lost()
        events(event)

    return receive


def _run(prepared: Prepared, order: RunOptions, events: Events) -> RunResult:
    """Run the plan; add a report of the remaining state to an interruption."""
    plan = prepared.plan
    events(Note(level="info", message=explain_text(plan)[0].text))
    try:
        with _backend(prepared, order, events) as backend:
            figures = bool(order.reports)
            return backend.run(plan, figures=figures, events=events, begun=prepared.begun)
    except KeyboardInterrupt as stop:
        left = interruption(plan.target.location, prepared.observation.table.completed)
        stop.add_note(left.sentence(str(prepared.request.path)))
        raise


def _backend(
    prepared: Prepared, order: RunOptions, events: Events
) -> AbstractContextManager[Backend]:
    """Return the backend on Spark, or on threads of this process if requested."""
    if order.in_process:
        return nullcontext(Backend(tasks=in_process()))
    return opened_backend(prepared.spec, events, master=order.master, conf=order.conf)


def _print(result: RunResult | None, prepared: Prepared, order: RunOptions) -> None:
    if order.voice.json_result:
        document = asdict(result or RunResult.unchanged(prepared.plan))
        spec = str(prepared.request.path)
        sys.stdout.write(json.dumps({"spec": spec, **document}) + "\n")
    elif result is None:
        write_outcome(out(), prepared.plan)
    else:
        _say(result, clean(prepared.plan.target.name))
        _report_quarantined(result, str(prepared.request.path))


def _say(result: RunResult, name: str) -> None:
    if result.instant is None:
        write(out(), Text.assemble((f"{name}: ", "bold"), "the earlier run was recovered"))
        return
    done = (
        f"{result.rows:,} rows in {result.files:,} files, "
        f"{size_text(result.bytes_written)} written, "
        f"published at {result.instant} in {result.seconds:.1f} s"
    )
    write(out(), Text.assemble((f"{name}: ", "bold"), done), hang=2)


def _report_quarantined(result: RunResult, spec: str) -> None:
    """Report the number and location of quarantined rows."""
    fate = result.proof.get("fate")
    rows = fate.get("quarantined", 0) if isinstance(fate, dict) else 0
    if rows:
        show = f"run-pipeline quarantine show {shlex.quote(spec)}"
        text = f"  {count_text(rows, 'row')} quarantined in {result.proof.get(PLACE)}; see `{show}`"
        write(out(), clean(text), hang=4)
