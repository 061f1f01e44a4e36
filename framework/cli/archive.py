"""`run-pipeline archive`: move old instants from the active timeline to the archived one."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from framework.cli.options import Format, JsonFormat, Place, Target, Variables, pairs
from framework.cli.places import NamedTable, tables_of
from framework.cli.services import DryRun, Service, run_service
from framework.engine.services.archival import Archived, observe_archival, run_archival
from framework.plan.services.archival import ArchivalLimits, ArchivalPlan
from framework.plan.words import count_text

__all__ = ["command"]


def command(
    place: Place = None,
    keep_min: Annotated[
        int, typer.Option("--keep-min", metavar="N", help="Commits that stay active.")
    ] = 20,
    keep_max: Annotated[
        int, typer.Option("--keep-max", metavar="N", help="Archive where more are active.")
    ] = 30,
    dry_run: DryRun = False,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Move old completed instants to the archive, where Apache Hudi reads them, too.

    Commits that a savepoint, a pending instant, the newest clean or the next compaction needs stay
    active. Starts no Spark. With --format json each table is one line.
    """
    limits = ArchivalLimits(keep_min=keep_min, keep_max=keep_max)
    service = Service(
        observe=partial(_observe, limits=limits),
        run=run_archival,
        plan_text=_plan_text,
        done_text=_done_text,
        as_json=_as_json,
    )
    tables = tables_of(place, target, pairs(var, "--var"))
    return run_service(tables, service, dry_run=dry_run, form=form)


def _observe(table: NamedTable, *, limits: ArchivalLimits) -> ArchivalPlan:
    return observe_archival(table.location, limits)


def _plan_text(plan: ArchivalPlan) -> str:
    commits = count_text(plan.active, "active commit")
    others = len(plan.instants) - plan.commits
    parts = [f"{commits}, {plan.commits} to archive"]
    if others:
        parts.append(f"with {count_text(others, 'other instant')}")
    if plan.state_files:
        parts.append(f"{count_text(len(plan.state_files), 'unused state file')} to delete")
    if plan.hold is not None:
        parts.append(f"later ones are held by {plan.hold.reason}")
    return ", ".join(parts)


def _done_text(done: Archived) -> str:
    text = f"{count_text(done.instants, 'instant')} archived"
    if done.state_files:
        text += f", {count_text(done.state_files, 'state file')} deleted"
    return text


def _as_json(plan: ArchivalPlan, done: Archived | None) -> dict[str, object]:
    hold = plan.hold and {"instant": plan.hold.instant, "reason": plan.hold.reason}
    return {
        "active_commits": plan.active,
        "instants": [
            {"instant": each.requested_time, "action": each.action.value} for each in plan.instants
        ],
        "held_by": hold,
        "state_files": len(plan.state_files),
        "archived": 0 if done is None else done.instants,
        "deleted_state_files": 0 if done is None else done.state_files,
    }
