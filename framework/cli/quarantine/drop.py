"""`run-pipeline quarantine drop`: remove quarantined rows, for good."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from framework.cli.options import Format, JsonFormat, Target, Variables, pairs
from framework.cli.places import table_of
from framework.cli.quarantine.selection import (
    NOTHING,
    InstantOption,
    PlaceOrSpec,
    chosen,
    sums,
)
from framework.cli.render.console import out, write
from framework.cli.usage import usage_error
from framework.engine.quarantine.datasets import drop
from framework.hudi.timeline.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.engine.quarantine.quarantined_batch import QuarantinedBatch

__all__ = ["command"]

_YES = ("y", "yes")


def command(
    table: PlaceOrSpec,
    instant: InstantOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="Everything that was quarantined of the table.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Remove rows that were quarantined; nothing brings them back.

    It asks first, unless --yes is given, and waits for no run: while one is at work on the table
    it exits with 4.
    """
    if (instant is None) is not every:
        raise usage_error(
            "one-or-all", "say what is to be dropped", "give either --instant T or --all"
        )
    named = table_of(table, target, pairs(var, "--var"))
    found = chosen(named, instant)
    if found and not yes and not _agreed(found):
        write(out(), "nothing dropped")
        return 0
    _print(named.location, drop(named.location, found, SystemClock()), form)
    return 0


def _agreed(found: Sequence[QuarantinedBatch]) -> bool:
    """Ask on the terminal.

    Raises:
        SpecError: `usage/not-confirmed`; there is nobody to ask.
    """
    if not sys.stdin.isatty():
        message = f"{sums(found)} would be dropped, and there is no terminal to ask on"
        raise usage_error("not-confirmed", message, "give --yes")
    sys.stderr.write(f"Drop {sums(found)} for good? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in _YES


def _print(location: str, dropped: Sequence[QuarantinedBatch], form: JsonFormat) -> None:
    """Say what is gone."""
    if form is JsonFormat.TEXT:
        write(out(), f"dropped {sums(dropped)}" if dropped else NOTHING)
        return
    document = {
        "location": location,
        "rows": sum(each.rows for each in dropped),
        "dropped": [{"instant": each.instant, "rows": each.rows} for each in dropped],
    }
    sys.stdout.write(json.dumps(document) + "\n")
