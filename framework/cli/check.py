"""`run-pipeline check`: the gate alone, against a table or a source."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from framework.cli.lazily import attribute
from framework.cli.options import (
    Conf,
    Format,
    JsonFormat,
    LogFormat,
    LogOption,
    Master,
    Reports,
    Specs,
    Target,
    Variables,
    pairs,
)
from framework.cli.preparing import each_file, in_process
from framework.cli.render.checks import write_checks
from framework.cli.render.console import clean, out, write
from framework.cli.render.errors import Voice
from framework.cli.render.progress import reporting
from framework.cli.reports import ReportFiles
from framework.engine.places import canonical
from framework.engine.prepare import Bench, Request, load, prepare
from framework.engine.reporting.forms import render
from framework.errors import AuditFailedError
from framework.hudi.storage.opening import open_storage
from framework.hudi.table.properties import read_properties
from framework.plan.target import target_of
from framework.spec.loading import find_specs
from framework.vocabulary import ReportForm

if TYPE_CHECKING:
    from framework.engine.results import AuditReport

__all__ = ["command"]


def command(
    specs: Specs = None,
    source: Annotated[
        bool, typer.Option("--source", help="Check what a run would take in, not the table.")
    ] = False,
    sample: Annotated[
        float | None,
        typer.Option(
            "--sample",
            min=0.000001,
            max=1.0,
            metavar="SHARE",
            help="Look at a share of the rows, such as 0.01; keys are left out then.",
        ),
    ] = None,
    report: Reports = None,
    target: Target = None,
    var: Variables = None,
    master: Master = None,
    conf: Conf = None,
    form: Format = JsonFormat.TEXT,
    log_format: LogOption = LogFormat.TEXT,
) -> int:
    """Check the table of each spec, or its source where there is no table yet.

    All checks and the keys; nothing is written or published. Exit 3 where something fails.
    """
    raise NotImplementedError
