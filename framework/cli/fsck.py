"""`run-pipeline fsck`: check a whole table, and repair what is safe to repair."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Final

import typer
from rich.text import Text

from framework.cli.exits import gravest
from framework.cli.options import Format, JsonFormat, Place, Target, Variables, pairs
from framework.cli.places import NamedTable, in_process, tables_of
from framework.cli.render.console import clean, err, out, write
from framework.cli.render.errors import OutputOptions, fail
from framework.engine.fsck.document import fsck_members
from framework.engine.fsck.findings import Repair, Severity, TableFinding
from framework.engine.fsck.repair import Outcome, repair_table
from framework.engine.fsck.table_check import TableReport, check_table
from framework.errors import FrameworkError
from framework.plan.words import count_text, size_text

__all__ = ["command"]

_SHOWN: Final = 5
_STYLES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow"}


def command(
    place: Place = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also read every file, and prove that keys are unique.")
    ] = False,
    repair: Annotated[
        list[Repair] | None,
        typer.Option("--repair", metavar="NAME", help="Repair, then check again. Repeatable."),
    ] = None,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Check a whole table. Exit 1 if there are findings; starts no Spark.

    Changes nothing without --repair, which takes orphans, leases, staging, markers, uploads or
    metadata-table. With --format json each table is one line.
    """
    tables = tables_of(place, target, pairs(var, "--var"))
    if len(tables) == 1:
        return _one(tables[0], repair or [], form, deep=deep)
    codes = []
    for table in tables:
        try:
            codes.append(_one(table, repair or [], form, deep=deep))
        except FrameworkError as error:
            write(err(), Text(clean(table.named), style="bold"))
            codes.append(fail(error, OutputOptions(json_result=form is JsonFormat.JSON)))
    return gravest(codes)


def _one(table: NamedTable, repairs: Sequence[Repair], form: JsonFormat, *, deep: bool) -> int:
    """Repair and check one table; return 1 if there are findings."""
    outcomes = repair_table(table.location, repairs) if repairs else ()
    if form is JsonFormat.TEXT:
        _write_outcomes(outcomes)
    report = check_table(table.location, in_process(), deep=deep)
    if form is JsonFormat.JSON:
        sys.stdout.write(json.dumps(fsck_members(report, outcomes)) + "\n")
    else:
        _write(report)
    return 1 if report.findings else 0


def _write_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Write one line for each file that a repair looked at."""
    for each in outcomes:
        why = f": {each.reason}" if each.reason else ""
        write(out(), clean(f"{each.repair.value}: {each.done} {each.file}{why}"))


def _write(report: TableReport) -> None:
    """Write a line with the result, one with what was checked, and the findings by kind."""
    console = out()
    errors = sum(each.severity is Severity.ERROR for each in report.findings)
    warnings = len(report.findings) - errors
    parts = [count_text(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
    result = Text(", ".join(parts), style="red") if parts else Text("clean", style="green")
    write(console, Text.assemble((f"{clean(report.location)}: ", "bold"), result), hang=2)
    write(console, Text(f"  checked {_checked(report)}", style="dim"), hang=2)
    for _, found in groupby(report.findings, key=lambda e: (e.severity, e.condition, e.message)):
        _write_kind(list(found))


def _checked(report: TableReport) -> str:
    done = report.checked
    parts = [
        count_text(done.instants, "instant"),
        count_text(done.partitions, "partition"),
        f"{count_text(done.files, 'file')} of {size_text(done.bytes)}",
    ]
    if report.deep:
        parts += [count_text(done.rows, "row"), count_text(done.keys, "key")]
        return ", ".join(parts)
    return ", ".join(parts) + "; --deep reads them"


def _write_kind(found: Sequence[TableFinding]) -> None:
    """Write findings with the same message: the problem, its places, what to do."""
    console, first = out(), found[0]
    label = (first.severity.value, _STYLES[first.severity])
    head = Text.assemble(label, (f" [{first.condition}]", "red"), f": {clean(first.message)}")
    write(console, head, hang=2)
    for each in found[:_SHOWN]:
        place = each.file or each.partition
        if place:
            at = f"  (instant {each.instant})" if each.instant else ""
            write(console, f"  {clean(place)}{at}", hang=4)
    if len(found) > _SHOWN:
        write(console, f"  and {len(found) - _SHOWN:,} more")
    write(console, Text.assemble(("  help: ", "cyan"), clean(first.remedy)), hang=8)
