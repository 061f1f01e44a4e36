"""`run-pipeline run` and `run-pipeline resume`: run specs or a saved plan, or continue a run.

Their steps are the same: prepare, start Spark only if needed, run, report.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from framework.cli import options
from framework.cli.exits import raise_if_lost
from framework.cli.options import LogFormat
from framework.cli.places import each_file, in_process
from framework.cli.render.console import clean, out, write
from framework.cli.render.errors import OutputOptions
from framework.cli.render.plan import write_outcome
from framework.cli.render.progress import reporting
from framework.cli.reports import ReportFiles, kept_reports
from framework.cli.spark_session import opened_backend
from framework.cli.usage import usage_error
from framework.engine.events import Event, Events, Note
from framework.engine.prepare import PlanningContext, Prepared, Request, prepare, prepare_saved
from framework.engine.quarantine.record import PLACE
from framework.engine.run.lifecycle import interruption
from framework.engine.runner import Backend, RunResult, run_nothing
from framework.plan.build import Earlier
from framework.plan.render.explain import explain_text
from framework.plan.words import count_text, size_text
from framework.spec.loader import find_specs

__all__ = ["RunOptions", "command", "interruptible", "resume_command"]

_SAVED = ".json"


def command(
    specs: options.Specs = None,
    target: options.Target = None,
    var: options.Variables = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Roll back an interrupted run instead of resuming it."),
    ] = False,
    run_id: Annotated[
        str | None,
        typer.Option("--run-id", metavar="ID", help="Publish a load with this id only once."),
    ] = None,
    report: options.Reports = None,
    lineage: options.Lineage = None,
    master: options.Master = None,
    conf: options.Conf = None,
    in_process: options.InProcess = False,
    form: options.Format = options.JsonFormat.TEXT,
    log_format: options.LogOption = options.LogFormat.TEXT,
) -> int:
    """Run specs, or plans (*.json) that `plan --out` saved.

    Resumes an interrupted run if spec and source are unchanged, else rolls it back and starts
    again. Having nothing new to load is not an error. With --format json each result is one line.
    """
    output = OutputOptions(
        json_result=form is options.JsonFormat.JSON, json_log=log_format is options.LogFormat.JSON
    )
    run_options = RunOptions(
        master=master,
        conf=options.pairs(conf, "--conf"),
        in_process=in_process,
        output=output,
        reports=ReportFiles.of(report),
        lineage=lineage,
    )
    variables = options.pairs(var, "--var")
    saved = [path for path in specs or [] if path.suffix == _SAVED]
    if saved and (target or variables or fresh or run_id):
        raise usage_error("saved-plan", "a saved plan has its own target and variables")
    others = [path for path in specs or [] if path not in saved]
    files = [*saved, *(find_specs(others) if others or not saved else ())]
    run_options.reports.for_one_of(len(files))
    earlier = Earlier.FRESH if fresh else Earlier.AUTO

    def one(path: Path) -> int:
        if path in saved:
            return _execute_saved_plan(path, run_options)
        request = Request(
            path=path, target=target, variables=variables, earlier=earlier, run_id=run_id
        )
        return _execute_spec(request, run_options)

    return each_file(files, one, output)


def resume_command(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec of the interrupted run.")],
    target: options.Target = None,
    var: options.Variables = None,
    master: options.Master = None,
    conf: options.Conf = None,
    in_process: options.InProcess = False,
    form: options.Format = options.JsonFormat.TEXT,
    log_format: options.LogOption = options.LogFormat.TEXT,
) -> int:
    """Resume an interrupted run; exit 1 if there is nothing to resume."""
    output = OutputOptions(
        json_result=form is options.JsonFormat.JSON, json_log=log_format is options.LogFormat.JSON
    )
    run_options = RunOptions(
        master=master, conf=options.pairs(conf, "--conf"), in_process=in_process, output=output
    )
    request = Request(
        path=spec, target=target, variables=options.pairs(var, "--var"), earlier=Earlier.RESUME
    )
    return _execute_spec(request, run_options)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run is executed and reported."""

    master: str | None
    conf: Mapping[str, str]
    in_process: bool
    output: OutputOptions
    reports: ReportFiles = field(default_factory=ReportFiles)
    lineage: str | None = None

    @property
    def log_format(self) -> LogFormat:
        """The format of progress."""
        return LogFormat.JSON if self.output.json_log else LogFormat.TEXT


def _execute_spec(request: Request, run_options: RunOptions) -> int:
    """Prepare and run one spec; return 0, and raise on failure."""
    return _execute(lambda planning: prepare(request, planning), run_options, str(request.path))


def _execute_saved_plan(path: Path, run_options: RunOptions) -> int:
    """Run a saved plan, if it equals a new plan."""
    return _execute(lambda planning: prepare_saved(path, planning), run_options, str(path))


def _execute(
    preparing: Callable[[PlanningContext], Prepared], run_options: RunOptions, name: str
) -> int:
    with (
        tempfile.TemporaryDirectory() as scratch,
        reporting(run_options.log_format, name) as reporter,
    ):
        events = interruptible(reporter)
        planning = PlanningContext(tasks=in_process(), scratch=Path(scratch), events=events)
        prepared = preparing(planning)
        shows = not run_options.output.json_log
        with kept_reports(
            run_options.reports, run_options.lineage, prepared, events, shows=shows
        ) as listening:
            result = _run(prepared, run_options, listening)
    _print(result, prepared, run_options)
    return 0


def interruptible(events: Events) -> Events:
    """Return a receiver of events that checks each time for a lost signal."""

    def receive(event: Event) -> None:
        raise_if_lost()
        events(event)

    return receive


def _run(prepared: Prepared, run_options: RunOptions, events: Events) -> RunResult:
    """Run the plan; add a report of the remaining state to an interruption.

    Without stages no Spark is started.
    """
    plan = prepared.plan
    if not plan.has_changes:
        return run_nothing(plan, events=events)
    events(Note(level="info", message=explain_text(plan)[0].text))
    try:
        with _backend(prepared, run_options, events) as backend:
            figures = bool(run_options.reports)
            return backend.run(plan, figures=figures, events=events, begun=prepared.begun)
    except KeyboardInterrupt as stop:
        left = interruption(plan.target.location, prepared.observation.table.completed)
        stop.add_note(left.sentence(str(prepared.request.path)))
        raise


def _backend(
    prepared: Prepared, run_options: RunOptions, events: Events
) -> AbstractContextManager[Backend]:
    """Return the backend on Spark, or on threads of this process if requested."""
    if run_options.in_process:
        return nullcontext(Backend(tasks=in_process()))
    return opened_backend(prepared.spec, events, master=run_options.master, conf=run_options.conf)


def _print(result: RunResult, prepared: Prepared, run_options: RunOptions) -> None:
    if run_options.output.json_result:
        document = asdict(result)
        spec = str(prepared.request.path)
        sys.stdout.write(json.dumps({"spec": spec, **document}) + "\n")
    elif not prepared.plan.has_changes:
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
