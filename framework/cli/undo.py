"""`run-pipeline rollback`, `restore` and `savepoint`: the way back from a bad load."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from framework.cli.options import Format, JsonFormat, Target, Variables, pairs
from framework.cli.places import table_of
from framework.cli.quarantine import PlaceOrSpec
from framework.cli.render.console import clean, in_columns, out, write
from framework.cli.services import DryRun
from framework.cli.usage import usage_error
from framework.engine.services.savepoint import create_savepoint, delete_savepoint, savepoints
from framework.engine.services.undo import plan_restore, plan_rollback, run_undo
from framework.hudi.storage.locations import open_storage
from framework.hudi.timeline.instant import Action
from framework.hudi.timeline.timeline import load_timeline
from framework.plan.services.undo import SeenInstant, UndoPlan
from framework.plan.words import count_text, number_text

__all__ = [
    "Yes",
    "agreed",
    "restore_command",
    "rollback_command",
    "savepoint_create_command",
    "savepoint_drop_command",
    "savepoint_ls_command",
]

_HEADER = ("instant", "operation", "files", "inserted", "updated", "deleted")
_YES = ("y", "yes")
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def rollback_command(
    table: PlaceOrSpec,
    instant: Annotated[
        str | None, typer.Option("--instant", metavar="T", help="The instant; must be the newest.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Roll back the newest instant: its rows go, and what it changed is as before.

    Asks first, unless --yes is given. Rolling back the instant that began a table removes the
    table, not its source.
    """
    location = table_of(table, target, pairs(var, "--var")).location
    return _undo(Action.ROLLBACK, lambda: plan_rollback(location, instant), (dry_run, yes), form)


def restore_command(
    table: PlaceOrSpec,
    to: Annotated[
        str, typer.Option("--to", metavar="T", help="An instant, a savepoint's, or a time in UTC.")
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Go back to a moment: every later instant of data is rolled back, newest first.

    Asks first, unless --yes is given.
    """
    location = table_of(table, target, pairs(var, "--var")).location
    return _undo(Action.RESTORE, lambda: plan_restore(location, to), (dry_run, yes), form)


def savepoint_create_command(
    table: PlaceOrSpec,
    instant: Annotated[
        str | None, typer.Option("--instant", metavar="T", help="The instant; newest by default.")
    ] = None,
    comment: Annotated[str, typer.Option("--comment", help="Kept in the savepoint.")] = "",
    target: Target = None,
    var: Variables = None,
) -> int:
    """Hold the table as of an instant: its files are not cleaned, and `restore` can go back."""
    location = table_of(table, target, pairs(var, "--var")).location
    made = create_savepoint(location, instant, comment=comment)
    write(out(), f"savepoint of {made.instant}, {count_text(made.files, 'file')}")
    return 0


def savepoint_ls_command(table: PlaceOrSpec, target: Target = None, var: Variables = None) -> int:
    """List the instants under a savepoint, oldest first."""
    location = table_of(table, target, pairs(var, "--var")).location
    found = savepoints(load_timeline(open_storage(location)))
    for each in found:
        write(out(), each)
    if not found:
        write(out(), "no savepoints")
    return 0


def savepoint_drop_command(
    table: PlaceOrSpec,
    instant: Annotated[str, typer.Option("--instant", metavar="T", help="The instant.")],
    target: Target = None,
    var: Variables = None,
) -> int:
    """Release a savepoint: its files may be cleaned from now on."""
    location = table_of(table, target, pairs(var, "--var")).location
    delete_savepoint(location, instant)
    write(out(), f"released {clean(instant)}")
    return 0


def _undo(
    action: Action, make: Callable[[], UndoPlan], asked: tuple[bool, bool], form: JsonFormat
) -> int:
    """Show a plan and, unless it is a dry run or not agreed to, do it."""
    dry_run, yes = asked
    plan = make()
    if form is JsonFormat.TEXT:
        _write_plan(plan)
    if not dry_run and not yes and not agreed(action, "Roll these instants back for good?"):
        write(out(), "nothing changed")
        return 0
    done = None if dry_run else run_undo(plan, action)
    if form is JsonFormat.JSON:
        sys.stdout.write(json.dumps(_as_json(plan, action, done)) + "\n")
    else:
        write(out(), "Nothing has been changed." if done is None else f"{action} {done} completed")
    return 0


def agreed(action: str, question: str) -> bool:
    """Ask on the terminal.

    Raises:
        SpecError: `usage/not-confirmed`; there is no terminal to ask on.
    """
    if not sys.stdin.isatty():
        message = f"a {action} changes the table, and there is no terminal to ask on"
        raise usage_error("not-confirmed", message, "give --yes")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in _YES


def _write_plan(plan: UndoPlan) -> None:
    """Write one row for each instant that goes, and a line with the sums."""
    rows = [_HEADER, *(_cells(each) for each in plan.instants)]
    for line in in_columns(rows, range(2, len(_HEADER))):
        write(out(), clean(line))
    gone = "; no instant remains, so the table is removed" if plan.drops else ""
    instants = count_text(len(plan.instants), "instant")
    write(out(), f"{instants} to roll back, {count_text(plan.files, 'file')} to delete{gone}")


def _cells(seen: SeenInstant) -> tuple[str, ...]:
    files = sum(map(len, seen.files.values()))
    counts = (files, seen.inserted, seen.updated, seen.deleted)
    return (seen.instant.requested_time, seen.operation.lower(), *map(number_text, counts))


def _as_json(plan: UndoPlan, action: Action, done: str | None) -> dict[str, object]:
    instants = [
        {
            "instant": each.instant.requested_time,
            "action": each.instant.action.value,
            "operation": each.operation,
            "files": [path for paths in each.files.values() for path in paths],
            "inserted": each.inserted,
            "updated": each.updated,
            "deleted": each.deleted,
        }
        for each in plan.instants
    ]
    return {
        "location": plan.location,
        "action": action.value,
        "instants": instants,
        "removes_table": plan.drops,
        "completed": done,
    }
