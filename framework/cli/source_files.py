"""Commands about a table's source: what may be deleted, what holds records, where it is now.

`run-pipeline safe-to-delete` lists source files that nothing in a table needs any more;
`delete-report` lists the files that still hold given records, in the source and in the table;
`relocate` names another location of the source.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from framework.cli.options import Format, JsonFormat, Target, Variables, pairs
from framework.cli.places import in_process, table_of
from framework.cli.quarantine import PlaceOrSpec
from framework.cli.render.console import clean, err, out, write
from framework.cli.services import DryRun, Service, run_service
from framework.engine.reading.table import open_table
from framework.engine.services.key_holders import DeleteReport, HoldingSlice, delete_report
from framework.engine.services.relocation import observe_relocation, run_relocation
from framework.engine.services.source_use import observe_sources
from framework.plan.services.relocation import RelocationPlan
from framework.plan.services.source_use import SourceState
from framework.plan.words import count_text, listing, number_text, size_text

__all__ = ["delete_report_command", "relocate_command", "safe_to_delete_command"]

_WHY = {
    SourceState.LATEST: "needed by the table's rows",
    SourceState.OLDER: "needed by slices that clean has not removed",
    SourceState.SAVEPOINT: "held by a savepoint",
    SourceState.UNKNOWN: "without a skeleton, for an unknown reason",
}


def safe_to_delete_command(
    table: PlaceOrSpec,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """List the source files whose skeletons clean has removed, one a line; delete nothing.

    A file is listed only if no slice needs it, not even an old one, and no savepoint holds it.
    """
    location = table_of(table, target, pairs(var, "--var")).location
    counts: Counter[SourceState] = Counter()
    safe = []
    for each in observe_sources(open_table(location)):
        counts[each.state] += 1
        if each.state is SourceState.SAFE:
            safe.append(each)
    size = sum(each.size for each in safe)
    if form is JsonFormat.JSON:
        document = {
            "location": location,
            "safe_to_delete": [
                {
                    "uri": each.uri,
                    "bytes": each.size,
                    "partition": each.partition_path,
                    "file_id": each.file_id,
                }
                for each in safe
            ],
            "bytes": size,
            "kept": {state.value: counts[state] for state in _WHY},
        }
        sys.stdout.write(json.dumps(document) + "\n")
        return 0
    for each in safe:
        write(out(), clean(each.uri))
    write(err(), f"{count_text(len(safe), 'source file')} safe to delete, {size_text(size)}")
    for state, why in _WHY.items():
        if counts[state]:
            write(err(), f"{number_text(counts[state])} {why}")
    return 0


def delete_report_command(
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


def relocate_command(
    table: PlaceOrSpec,
    to: Annotated[
        str, typer.Option("--to", metavar="PATH", help="Where the source's folder is now.")
    ],
    dry_run: DryRun = False,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Name another location of a table's source, once its files there are proven to be the same.

    Moves no file. Starts no Spark.
    """
    place = to if ":/" in to else str(Path(to).resolve())
    service = Service(
        observe=lambda table: observe_relocation(table.location, place, in_process()),
        run=lambda plan: None if plan.is_done else run_relocation(plan, in_process()),
        plan_text=_relocation_text,
        done_text=lambda done: f"the source of the table is {done.new}",
        as_json=_relocation_json,
    )
    tables = (table_of(table, target, pairs(var, "--var")),)
    return run_service(tables, service, dry_run=dry_run, form=form)


def _relocation_text(plan: RelocationPlan) -> str:
    if plan.is_done:
        return f"the source is {plan.new} already"
    files = count_text(plan.files, "source file")
    return f"{files}, {size_text(plan.bytes)}, the same at {plan.new} as at {plan.old}"


def _relocation_json(plan: RelocationPlan, done: RelocationPlan | None) -> dict[str, object]:
    return {
        "from": plan.old,
        "to": plan.new,
        "files": plan.files,
        "bytes": plan.bytes,
        "is_done": plan.is_done,
        "completed": done is not None,
    }
