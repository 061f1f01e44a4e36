"""`run-pipeline run` and `run-pipeline resume`: run specs or a saved plan, or continue a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from framework.cli import options
from framework.cli.execution import RunOptions, execute_saved_plan, execute_spec
from framework.cli.places import each_file
from framework.cli.render.errors import OutputOptions
from framework.cli.reports import ReportFiles
from framework.cli.usage import usage_error
from framework.engine.prepare import Request
from framework.plan.build import Earlier
from framework.spec.loader import find_specs

__all__ = ["command", "resume_command"]

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
            return execute_saved_plan(path, run_options)
        request = Request(
            path=path, target=target, variables=variables, earlier=earlier, run_id=run_id
        )
        return execute_spec(request, run_options)

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
    return execute_spec(request, run_options)
