"""`run-pipeline clean`: delete files that no retained commit needs."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic_core import PydanticCustomError

from framework.cli.options import Format, JsonFormat, Place, Target, Variables, pairs
from framework.cli.places import tables_of
from framework.cli.services import DryRun, Service, run_service
from framework.cli.usage import usage_error
from framework.engine.services.clean import Cleaned, observe_clean, run_clean
from framework.plan.services.clean import DEFAULT_KEEP_COMMITS, CleanPlan, CleanPolicy
from framework.plan.words import count_text, size_text
from framework.spec.sections.durations import parse_hours

__all__ = ["command"]


def command(
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
        plan_text=_plan_text,
        done_text=_done_text,
        as_json=_as_json,
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


def _plan_text(plan: CleanPlan) -> str:
    listed = f", {count_text(len(plan.listed), 'partition')} listed" if plan.listed else ""
    if not plan.files:
        return f"no files to clean{listed}"
    partitions = count_text(len(plan.by_partition), "partition")
    files = f"{count_text(len(plan.files), 'file')} in {partitions} to delete"
    kept = f", commits from {plan.earliest} on stay readable" if plan.earliest else ""
    count = count_text(len(plan.sources), "source file")
    sources = f"; the table no longer needs {count}, which stay" if plan.sources else ""
    return f"{files}, {size_text(plan.bytes)}{kept}{listed}{sources}"


def _done_text(done: Cleaned) -> str:
    files = count_text(done.files, "file")
    return f"clean {done.instant} completed: {files} deleted, {size_text(done.bytes)}"


def _as_json(plan: CleanPlan, done: Cleaned | None) -> dict[str, object]:
    return {
        "policy": plan.policy.name,
        "earliest_retained": plan.earliest or None,
        "files": [each.path for each in plan.files],
        "bytes": plan.bytes,
        "listed": list(plan.listed),
        "sources_not_needed": list(plan.sources),
        "completed": None if done is None else done.instant,
    }
