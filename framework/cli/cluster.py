"""`run-pipeline cluster`: merge small files, or sort rows."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from framework.cli.options import (
    Conf,
    Format,
    JsonFormat,
    Master,
    Place,
    Target,
    Variables,
    pairs,
    size_of,
)
from framework.cli.places import NamedTable, tables_of
from framework.cli.services import DryRun, Partitions, Service, run_service, service_tasks
from framework.cli.usage import usage_error
from framework.engine.services.clustering import observe_clustering, run_clustering
from framework.engine.services.rewriting import Rewritten
from framework.plan.services.clustering import ClusteringPlan, ClusterRequest
from framework.plan.words import count_text, size_text
from framework.vocabulary import RowOrder

__all__ = ["command"]


def command(
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
            observe=partial(_observe, request=request, partitions=tuple(partition or ())),
            run=lambda plan: run_clustering(plan, tasks()) if plan.groups else None,
            plan_text=_plan_text,
            done_text=_done_text,
            as_json=_as_json,
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


def _observe(
    table: NamedTable, *, request: ClusterRequest, partitions: tuple[str, ...]
) -> ClusteringPlan:
    return observe_clustering(table.location, request, partitions=partitions)


def _plan_text(plan: ClusteringPlan) -> str:
    if not plan.groups:
        return "nothing to cluster"
    slices = count_text(len(plan.slices), "file group")
    where = count_text(plan.partitions, "partition")
    order = f", sorted by {', '.join(plan.request.by)} ({plan.request.order})"
    to = f"{plan.outputs:,}{order if plan.request.by else ''}"
    return f"{slices} in {where} to {to}, {size_text(plan.bytes)} to read"


def _done_text(done: Rewritten) -> str:
    text = f"{count_text(done.files, 'base file')}, {count_text(done.rows, 'row')}"
    return f"clustering {done.instant} completed: {text}, {size_text(done.bytes)}"


def _as_json(plan: ClusteringPlan, done: Rewritten | None) -> dict[str, object]:
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
