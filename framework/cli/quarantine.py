"""`run-pipeline quarantine ls|show|drop`: list, show and remove quarantined rows."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from framework.cli.options import Format, JsonFormat, Place, Target, Variables, pairs
from framework.cli.places import table_of, tables_of
from framework.cli.render.console import clean, err, in_columns, out, write
from framework.cli.usage import usage_error
from framework.engine.quarantine.datasets import drop, waiting
from framework.engine.quarantine.rows import QuarantinedRow, rows_of
from framework.hudi.timeline.clock import SystemClock
from framework.plan.words import count_text, listing, number_text, size_text
from framework.spec.document.findings import nearest

if TYPE_CHECKING:
    from framework.cli.places import NamedTable
    from framework.engine.quarantine.quarantined_batch import QuarantinedBatch

__all__ = [
    "NOTHING",
    "InstantOption",
    "PlaceOrSpec",
    "chosen",
    "drop_command",
    "ls_command",
    "meant",
    "show_command",
    "sums",
]

NOTHING = "nothing quarantined"

PlaceOrSpec = Annotated[
    str, typer.Argument(metavar="SPEC|LOCATION", help="A spec, or the folder of a table.")
]
InstantOption = Annotated[
    str | None,
    typer.Option("--instant", metavar="T", help="Only rows that this instant's run quarantined."),
]


def chosen(table: NamedTable, instant: str | None) -> tuple[QuarantinedBatch, ...]:
    """Return the quarantined data sets of a table, or the one of an instant.

    Raises:
        SpecError: `usage/unknown-instant`.
    """
    found = waiting(table.location, table.quarantine)
    if instant is None:
        return found
    one = tuple(each for each in found if each.instant == instant)
    if not one:
        instants = [each.instant for each in found]
        message = f"the run of {instant} has no quarantined rows"
        raise usage_error("unknown-instant", message, meant(instant, instants))
    return one


def sums(found: Sequence[QuarantinedBatch]) -> str:
    """Return the number of data sets, rows and bytes as text."""
    rows, size = sum(each.rows for each in found), sum(each.bytes for each in found)
    count = count_text(len(found), "data set")
    return f"{count}, {count_text(rows, 'row')}, {size_text(size)}"


def meant(word: str, known: Iterable[str]) -> str:
    """Return a hint: the closest known word, or all known ones."""
    words = list(dict.fromkeys(known))
    close = nearest(word, words)
    return f"did you mean {close}?" if close else f"there is {', '.join(words) or NOTHING}"


_HEADER = ("instant", "quarantined", "rows", "bytes", "by rule")
_NUMBERS = (2, 3)


def ls_command(
    place: Place = None,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """List quarantined data sets that were not released or dropped, oldest first.

    With --format json each table is one line. Starts no Spark.
    """
    tables = tables_of(place, target, pairs(var, "--var"))
    for table in tables:
        found = chosen(table, None)
        if form is JsonFormat.JSON:
            _write_json(table.location, found)
            continue
        if len(tables) > 1:
            write(out(), Text(clean(table.location), style="bold"))
        _write_rows(found)
    return 0


def _write_json(location: str, found: Sequence[QuarantinedBatch]) -> None:
    document = {
        "location": location,
        "rows": sum(each.rows for each in found),
        "bytes": sum(each.bytes for each in found),
        "data_sets": [_as_json(each) for each in found],
    }
    sys.stdout.write(json.dumps(document) + "\n")


def _as_json(batch: QuarantinedBatch) -> dict[str, Any]:
    names = ("instant", "at", "run_id", "operation", "rows", "bytes", "location")
    by_rule = dict(batch.by_rule)
    return {**{n: getattr(batch, n) for n in names}, "by_rule": by_rule, "files": [*batch.files]}


def _write_rows(found: Sequence[QuarantinedBatch]) -> None:
    """Write a header, one row per data set, and sums."""
    if not found:
        write(out(), NOTHING)
        return
    rows = [_HEADER, *(_cells(each) for each in found)]
    lines = list(in_columns(rows, _NUMBERS))
    for number, line in enumerate(lines):
        write(out(), Text(clean(line), style="" if number else "bold"), hang=len(rows[1][0]) + 2)
    places = tuple(dict.fromkeys(each.location for each in found))
    write(out(), Text(f"{sums(found)} in {clean(listing(places))}", style="dim"), hang=2)


def _cells(batch: QuarantinedBatch) -> tuple[str, ...]:
    rules = ", ".join(f"{name} {number_text(count)}" for name, count in batch.by_rule.items())
    return (batch.instant, batch.at, number_text(batch.rows), size_text(batch.bytes), rules)


def show_command(
    table: PlaceOrSpec,
    instant: InstantOption = None,
    rule: Annotated[
        str | None,
        typer.Option("--rule", metavar="NAME", help="Only rows that failed this check."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of rows.")] = 20,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Show quarantined rows, each with its failed checks and its place in the source.

    Columns of `quality.redact` are hidden. With --format json each row is one line. Starts no
    Spark.
    """
    named = table_of(table, target, pairs(var, "--var"))
    found = chosen(named, instant)
    if rule is not None:
        _check_rule(rule, found)
    rows = rows_of(found, rule=rule, redacted=named.redacted)
    shown = islice(rows, limit)
    if form is JsonFormat.JSON:
        sys.stdout.writelines(f"{json.dumps(asdict(row))}\n" for row in shown)
    else:
        _write_quarantined(shown, found)
    if next(rows, None) is not None:
        write(err(), f"there are more than {limit:,} rows; raise --limit to show them")
    return 0


def _check_rule(rule: str, found: Sequence[QuarantinedBatch]) -> None:
    """Refuse a rule that quarantined no row.

    Raises:
        SpecError: `usage/unknown-rule`.
    """
    rules = [name for each in found for name in each.by_rule]
    if rule not in rules:
        raise usage_error("unknown-rule", f"no row was quarantined by {rule}", meant(rule, rules))


def _write_quarantined(rows: Iterable[QuarantinedRow], found: Sequence[QuarantinedBatch]) -> None:
    """Write two lines per row, below a line for each data set."""
    if not found:
        write(out(), NOTHING)
    heads = {each.instant: f"{each.instant}  {each.at}" for each in found}
    for row in rows:
        head = heads.pop(row.instant, None)
        if head:
            write(out(), Text(clean(head), style="bold"))
        rules, place = ", ".join(row.rules), f"  {row.file} row {row.row}"
        write(out(), Text.assemble("  ", (clean(rules), "yellow"), clean(place)), hang=4)
        values = "  ".join(f"{name}={_text(value)}" for name, value in row.values.items())
        write(out(), Text(f"    {clean(values)}"), hang=6)


def _text(value: object) -> str:
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_YES = ("y", "yes")


def drop_command(
    table: PlaceOrSpec,
    instant: InstantOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="All quarantined rows of the table.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Delete quarantined rows permanently.

    Asks for confirmation unless --yes is given. Does not wait for a run: exits with 4 while one is
    writing to the table.
    """
    if (instant is None) is not every:
        raise usage_error(
            "one-or-all", "choose the rows to drop", "give either --instant T or --all"
        )
    named = table_of(table, target, pairs(var, "--var"))
    found = chosen(named, instant)
    if found and not yes and not _agreed(found):
        write(out(), "nothing dropped")
        return 0
    _print(named.location, drop(named.location, found, SystemClock()), form)
    return 0


def _agreed(found: Sequence[QuarantinedBatch]) -> bool:
    """Ask for confirmation on the terminal.

    Raises:
        SpecError: `usage/not-confirmed`; stdin is not a terminal.
    """
    if not sys.stdin.isatty():
        message = f"{sums(found)} would be dropped, but there is no terminal for confirmation"
        raise usage_error("not-confirmed", message, "give --yes")
    sys.stderr.write(f"Permanently drop {sums(found)}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in _YES


def _print(location: str, dropped: Sequence[QuarantinedBatch], form: JsonFormat) -> None:
    """Report the dropped data sets."""
    if form is JsonFormat.TEXT:
        write(out(), f"dropped {sums(dropped)}" if dropped else NOTHING)
        return
    document = {
        "location": location,
        "rows": sum(each.rows for each in dropped),
        "dropped": [{"instant": each.instant, "rows": each.rows} for each in dropped],
    }
    sys.stdout.write(json.dumps(document) + "\n")
