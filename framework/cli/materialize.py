"""`run-pipeline materialize`: make ordinary base files of skeletons."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from framework.cli.options import (
    Conf,
    Format,
    JsonFormat,
    LogFormat,
    LogOption,
    Master,
    Place,
    Target,
    Variables,
    pairs,
    size_of,
)
from framework.cli.places import NamedTable, tables_of
from framework.cli.render.progress import reporting
from framework.cli.services import DryRun, Partitions, Service, run_service, service_tasks
from framework.engine.services.materialize import (
    Materialized,
    observe_materialize,
    run_materialize,
)
from framework.engine.tasks import Tasks
from framework.plan.services.materialize import MaterializePlan
from framework.plan.words import count_text, size_text

__all__ = ["command"]


def command(
    place: Place = None,
    partition: Partitions = None,
    batch_bytes: Annotated[
        str,
        typer.Option("--batch-bytes", metavar="SIZE", help="Bytes that one instant reads."),
    ] = "1GB",
    dry_run: DryRun = False,
    master: Master = None,
    conf: Conf = None,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
    log_format: LogOption = LogFormat.TEXT,
) -> int:
    """Make ordinary base files of skeletons; rows keep their commit times.

    Once clean has removed the skeletons, nothing needs their source files: see safe-to-delete.
    Runs in this process unless --master or --conf is given.
    """
    most = size_of(batch_bytes, "--batch-bytes")
    tables = tables_of(place, target, pairs(var, "--var"))
    with service_tasks(master, pairs(conf, "--conf")) as tasks:
        service = Service(
            observe=partial(_observe, partitions=tuple(partition or ()), batch_bytes=most),
            run=partial(_run, log_format, tasks),
            plan_text=_plan_text,
            done_text=_done_text,
            as_json=_as_json,
        )
        return run_service(tables, service, dry_run=dry_run, form=form)


def _observe(
    table: NamedTable, *, partitions: tuple[str, ...], batch_bytes: int
) -> MaterializePlan:
    return observe_materialize(table.location, partitions=partitions, batch_bytes=batch_bytes)


def _run(
    log_format: LogFormat, tasks: Callable[[], Tasks], plan: MaterializePlan
) -> Materialized | None:
    if not plan.batches:
        return None
    with reporting(log_format, plan.location) as events:
        return run_materialize(plan, tasks(), events=events)


def _plan_text(plan: MaterializePlan) -> str:
    if not plan.batches:
        return "no skeletons"
    slices = count_text(len(plan.slices), "skeleton")
    where = count_text(plan.partitions, "partition")
    batches = count_text(len(plan.batches), "instant")
    return f"{slices} in {where}, {size_text(plan.bytes)} to read, {batches}"


def _done_text(done: Materialized) -> str:
    files, rows = count_text(done.files, "base file"), count_text(done.rows, "row")
    instants = ", ".join(each.instant for each in done.batches)
    return f"materialized {files}, {rows}, {size_text(done.bytes)}: {instants}"


def _as_json(plan: MaterializePlan, done: Materialized | None) -> dict[str, object]:
    slices = [
        {
            "batch": number,
            "partition": each.group.partition_path,
            "file_id": each.group.file_id,
            "source": each.bootstrap.uri if each.bootstrap else None,
        }
        for number, batch in enumerate(plan.batches, start=1)
        for each in batch
    ]
    return {
        "slices": slices,
        "bytes": plan.bytes,
        "completed": [] if done is None else [each.instant for each in done.batches],
        "files": 0 if done is None else done.files,
        "rows": 0 if done is None else done.rows,
    }
