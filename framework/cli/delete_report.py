"""`run-pipeline delete-report`: which files still hold given records."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from framework.cli.options import Format, JsonFormat, Target, Variables, pairs
from framework.cli.places import in_process, table_of
from framework.cli.quarantine import PlaceOrSpec
from framework.cli.render.console import clean, err, out, write
from framework.engine.reading.table import open_table
from framework.engine.services.key_holders import DeleteReport, HoldingSlice, delete_report
from framework.plan.words import count_text, listing

__all__ = ["command"]


def command(
    table: PlaceOrSpec,
    keys: Annotated[
        list[str],
        typer.Argument(metavar="KEY...", help="Record keys, as `_hoodie_record_key` has them."),
    ],
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Report each slice and source file that holds one of these record keys; change nothing.

    Also old slices that clean has not removed, replaced ones, and those that a savepoint holds.
    """
    location = table_of(table, target, pairs(var, "--var")).location
    found = delete_report(open_table(location), keys, in_process())
    if form is JsonFormat.JSON:
        sys.stdout.write(json.dumps({"location": location, **asdict(found)}) + "\n")
        return 0
    for each in found.slices:
        for line in _lines(each):
            write(out(), clean(line))
    for path in (*found.torn, *found.unsearched):
        write(out(), clean(f"{path}: not searched, may hold any key"))
    write(err(), _summary(found))
    return 0


def _lines(found: HoldingSlice) -> Iterator[str]:
    """Yield the lines of one slice: the slice, then each of its files."""
    keys = listing(found.keys)
    where = f"{found.partition_path}/{found.file_id}".lstrip("/")
    saved = f", savepoint {', '.join(found.savepoints)}" if found.savepoints else ""
    yield f"{where} at {found.base_instant} ({found.state}{saved}): {keys}"
    if found.base_file is not None:
        yield f"    {found.base_file}"
    for name in found.log_files:
        yield f"    {name}"
    if found.source is not None:
        yield f"    source {found.source}"


def _summary(found: DeleteReport) -> str:
    slices = count_text(len(found.slices), "slice")
    sources = count_text(sum(each.source is not None for each in found.slices), "source file")
    return f"{slices} and {sources} hold a key; {count_text(found.searched, 'file')} searched"
