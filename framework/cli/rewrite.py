"""`run-pipeline cluster` and `materialize`: rows stay as they are, in other base files.

Cluster merges small files, or sorts rows; materialize makes ordinary base files of skeletons.
"""

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
from framework.cli.usage import usage_error
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.materialize import Materialized, observe_materialize, run_materialize
from framework.engine.services.rewriting import Rewritten
from framework.engine.tasks import Tasks
from framework.plan.services.clustering import ClusteringPlan, ClusterRequest
from framework.plan.services.materialize import MaterializePlan
from framework.plan.words import count_text, size_text
from framework.vocabulary import RowOrder

__all__ = ["cluster_command", "materialize_command"]


def cluster_command(
    place: Place = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="COL,COL", help="Sort the rows by these columns."),
    ] = None,
    z_order: Annotated[
        bool, typer.Option("--z-order", help="Sort along a Z-order curve over the columns of --by.")
    ] = False,
    target_size: Annotated[
        str, typer.Option("--target-size", metavar="SIZE", help="Size of a new file.")
    ] = "120MB",
    small_size: Annotated[
        str | None,
        typer.Option(
            "--small-size",
            metavar="SIZE",
            help="Without --by, only smaller files are merged; default: a quarter of the target.",
        ),
    ] = None,
    partition: Partitions = None,
    dry_run: DryRun = False,
    master: Master = None,
    conf: Conf = None,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Merge small files, or sort the rows of each partition; rows keep their commit times.

    Runs in this process unless --master or --conf is given. With --format json each table is one
    line.
    """
    wanted = size_of(target_size, "--target-size")
    request = ClusterRequest(
        by=_columns(by, z_order=z_order),
        order=RowOrder.Z_ORDER if z_order else RowOrder.LINEAR,
        target_bytes=wanted,
        small_bytes=wanted // 4 if small_size is None else size_of(small_size, "--small-size"),
    )
    tables = tables_of(place, target, pairs(var, "--var"))
    with service_tasks(master, pairs(conf, "--conf")) as tasks:
        service = Service(
            observe=partial(_clustering_of, request=request, partitions=tuple(partition or ())),
            run=lambda plan: run_clustering(plan, tasks()) if plan.groups else None,
            plan_text=_clustering_text,
            done_text=_clustered_text,
            as_json=_clustering_json,
        )
        return run_service(tables, service, dry_run=dry_run, form=form)


def _columns(by: str | None, *, z_order: bool) -> tuple[str, ...]:
    """Return the columns to sort by.

    Raises:
        SpecError: `usage/bad-value`.
    """
    names = tuple(each.strip() for each in (by or "").split(",")) if by is not None else ()
    if not all(names) or len(set(names)) < len(names):
        raise usage_error("bad-value", f"--by {by!r} is no list of columns", "--by city,street")
    if z_order and not names:
        raise usage_error("bad-value", "--z-order needs --by", "--by city,street --z-order")
    return names


def _clustering_of(
    table: NamedTable, *, request: ClusterRequest, partitions: tuple[str, ...]
) -> ClusteringPlan:
    return observe_clustering(table.location, request, partitions=partitions)


def _clustering_text(plan: ClusteringPlan) -> str:
    if not plan.groups:
        return "nothing to cluster"
    slices = count_text(len(plan.slices), "file group")
    where = count_text(plan.partitions, "partition")
    order = f", sorted by {', '.join(plan.request.by)} ({plan.request.order})"
    to = f"{plan.outputs:,}{order if plan.request.by else ''}"
    return f"{slices} in {where} to {to}, {size_text(plan.bytes)} to read"


def _clustered_text(done: Rewritten) -> str:
    text = f"{count_text(done.files, 'base file')}, {count_text(done.rows, 'row')}"
    return f"clustering {done.instant} completed: {text}, {size_text(done.bytes)}"


def _clustering_json(plan: ClusteringPlan, done: Rewritten | None) -> dict[str, object]:
    groups = [
        {
            "partition": each.slices[0].group.partition_path,
            "file_ids": [found.group.file_id for found in each.slices],
            "outputs": each.outputs,
        }
        for each in plan.groups
    ]
    return {
        "groups": groups,
        "by": list(plan.request.by),
        "order": plan.request.order.value,
        "bytes": plan.bytes,
        "completed": None if done is None else done.instant,
        "files": 0 if done is None else done.files,
        "rows": 0 if done is None else done.rows,
    }


def materialize_command(
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
            observe=partial(_batches_of, partitions=tuple(partition or ()), batch_bytes=most),
            run=partial(_materialized, log_format, tasks),
            plan_text=_batches_text,
            done_text=_materialized_text,
            as_json=_batches_json,
        )
        return run_service(tables, service, dry_run=dry_run, form=form)


def _batches_of(
    table: NamedTable, *, partitions: tuple[str, ...], batch_bytes: int
) -> MaterializePlan:
    return observe_materialize(table.location, partitions=partitions, batch_bytes=batch_bytes)


def _materialized(
    log_format: LogFormat, tasks: Callable[[], Tasks], plan: MaterializePlan
) -> Materialized | None:
    if not plan.batches:
        return None
    with reporting(log_format, plan.location) as events:
        return run_materialize(plan, tasks(), events=events)


def _batches_text(plan: MaterializePlan) -> str:
    if not plan.batches:
        return "no skeletons"
    slices = count_text(len(plan.slices), "skeleton")
    where = count_text(plan.partitions, "partition")
    batches = count_text(len(plan.batches), "instant")
    return f"{slices} in {where}, {size_text(plan.bytes)} to read, {batches}"


def _materialized_text(done: Materialized) -> str:
    files, rows = count_text(done.files, "base file"), count_text(done.rows, "row")
    instants = ", ".join(each.instant for each in done.batches)
    return f"materialized {files}, {rows}, {size_text(done.bytes)}: {instants}"


def _batches_json(plan: MaterializePlan, done: Materialized | None) -> dict[str, object]:
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
