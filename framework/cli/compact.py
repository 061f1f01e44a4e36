"""`run-pipeline compact`: merge log files into base files."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from framework.cli.options import Format, JsonFormat, Place, Target, Variables, pairs
from framework.cli.places import NamedTable, in_process, tables_of
from framework.cli.services import DryRun, Service, run_service
from framework.engine.services.compaction import Compacted, observe_compaction, run_compaction
from framework.plan.services.compaction import CompactionPlan
from framework.plan.words import count_text, size_text

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
    service = Service(
        observe=partial(_observe, min_logs=min_logs),
        run=lambda plan: run_compaction(plan, in_process()),
        plan_text=_plan_text,
        done_text=_done_text,
        as_json=_as_json,
    )
    tables = tables_of(place, target, pairs(var, "--var"))
    return run_service(tables, service, dry_run=dry_run, form=form)


def _observe(table: NamedTable, *, min_logs: int) -> CompactionPlan:
    return observe_compaction(table.location, min_logs=min_logs)


def _plan_text(plan: CompactionPlan) -> str:
    if not plan.slices:
        return "no log files to compact"
    slices = count_text(len(plan.slices), "slice")
    logs = count_text(plan.logs, "log file")
    where = count_text(plan.partitions, "partition")
    return f"{slices} in {where}, {logs}, {size_text(plan.bytes)} to read"


def _done_text(done: Compacted) -> str:
    text = f"{count_text(done.files, 'base file')}, {count_text(done.rows, 'row')}"
    return f"compaction {done.instant} completed: {text}, {size_text(done.bytes)}"


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
        "slices": slices,
        "bytes": plan.bytes,
        "completed": None if done is None else done.instant,
        "files": 0 if done is None else done.files,
        "rows": 0 if done is None else done.rows,
    }
