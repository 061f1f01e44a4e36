"""`run-pipeline status` and `history`: a table's state with the dangers to its rows, and its past.

The history has the table's instants with their audits.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.text import Text

from framework.cli.options import Format, JsonFormat, Place, Target, Variables, pairs
from framework.cli.places import locations_of, tables_of
from framework.cli.quarantine import sums
from framework.cli.render.console import clean, in_columns, out, write
from framework.engine.inspect.hudi_writer_options import OptionsForm, hudi_options, table_ddl
from framework.engine.inspect.status import DiskUse, Slices, TableStatus, table_status
from framework.engine.reading.load_history import Event, history
from framework.engine.reporting.summary import CheckSummary, summary_of
from framework.engine.reporting.words import tally_text
from framework.plan.words import count_text, size_text
from framework.vocabulary import Outcome

__all__ = ["command", "history_command", "write_events"]


def command(
    place: Place = None,
    target: Target = None,
    var: Variables = None,
    options: Annotated[
        OptionsForm | None,
        typer.Option("--hudi-options", help="Print the options for an Apache Hudi writer."),
    ] = None,
    ddl: Annotated[
        bool, typer.Option("--ddl", help="Print CREATE TABLE for Spark SQL with Apache Hudi.")
    ] = False,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Show a table's state. Exit 1 if rows may be lost or hidden; starts no Spark.

    A missing table is no danger: exit 0. With --format json each table is one line.
    """
    endangered = False
    for number, table in enumerate(tables_of(place, target, pairs(var, "--var"))):
        if options or ddl:
            _write_neighbour(table.location, options, ddl=ddl, form=form)
            continue
        status = table_status(table.location, table.quarantine)
        endangered = endangered or bool(status.dangers)
        if form is JsonFormat.JSON:
            sys.stdout.write(json.dumps(_as_json(status)) + "\n")
        else:
            _write(status, first=number == 0)
    return 1 if endangered else 0


def _write_neighbour(
    location: str, options: OptionsForm | None, *, ddl: bool, form: JsonFormat
) -> None:
    """Write what an Apache Hudi job needs: its options, the declaration of the table, or both."""
    found = {
        "hudi_options": hudi_options(location, options) if options else None,
        "ddl": table_ddl(location) if ddl else None,
    }
    texts = {name: text for name, text in found.items() if text is not None}
    if form is JsonFormat.JSON:
        sys.stdout.write(json.dumps({"location": location, **texts}) + "\n")
    else:
        sys.stdout.write("".join(texts.values()))


def _as_json(status: TableStatus) -> dict[str, Any]:
    document = {
        name: getattr(status, name) for name in ("location", "exists", "pending", "lease", "source")
    }
    return document | {
        "completed": list(status.completed),
        "properties": dict(status.properties.raw) if status.properties else None,
        "drift": asdict(status.drift) if status.drift else None,
        "slices": asdict(status.slices) if status.slices else None,
        "disk": asdict(status.disk) if status.disk else None,
        "dangers": [asdict(d) for d in status.dangers],
        "quarantined": {
            "data_sets": len(status.quarantined),
            "rows": sum(each.rows for each in status.quarantined),
            "bytes": sum(each.bytes for each in status.quarantined),
        },
    }


def _write(status: TableStatus, *, first: bool) -> None:
    console = out()
    if not first:
        console.print()
    for name, text in _rows(status):
        write(console, Text.assemble((f"{name:<11}", "dim"), clean(text)), hang=11)
    for danger in status.dangers:
        parts = ("danger", "bold red"), (f"[{danger.condition}]", "red")
        write(console, Text.assemble(*parts, f": {clean(danger.message)}"), hang=2)
        write(console, Text.assemble(("  help: ", "cyan"), clean(danger.remedy)), hang=8)
    if status.exists and not status.dangers:
        write(console, Text("no problems found", style="green"))


def _rows(status: TableStatus) -> list[tuple[str, str]]:
    properties = status.properties
    if properties is None:
        return [("location", status.location), ("table", "none"), *_live(status)]
    name = f"{properties.database}.{properties.name}" if properties.database else properties.name
    rows = [
        ("table", f"{name}  {properties.table_type.value}, version {properties.version}"),
        ("location", status.location),
    ]
    if status.completed:
        count = count_text(len(status.completed), "instant")
        text = f"{count}, the last {status.completed[-1]}"
        rows.append(("timeline", text))
    if status.slices:
        rows.append(("slices", _slices(status.slices)))
    if status.disk:
        rows.append(("on disk", _disk(status.disk)))
    if status.source:
        drift = "unchanged" if status.drift and not any(_drift(status)) else "see below"
        rows.append(("source", f"{status.source}  {drift if status.drift else 'not compared'}"))
    if status.quarantined:
        rows.append(
            ("quarantine", f"{sums(status.quarantined)} in {status.quarantined[-1].location}")
        )
    return rows + _live(status)


def _slices(found: Slices) -> str:
    kinds = [
        (found.skeletons, "skeletons"),
        (found.full, "full"),
        (found.log_only, "log only"),
        (found.with_logs, "with logs"),
    ]
    parts = ", ".join(f"{number:,} {word}" for number, word in kinds if number)
    where = count_text(found.partitions, "partition")
    return f"{parts or 'none'} in {where}; {size_text(found.bytes)}"


def _disk(found: DiskUse) -> str:
    """Return the size of the table, and of files that no latest slice uses."""
    parts = [
        count_text(found.base_files, "base file"),
        count_text(found.log_files, "log file") if found.log_files else "",
        f"{size_text(found.hoodie_bytes)} in .hoodie",
    ]
    old = f"; {size_text(found.old_bytes)} in older slices" if found.old_bytes else ""
    return f"{size_text(found.bytes)}: {', '.join(filter(None, parts))}{old}"


def _drift(status: TableStatus) -> tuple[int, ...]:
    drift = status.drift
    return (drift.new_files, drift.missing_files, drift.changed_files) if drift else ()


def _live(status: TableStatus) -> list[tuple[str, str]]:
    found = (("pending", status.pending), ("at work", status.lease))
    return [(name, text) for name, text in found if text]


_HEADER = ("instant", "action", "state", "operation", "files", "rows", "bytes")
_FIRST_NUMBER = 4
_NAMED_AT_MOST = 5


def history_command(
    place: Place = None,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """List a table's instants, oldest first, each with the result of its audit.

    With --format json each table is one line. Starts no Spark.
    """
    locations = locations_of(place, target, pairs(var, "--var"))
    for location in locations:
        events = history(location)
        if form is JsonFormat.JSON:
            _write_json(location, events)
            continue
        if len(locations) > 1:
            write(out(), Text(clean(location), style="bold"))
        write_events(events)
    return 0


def _write_json(location: str, events: Sequence[Event]) -> None:
    document = {"location": location, "instants": [asdict(each) for each in events]}
    sys.stdout.write(json.dumps(document) + "\n")


def write_events(events: Sequence[Event]) -> None:
    """Write a header and one row per instant, each with the results of its audit."""
    if not events:
        write(out(), "no instants")
        return
    rows = [_HEADER, *(_cells(event) for event in events)]
    lines = in_columns(rows, range(_FIRST_NUMBER, len(_HEADER)))
    details = [("", ""), *((_audit(event), _checks(event)) for event in events)]
    for number, (line, (proof, checks)) in enumerate(zip(lines, details, strict=True)):
        write(out(), Text(line, style="" if number else "bold"))
        if proof:
            write(out(), Text(f"  audit  {proof}", style="dim"), hang=9)
        if checks:
            write(out(), Text(f"  checks {checks}", style="dim"), hang=9)


def _cells(event: Event) -> tuple[str, ...]:
    numbers = (f"{n:,}" if event.operation else "" for n in (event.files, event.rows, event.bytes))
    return (event.instant, event.action, event.state, event.operation, *numbers)


def _audit(event: Event) -> str:
    proof = event.audit
    if not proof:
        return "none: written by another writer" if event.operation and not event.write_id else ""
    if "scope" not in proof:
        return ""
    columns = ", ".join(proof.get("columns", []))
    key = f"({columns})" if columns else "automatic key"
    took = f"; {proof['seconds']:,.1f} s" if "seconds" in proof else ""
    return f"{key} unique in {proof.get('scope')}, not null; {proof.get('rows', 0):,} keys{took}"


def _checks(event: Event) -> str:
    """Return the results of the checks and the counts of removed rows; "" if there are none."""
    found = summary_of(event.audit)
    parts = [tally_text(found.outcomes)] if found.outcomes else []
    bad = [each for each in found.checks if each.outcome is not Outcome.PASSED]
    if parts and bad:
        named = [_named(each) for each in bad[:_NAMED_AT_MOST]]
        hidden = len(bad) - len(named)
        parts[0] += f" ({', '.join([*named, *([f'and {hidden} more'] if hidden else [])])})"
    fate = found.fate
    taken = ((fate.quarantined, "quarantined"), (fate.dropped, "dropped")) if fate else ()
    out_of = [(rows, word) for rows, word in taken if rows]
    if out_of:
        first = f"{count_text(out_of[0][0], 'row')} {out_of[0][1]}"
        parts.append(", ".join([first, *(f"{rows:,} {word}" for rows, word in out_of[1:])]))
    return "; ".join(parts)


def _named(check: CheckSummary) -> str:
    """Return text such as `late_orders: 12 of 336,776 rows`."""
    return f"{clean(check.name)}: {check.failed:,} of {count_text(check.rows, 'row')}"
