"""`run-pipeline quarantine show`: rows that were quarantined, and why."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from framework.cli.options import Format, JsonFormat, Target, Variables, pairs
from framework.cli.places import table_of
from framework.cli.quarantine.selection import (
    NOTHING,
    InstantOption,
    PlaceOrSpec,
    chosen,
    meant,
)
from framework.cli.render.console import clean, err, out, write
from framework.cli.usage import usage_error
from framework.engine.quarantine.rows import QuarantinedRow, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from framework.engine.quarantine.quarantined_batch import QuarantinedBatch

__all__ = ["command"]


def command(
    table: PlaceOrSpec,
    instant: InstantOption = None,
    rule: Annotated[
        str | None,
        typer.Option("--rule", metavar="NAME", help="Only rows that failed this check."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most so many rows.")] = 20,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Show rows that were quarantined, each with the checks it failed and where it came from.

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
        _write_rows(shown, found)
    if next(rows, None) is not None:
        write(err(), f"there are more than {limit:,} rows; --limit shows others")
    return 0


def _check_rule(rule: str, found: Sequence[QuarantinedBatch]) -> None:
    """Refuse a rule that took out no row.

    Raises:
        SpecError: `usage/unknown-rule`.
    """
    rules = [name for each in found for name in each.by_rule]
    if rule not in rules:
        raise usage_error("unknown-rule", f"no row was quarantined by {rule}", meant(rule, rules))


def _write_rows(rows: Iterable[QuarantinedRow], found: Sequence[QuarantinedBatch]) -> None:
    """Write two lines a row, below a line for each data set."""
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
    """Return a value for people."""
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
