"""`run-pipeline resume`: continue a run that was cut off, or say that there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from framework.cli.execution import RunOptions, execute_spec
from framework.cli.options import (
    Conf,
    Format,
    InProcess,
    JsonFormat,
    LogFormat,
    LogOption,
    Master,
    Target,
    Variables,
    pairs,
)
from framework.cli.render.errors import OutputOptions
from framework.engine.prepare import Request
from framework.plan.build import Earlier

__all__ = ["command"]


def command(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec whose run was cut off.")],
    target: Target = None,
    var: Variables = None,
    master: Master = None,
    conf: Conf = None,
    in_process: InProcess = False,
    form: Format = JsonFormat.TEXT,
    log_format: LogOption = LogFormat.TEXT,
) -> int:
    """Go on with a run that was cut off; exit 1 where there is nothing to resume."""
    voice = OutputOptions(
        json_result=form is JsonFormat.JSON, json_log=log_format is LogFormat.JSON
    )
    order = RunOptions(
        master=master, conf=pairs(conf, "--conf"), in_process=in_process, voice=voice
    )
    request = Request(
        path=spec, target=target, variables=pairs(var, "--var"), earlier=Earlier.RESUME
    )
    return execute_spec(request, order)
