"""`run-pipeline compact`: merge log files into base files, at once or by a plan made before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

import typer

from framework.cli.options import Conf, Format, JsonFormat, Master, Place, Target, Variables, pairs
from framework.cli.places import NamedTable, tables_of
from framework.cli.services import DryRun, Service, run_service, service_tasks
from framework.cli.usage import usage_error
from framework.engine.services.compaction import (
    Compacted,
    Scheduled,
    observe_compaction,
    observe_pending_compaction,
    run_compaction,
    run_pending_compaction,
    schedule_compaction,
)
from framework.engine.tasks import Tasks
from framework.plan.services.compaction import CompactionPlan, PendingCompaction
from framework.plan.words import count_text, size_text
from framework.spec.sections.quantities import parse_size

__all__ = ["command"]

_Plan: TypeAlias = "CompactionPlan | PendingCompaction"
_Done: TypeAlias = "Compacted | Scheduled"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """What the options order."""

    min_logs: int = 1
    log_bytes: int = 0
    partitions: tuple[str, ...] = field(default=())
    schedule: bool = False
    retry: bool = False


def command(
    place: Place = None,
    min_logs: Annotated[
        int, typer.Option("--min-logs", metavar="N", help="Only slices with N log files or more.")
    ] = 1,
    log_size: Annotated[
        str | None,
        typer.Option("--log-size", metavar="SIZE", help="Only slices with log files of that size."),
    ] = None,
    partition: Annotated[
        list[str] | None,
        typer.Option("--partition", metavar="PATH", help="Only this partition. Repeatable."),
    ] = None,
    schedule: Annotated[
        bool, typer.Option("--schedule", help="Only place the plan on the timeline.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Execute also what a dead writer has begun.")
    ] = False,
    dry_run: DryRun = False,
    master: Master = None,
    conf: Conf = None,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Merge the log files of merge-on-read tables into base files; rows keep their commit times.

    Executes the oldest pending compaction of a table, whether Lakestrap or Apache Hudi planned it;
    else plans one. Runs in this process unless --master or --conf is given. With --format json each
    table is one line.
    """
    if schedule and retry:
        raise usage_error("not-together", "--schedule executes nothing, so there is no --retry")
    order = _Order(
        min_logs=min_logs,
        log_bytes=_bytes_of(log_size),
        partitions=tuple(partition or ()),
        schedule=schedule,
        retry=retry,
    )
    tables = tables_of(place, target, pairs(var, "--var"))
    with service_tasks(master, pairs(conf, "--conf")) as tasks:
        service: Service[_Plan, _Done] = Service(
            observe=lambda table: _observe(table, order),
            run=lambda plan: _run(plan, order, tasks),
            plan_text=_plan_text,
            done_text=_done_text,
            as_json=_as_json,
        )
        return run_service(tables, service, dry_run=dry_run, form=form)


def _bytes_of(text: str | None) -> int:
    """Return the bytes of a size.

    Raises:
        SpecError: `usage/bad-value`.
    """
    try:
        return parse_size(int(text) if text and text.isdigit() else text or 0)
    except ValueError as error:
        raise usage_error("bad-value", f"--log-size {text!r}: {error}", "such as 256MB") from error


def _observe(table: NamedTable, order: _Order) -> _Plan:
    pending = None
    if not order.schedule:
        pending = observe_pending_compaction(table.location, retry=order.retry)
    return pending or observe_compaction(
        table.location,
        min_logs=order.min_logs,
        log_bytes=order.log_bytes,
        partitions=order.partitions,
    )


def _run(plan: _Plan, order: _Order, tasks: Callable[[], Tasks]) -> _Done | None:
    if isinstance(plan, PendingCompaction):
        return run_pending_compaction(plan, tasks())
    if order.schedule:
        return schedule_compaction(plan)
    return run_compaction(plan, tasks()) if plan.slices else None


def _plan_text(plan: _Plan) -> str:
    logs = count_text(plan.logs, "log file")
    slices = count_text(len(plan.slices), "slice")
    if isinstance(plan, PendingCompaction):
        text = f"pending compaction {plan.instant} of {plan.planner}: {slices}, {logs}, "
        more = f"; {plan.others:,} more pending" if plan.others else ""
        return f"{text}{size_text(plan.bytes)} to read{more}"
    if not plan.slices:
        return "no log files to compact"
    where = count_text(plan.partitions, "partition")
    return f"{slices} in {where}, {logs}, {size_text(plan.bytes)} to read"


def _done_text(done: _Done) -> str:
    if isinstance(done, Scheduled):
        return f"compaction {done.instant} scheduled; `run-pipeline compact` executes it"
    text = f"{count_text(done.files, 'base file')}, {count_text(done.rows, 'row')}"
    return f"compaction {done.instant} completed: {text}, {size_text(done.bytes)}"


def _as_json(plan: _Plan, done: _Done | None) -> dict[str, object]:
    slices = [
        {
            "partition": each.group.partition_path,
            "file_id": each.group.file_id,
            "base_instant": each.base_instant,
            "logs": len(each.logs),
        }
        for each in plan.slices
    ]
    completed = done if isinstance(done, Compacted) else None
    return {
        "pending": _pending_json(plan) if isinstance(plan, PendingCompaction) else None,
        "slices": slices,
        "bytes": plan.bytes,
        "scheduled": done.instant if isinstance(done, Scheduled) else None,
        "completed": completed.instant if completed else None,
        "files": completed.files if completed else 0,
        "rows": completed.rows if completed else 0,
    }


def _pending_json(plan: PendingCompaction) -> dict[str, object]:
    return {
        "instant": plan.instant,
        "planned_by": plan.planner,
        "inflight": plan.is_inflight,
        "skipped": plan.skipped,
        "others": plan.others,
    }
