"""The course that commands of table services share: show a plan, run it, show the result.

A command names its tables by a spec, a location or all specs; an error of one of several tables is
printed and does not stop the others. Tasks run in this process, or on Spark if its options are
given.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

import typer
from rich.text import Text

from framework.cli.exits import gravest
from framework.cli.options import JsonFormat
from framework.cli.places import NamedTable, in_process
from framework.cli.render.console import clean, err, out, write
from framework.cli.render.errors import OutputOptions, fail
from framework.cli.spark_session import spark_session
from framework.engine.tasks import Tasks
from framework.errors import FrameworkError

__all__ = ["DryRun", "Partitions", "Service", "run_service", "service_tasks"]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and change nothing.")]
Partitions = Annotated[
    list[str] | None,
    typer.Option("--partition", metavar="PATH", help="Only this partition. Repeatable."),
]

_Plan = TypeVar("_Plan")
_Done = TypeVar("_Done")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(Generic[_Plan, _Done]):
    """A table service as its command shows it.

    Attributes:
        observe: returns the plan for a table; changes nothing.
        run: executes a plan; None if there was nothing to do.
        plan_text: the plan in one or a few lines, without the location.
        done_text: the result in one line.
        as_json: plan and result as one JSON object, without the location.
    """

    observe: Callable[[NamedTable], _Plan]
    run: Callable[[_Plan], _Done | None]
    plan_text: Callable[[_Plan], str]
    done_text: Callable[[_Done], str]
    as_json: Callable[[_Plan, _Done | None], dict[str, object]]


def run_service(
    tables: Sequence[NamedTable], service: Service[_Plan, _Done], *, dry_run: bool, form: JsonFormat
) -> int:
    """Plan and run a service on each table; return the gravest exit code.

    With one table, its error is raised. With JSON each table is one line.
    """
    if len(tables) == 1:
        _one(tables[0], service, dry_run=dry_run, form=form)
        return 0
    codes = []
    for table in tables:
        try:
            _one(table, service, dry_run=dry_run, form=form)
        except FrameworkError as error:
            write(err(), Text(clean(table.named), style="bold"))
            codes.append(fail(error, OutputOptions(json_result=form is JsonFormat.JSON)))
    return gravest(codes)


def _one(
    table: NamedTable, service: Service[_Plan, _Done], *, dry_run: bool, form: JsonFormat
) -> None:
    plan = service.observe(table)
    if form is JsonFormat.TEXT:
        write(out(), f"{clean(table.location)}: {service.plan_text(plan)}")
    done = None if dry_run else service.run(plan)
    if form is JsonFormat.JSON:
        document = {"location": table.location, **service.as_json(plan, done)}
        sys.stdout.write(json.dumps(document) + "\n")
    elif done is not None:
        write(out(), service.done_text(done))
    elif dry_run:
        write(out(), "Nothing has been changed.")


@contextmanager
def service_tasks(master: str | None, conf: Mapping[str, str]) -> Iterator[Callable[[], Tasks]]:
    """Yield a function that returns the tasks of a service; without options, of this process.

    The first call starts Spark, so that a plan with nothing to do starts none; the session serves
    all tables of the command and is stopped with the block.

    Args:
        master: Spark's master; None means the default, if there are settings.
        conf: Spark's settings.
    """
    if master is None and not conf:
        yield in_process
        return
    with ExitStack() as stack:
        opened: list[Tasks] = []

        def tasks() -> Tasks:
            if not opened:
                from framework.spark.tasks import SparkTasks

                opened.append(SparkTasks(stack.enter_context(spark_session(master, conf))))
            return opened[0]

        yield tasks
