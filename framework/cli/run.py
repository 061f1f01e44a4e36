"""`run-pipeline run`: run specs, or a saved plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from framework.cli.execution import RunOptions, execute_saved_plan, execute_spec
from framework.cli.options import (
    Conf,
    Format,
    InProcess,
    JsonFormat,
    Lineage,
    LogFormat,
    LogOption,
    Master,
    Reports,
    Specs,
    Target,
    Variables,
    pairs,
)
from framework.cli.render.errors import OutputOptions
from framework.cli.reports import ReportFiles
from framework.cli.spec_files import each_file
from framework.cli.usage import usage_error
from framework.engine.prepare import Request
from framework.plan.build import Earlier
from framework.spec.loader import find_specs

__all__ = ["command"]

_SAVED = ".json"


def command(
    specs: Specs = None,
    target: Target = None,
    var: Variables = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Undo a run that was cut off; do not resume it."),
    ] = False,
    run_id: Annotated[
        str | None,
        typer.Option("--run-id", metavar="ID", help="Publish a load of this id once."),
    ] = None,
    report: Reports = None,
    lineage: Lineage = None,
    master: Master = None,
    conf: Conf = None,
    in_process: InProcess = False,
    form: Format = JsonFormat.TEXT,
    log_format: LogOption = LogFormat.TEXT,
) -> int:
    """Run specs, or plans (*.json) that `plan --out` saved.

    A run that was cut off is resumed when spec and source are the same, else undone and begun
    again. Nothing new is no error. With --format json each result is one line.
    """
    voice = OutputOptions(
        json_result=form is JsonFormat.JSON, json_log=log_format is LogFormat.JSON
    )
    order = RunOptions(
        master=master,
        conf=pairs(conf, "--conf"),
        in_process=in_process,
        voice=voice,
        reports=ReportFiles.of(report),
        lineage=lineage,
    )
    variables = pairs(var, "--var")
    saved = [path for path in specs or [] if path.suffix == _SAVED]
    if saved and (target or variables or fresh or run_id):
        raise usage_error("saved-plan", "a saved plan has its own target and variables")
    others = [path for path in specs or [] if path not in saved]
    files = [*saved, *(find_specs(others) if others or not saved else ())]
    order.reports.for_one_of(len(files))
    earlier = Earlier.FRESH if fresh else Earlier.AUTO

    def one(path: Path) -> int:
        if path in saved:
            return execute_saved_plan(path, order)
        request = Request(
            path=path, target=target, variables=variables, earlier=earlier, run_id=run_id
        )
        return execute_spec(request, order)

    return each_file(files, one, voice)
