"""`run-pipeline history`: a table's instants with their audits."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.text import Text

from framework.cli.options import Format, JsonFormat, Place, Target, Variables, pairs
from framework.cli.places import locations_of
from framework.cli.render.columns import laid_in_columns
from framework.cli.render.console import clean, out, write
from framework.engine.history import history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.engine.history import Event

__all__ = ["command"]

_HEADER = ("instant", "action", "state", "operation", "files", "rows", "bytes")
_FIRST_NUMBER = 4


def command(
    place: Place = None,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """List a table's instants, oldest first, with what the audit proved for each.

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
        _write_rows(events)
    return 0


def _write_json(location: str, events: Sequence[Event]) -> None:
    document = {"location": location, "instants": [asdict(each) for each in events]}
    sys.stdout.write(json.dumps(document) + "\n")


def _write_rows(events: Sequence[Event]) -> None:
    """Write a header and one row an instant, each with what its audit proved."""
    if not events:
        write(out(), "no instants")
        return
    rows = [_HEADER, *(_cells(event) for event in events)]
    lines = laid_in_columns(rows, range(_FIRST_NUMBER, len(_HEADER)))
    for number, (line, proof) in enumerate(zip(lines, ["", *map(_audit, events)], strict=True)):
        write(out(), Text(line, style="" if number else "bold"))
        if proof:
            write(out(), Text(f"  audit  {proof}", style="dim"))


def _cells(event: Event) -> tuple[str, ...]:
    numbers = (f"{n:,}" if event.operation else "" for n in (event.files, event.rows, event.bytes))
    return (event.instant, event.action, event.state, event.operation, *numbers)


def _audit(event: Event) -> str:
    proof = event.audit
    if not proof:
        return "none: written by another writer" if event.operation and not event.write_id else ""
    columns = ", ".join(proof.get("columns", []))
    key = f"({columns})" if columns else "automatic key"
    return f"{key} unique in {proof.get('scope')}, not null; {proof.get('rows', 0):,} keys"
