"""`run-pipeline drop`: remove a table for good."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from framework.cli.options import Format, JsonFormat, Target, Variables, pairs
from framework.cli.places import NamedTable, table_of
from framework.cli.quarantine import PlaceOrSpec, sums
from framework.cli.render.console import clean, out, write
from framework.cli.services import DryRun
from framework.cli.undo import Yes, agreed
from framework.engine.quarantine.datasets import waiting
from framework.engine.services.drop import Dropping, observe_drop, run_drop
from framework.errors import CorruptFileError
from framework.plan.services.drop import DropPlan, check_drop
from framework.plan.words import count_text, listing, size_text

if TYPE_CHECKING:
    from framework.engine.quarantine.quarantined_batch import QuarantinedBatch

__all__ = ["command"]


def command(
    table: PlaceOrSpec,
    savepoints: Annotated[
        bool, typer.Option("--savepoints", help="Also if savepoints hold instants of the table.")
    ] = False,
    quarantine: Annotated[
        bool, typer.Option("--quarantine", help="Also remove the table's quarantined rows.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Remove a table for good: its data files and its timeline; never its source.

    Asks first, unless --yes is given. Files in its folder that are not the table's stay, and are
    listed. An interrupted drop is finished by the same command.
    """
    named = table_of(table, target, pairs(var, "--var"))
    plan = observe_drop(named.location)
    quarantined = _quarantined(named, strict=quarantine)
    check_drop(plan, savepoints=savepoints)
    if form is JsonFormat.TEXT:
        _write_plan(plan, quarantined, removes=quarantine)
    if not dry_run and not yes and not agreed("drop", "Remove this table for good?"):
        write(out(), "nothing changed")
        return 0
    if not dry_run:
        going = quarantined if quarantine else ()
        run_drop(plan, Dropping(savepoints=savepoints, quarantined=going))
    if form is JsonFormat.JSON:
        document = {
            **asdict(plan),
            "quarantined": [each.location for each in quarantined],
            "removes_quarantined": quarantine,
            "dropped": not dry_run,
        }
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        write(out(), "Nothing has been changed." if dry_run else f"dropped {clean(plan.location)}")
    return 0


def _quarantined(table: NamedTable, *, strict: bool) -> tuple[QuarantinedBatch, ...]:
    """Return the quarantined data sets; those of a damaged table only if they are to go.

    Raises:
        CorruptFileError: they cannot be found, and `strict`.
    """
    if strict:
        return waiting(table.location, table.quarantine)
    with suppress(CorruptFileError):
        return waiting(table.location, table.quarantine)
    return ()


def _write_plan(plan: DropPlan, quarantined: Sequence[QuarantinedBatch], *, removes: bool) -> None:
    """Write what goes and what stays, one line each."""
    name = f"table {plan.name}, " if plan.name else "half-dropped table, "
    parts = [
        count_text(plan.instants, "instant"),
        f"{count_text(plan.files, 'file')} in {count_text(plan.partitions, 'partition')}",
        size_text(plan.bytes),
    ]
    write(out(), f"{clean(plan.location)}: {clean(name)}{', '.join(parts)}")
    if plan.savepoints:
        write(out(), f"  removes  {count_text(len(plan.savepoints), 'savepoint')}")
    if quarantined:
        places = listing(tuple(dict.fromkeys(each.location for each in quarantined)))
        word = "removes" if removes else "keeps  "
        write(out(), f"  {word}  quarantined rows: {sums(quarantined)} in {clean(places)}")
    for each in plan.sources:
        write(out(), f"  keeps    the source {clean(each)}")
    if plan.unknown:
        paths = listing(plan.unknown, limit=10)
        write(out(), f"  keeps    what is not the table's: {clean(paths)}")
