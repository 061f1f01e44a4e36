"""`run-pipeline history`: a table's instants with their audits."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from rich.text import Text

from framework.cli.options import Format, JsonFormat, Place, Target, Variables, pairs
from framework.cli.places import locations_of
from framework.cli.render.console import clean, in_columns, out, write
from framework.engine.reading.load_history import Event, history
from framework.engine.reporting.summary import CheckSummary, summary_of
from framework.engine.reporting.words import tally_text
from framework.plan.words import count_text
from framework.vocabulary import Outcome

__all__ = ["command", "write_events"]

_HEADER = ("instant", "action", "state", "operation", "files", "rows", "bytes")
_FIRST_NUMBER = 4
_NAMED_AT_MOST = 5


def command(
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
