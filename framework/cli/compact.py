"""`run-pipeline compact`: merge log files into base files."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from framework.cli.options import Format, JsonFormat, Place, Target, Variables, pairs
from framework.cli.places import in_process, locations_of
from framework.cli.render.console import clean, out, write
from framework.cli.undo import DryRun
from framework.engine.services.compaction import Compacted, observe_compaction, run_compaction
from framework.plan.services.compaction import CompactionPlan
from framework.plan.words import count_text, number_text, size_text

__all__ = ["command"]


def command(
    place: Place = None,
    min_logs: Annotated[
        int, typer.Option("--min-logs", metavar="N", help="Only slices with N log files or more.")
    ] = 1,
    dry_run: DryRun = False,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Merge the log files of merge-on-read tables into base files; rows keep their commit times.

    Runs in this process and starts no Spark. With --format json each table is one line.
    """
    for location in locations_of(place, target, pairs(var, "--var")):
        plan = observe_compaction(location, min_logs=min_logs)
        if form is JsonFormat.TEXT:
            write(out(), _plan_text(plan))
        done = None if dry_run else run_compaction(plan, in_process())
        if form is JsonFormat.JSON:
            sys.stdout.write(json.dumps(_as_json(plan, done)) + "\n")
        elif done is not None:
            text = f"{count_text(done.files, 'base file')}, {count_text(done.rows, 'row')}"
            write(out(), f"compaction {done.instant} completed: {text}, {size_text(done.bytes)}")
        elif dry_run:
            write(out(), "Nothing has been changed.")
    return 0


def _plan_text(plan: CompactionPlan) -> str:
    """Return the plan in one line."""
    if not plan.slices:
        return f"{clean(plan.location)}: no log files to compact"
    slices = count_text(len(plan.slices), "slice")
    logs = count_text(plan.logs, "log file")
    where = f"{number_text(plan.partitions)} partitions"
    return f"{clean(plan.location)}: {slices} in {where}, {logs}, {size_text(plan.bytes)} to read"


def _as_json(plan: CompactionPlan, done: Compacted | None) -> dict[str, object]:
    slices = [
        {
            "partition": each.group.partition_path,
            "file_id": each.group.file_id,
            "base_instant": each.base_instant,
            "logs": len(each.logs),
        }
        for each in plan.slices
    ]
    return {
        "location": plan.location,
        "slices": slices,
        "bytes": plan.bytes,
        "completed": None if done is None else done.instant,
        "files": 0 if done is None else done.files,
        "rows": 0 if done is None else done.rows,
    }
