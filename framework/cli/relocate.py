"""`run-pipeline relocate`: name another location of a table's source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from framework.cli.options import Format, JsonFormat, Target, Variables, pairs
from framework.cli.places import in_process, table_of
from framework.cli.quarantine import PlaceOrSpec
from framework.cli.services import DryRun, Service, run_service
from framework.engine.services.relocation import observe_relocation, run_relocation
from framework.plan.services.relocation import RelocationPlan
from framework.plan.words import count_text, size_text

__all__ = ["command"]


def command(
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
        plan_text=_plan_text,
        done_text=lambda done: f"the source of the table is {done.new}",
        as_json=_as_json,
    )
    tables = (table_of(table, target, pairs(var, "--var")),)
    return run_service(tables, service, dry_run=dry_run, form=form)


def _plan_text(plan: RelocationPlan) -> str:
    if plan.is_done:
        return f"the source is {plan.new} already"
    files = count_text(plan.files, "source file")
    return f"{files}, {size_text(plan.bytes)}, the same at {plan.new} as at {plan.old}"


def _as_json(plan: RelocationPlan, done: RelocationPlan | None) -> dict[str, object]:
    return {
        "from": plan.old,
        "to": plan.new,
        "files": plan.files,
        "bytes": plan.bytes,
        "is_done": plan.is_done,
        "completed": done is not None,
    }
