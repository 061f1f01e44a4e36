"""`run-pipeline clean` and `archive`: how much of its past a table keeps.

Clean deletes files that no retained commit needs; archive moves old instants from the active
timeline to the archived one.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer
from pydantic_core import PydanticCustomError

from framework.cli.options import Format, JsonFormat, Place, Target, Variables, pairs
from framework.cli.places import NamedTable, tables_of
from framework.cli.services import DryRun, Service, run_service
from framework.cli.usage import usage_error
from framework.engine.services.archival import Archived, observe_archival, run_archival
from framework.engine.services.clean import Cleaned, observe_clean, run_clean
from framework.plan.services.archival import ArchivalLimits, ArchivalPlan
from framework.plan.services.clean import DEFAULT_KEEP_COMMITS, CleanPlan, CleanPolicy
from framework.plan.words import count_text, size_text
from framework.spec.sections.quantities import parse_hours

__all__ = ["archive_command", "clean_command"]


def clean_command(
    place: Place = None,
    keep_commits: Annotated[
        int | None,
        typer.Option(
            "--keep-commits",
            metavar="N",
            help=f"Keep what the N latest commits need; {DEFAULT_KEEP_COMMITS} by default.",
        ),
    ] = None,
    keep_for: Annotated[
        str | None,
        typer.Option(
            "--keep-for", metavar="TIME", help="Keep what commits of 7d or 36h, for example, need."
        ),
    ] = None,
    keep_versions: Annotated[
        int | None,
        typer.Option(
            "--keep-versions", metavar="N", help="Keep the N latest slices of each file group."
        ),
    ] = None,
    dry_run: DryRun = False,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Delete the files of old slices; no retained commit and no savepoint loses one.

    Source files of bootstraps are never deleted; those that nothing needs any more are listed.
    Starts no Spark. With --format json each table is one line.
    """
    policy = _policy(keep_commits, keep_for, keep_versions)
    service = Service(
        observe=lambda table: observe_clean(table.location, policy),
        run=run_clean,
        plan_text=_clean_text,
        done_text=_cleaned_text,
        as_json=_clean_json,
    )
    tables = tables_of(place, target, pairs(var, "--var"))
    return run_service(tables, service, dry_run=dry_run, form=form)


def _policy(commits: int | None, time: str | None, versions: int | None) -> CleanPolicy:
    """Return the policy of the options.

    Raises:
        SpecError: `usage/bad-value`.
        PlanError: `clean/policy`.
    """
    if commits is None and time is None and versions is None:
        return CleanPolicy(keep_commits=DEFAULT_KEEP_COMMITS)
    try:
        hours = None if time is None else parse_hours(time)
    except PydanticCustomError as error:
        raise usage_error("bad-value", error.message(), "write a number and h or d") from error
    return CleanPolicy(keep_commits=commits, keep_hours=hours, keep_versions=versions)


def _clean_text(plan: CleanPlan) -> str:
    listed = f", {count_text(len(plan.listed), 'partition')} listed" if plan.listed else ""
    if not plan.files:
        return f"no files to clean{listed}"
    partitions = count_text(len(plan.by_partition), "partition")
    files = f"{count_text(len(plan.files), 'file')} in {partitions} to delete"
    kept = f", commits from {plan.earliest} on stay readable" if plan.earliest else ""
    count = count_text(len(plan.sources), "source file")
    sources = f"; the table no longer needs {count}, which stay" if plan.sources else ""
    return f"{files}, {size_text(plan.bytes)}{kept}{listed}{sources}"


def _cleaned_text(done: Cleaned) -> str:
    files = count_text(done.files, "file")
    return f"clean {done.instant} completed: {files} deleted, {size_text(done.bytes)}"


def _clean_json(plan: CleanPlan, done: Cleaned | None) -> dict[str, object]:
    return {
        "policy": plan.policy.name,
        "earliest_retained": plan.earliest or None,
        "files": [each.path for each in plan.files],
        "bytes": plan.bytes,
        "listed": list(plan.listed),
        "sources_not_needed": list(plan.sources),
        "completed": None if done is None else done.instant,
    }


def archive_command(
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
        observe=partial(_archival_of, limits=limits),
        run=run_archival,
        plan_text=_archival_text,
        done_text=_archived_text,
        as_json=_archival_json,
    )
    tables = tables_of(place, target, pairs(var, "--var"))
    return run_service(tables, service, dry_run=dry_run, form=form)


def _archival_of(table: NamedTable, *, limits: ArchivalLimits) -> ArchivalPlan:
    return observe_archival(table.location, limits)


def _archival_text(plan: ArchivalPlan) -> str:
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


def _archived_text(done: Archived) -> str:
    text = f"{count_text(done.instants, 'instant')} archived"
    if done.state_files:
        text += f", {count_text(done.state_files, 'state file')} deleted"
    return text


def _archival_json(plan: ArchivalPlan, done: Archived | None) -> dict[str, object]:
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
