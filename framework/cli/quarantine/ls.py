"""`run-pipeline quarantine ls`: what runs quarantined."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from rich.text import Text

from framework.cli.options import Format, JsonFormat, Place, Target, Variables, pairs
from framework.cli.places import tables_of
from framework.cli.quarantine.selection import NOTHING, chosen, sums
from framework.cli.render.console import clean, out, write
from framework.cli.render.rows import in_columns
from framework.plan.words import listing, number_text, size_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.engine.quarantine.quarantined_batch import QuarantinedBatch

__all__ = ["command"]

_HEADER = ("instant", "quarantined", "rows", "bytes", "by rule")
_NUMBERS = (2, 3)


def command(
    place: Place = None,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """List what runs quarantined and nobody released or dropped, oldest first.

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
    """Write a header, one row a data set, and sums."""
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
