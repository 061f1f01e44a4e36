"""`run-pipeline check`: the audit gate alone, against a table or a source."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from framework.cli import options
from framework.cli.places import each_file, in_process
from framework.cli.render.checks import write_checks
from framework.cli.render.console import clean, out, write
from framework.cli.render.errors import OutputOptions
from framework.cli.render.progress import reporting
from framework.cli.reports import ReportFiles
from framework.cli.spark_session import spark_session
from framework.engine.places import canonical
from framework.engine.prepare import PlanningContext, Request, load, prepare
from framework.engine.reporting.forms import render
from framework.errors import AuditFailedError
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.properties import read_properties
from framework.plan.target import target_of
from framework.spec.loader import find_specs
from framework.vocabulary import ReportForm

if TYPE_CHECKING:
    from framework.engine.events import Events
    from framework.engine.results import AuditReport

__all__ = ["command"]

_EXIT = AuditFailedError.exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """How specs are checked and reported."""

    source: bool
    fraction: float
    reports: ReportFiles
    master: str | None
    conf: Mapping[str, str]
    output: OutputOptions


def command(
    specs: options.Specs = None,
    source: Annotated[
        bool, typer.Option("--source", help="Check the input of a run, not the table.")
    ] = False,
    sample: Annotated[
        float,
        typer.Option(
            "--sample",
            min=0.000001,
            max=1.0,
            metavar="SHARE",
            help="Check a share of the rows, such as 0.01; keys are not checked then.",
        ),
    ] = 1.0,
    report: options.Reports = None,
    target: options.Target = None,
    var: options.Variables = None,
    master: options.Master = None,
    conf: options.Conf = None,
    form: options.Format = options.JsonFormat.TEXT,
    log_format: options.LogOption = options.LogFormat.TEXT,
) -> int:
    """Check the table of each spec, or its source if there is no table yet.

    Runs all checks and checks the keys; writes and publishes nothing. Exit 3 if a check fails. With
    --format json each report is one line.
    """
    output = OutputOptions(
        json_result=form is options.JsonFormat.JSON, json_log=log_format is options.LogFormat.JSON
    )
    look = _Look(
        source=source,
        fraction=sample,
        reports=ReportFiles.of(report),
        master=master,
        conf=options.pairs(conf, "--conf"),
        output=output,
    )
    paths = find_specs(specs or [])
    look.reports.for_one_of(len(paths))
    variables = options.pairs(var, "--var")

    def one(path: Path) -> int:
        return _check(Request(path=path, target=target, variables=variables), look)

    return each_file(paths, one, output)


def _check(request: Request, look: _Look) -> int:
    """Check one spec, print and save the report; return 0 if it passed, else 3."""
    form = options.LogFormat.JSON if look.output.json_log else options.LogFormat.TEXT
    with reporting(form, str(request.path)) as events:
        report = _report(request, look, events)
        look.reports.write(report, request.path, events)
    if look.output.json_result:
        sys.stdout.write(json.dumps(json.loads(render(report, ReportForm.JSON))) + "\n")
    else:
        _print(report)
    return 0 if report.passed else _EXIT


def _report(request: Request, look: _Look, events: Events) -> AuditReport:
    """Return the report of the audit gate."""
    spec = load(request)
    wanted = target_of(spec)
    from framework.spark.checking.standalone import check_source, check_table

    conf = {**(spec.spark.revealed_conf() if spec.spark else {}), **look.conf}
    exists = read_properties(open_storage(canonical(wanted.location))) is not None
    figures = bool(look.reports)
    with (
        tempfile.TemporaryDirectory() as scratch,
        spark_session(look.master or (spec.spark.master if spec.spark else None), conf) as spark,
    ):
        if exists and not look.source:
            return check_table(spark, wanted, figures=figures, fraction=look.fraction)
        planning = PlanningContext(tasks=in_process(), scratch=Path(scratch), events=events)
        prepared = prepare(request, planning)
        return check_source(spark, prepared, planning, figures=figures, fraction=look.fraction)


def _print(report: AuditReport) -> None:
    """Write the result, then each check."""
    console = out()
    name = clean(report.table)
    if report.passed:
        keys = report.keys
        columns = ", ".join(map(str, _listed(keys.get("columns"))))
        proof = f"; key ({columns}) unique and not null" if keys else ""
        what = f"the {report.subject} passes{proof}"
        write(console, Text.assemble((f"{name}: ", "bold"), (clean(what), "green")), hang=2)
    else:
        what = f"the {report.subject} fails: {report.refusal.get('message', '')}"
        write(console, Text.assemble((f"{name}: ", "bold"), (clean(what), "red")), hang=2)
    write_checks(console, report)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
