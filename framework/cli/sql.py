"""`run-pipeline sql` and `run-pipeline preview`: rows of a query, or of a spec's load."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from framework.cli.options import Conf, Format, JsonFormat, Master, Target, Variables, pairs
from framework.cli.places import locations_of
from framework.cli.render.console import err, write, write_rows
from framework.cli.spark_session import spark_session
from framework.engine.prepare import Request, load
from framework.errors import PlanError, Where
from framework.plan.load_stages import load_request

if TYPE_CHECKING:
    from framework.spark.loading.preview import Preview

__all__ = ["command", "preview_command"]


def command(
    table: Annotated[
        str, typer.Argument(metavar="SPEC|LOCATION", help="A spec, or the folder of a table.")
    ],
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="Spark SQL; the table has its own name.")
    ],
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="MOMENT", help="An instant or a time in the past."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of rows.")] = 100,
    target: Target = None,
    var: Variables = None,
    master: Master = None,
    conf: Conf = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Show the rows of a query over a table, available under its own name and as `this`.

    With --format json each row is one line. The query cannot write to the table.
    """
    (location,) = locations_of(table, target, pairs(var, "--var"))
    from framework.spark.sql_query import query as answer_to

    with spark_session(master, pairs(conf, "--conf")) as spark:
        answer = answer_to(spark, location, query, as_of=as_of, limit=limit)
    if form is JsonFormat.JSON:
        sys.stdout.writelines(f"{row}\n" for row in answer.rows)
    else:
        write_rows(answer.columns, answer.rows)
    if answer.has_more:
        write(err(), f"there are more than {limit:,} rows; raise --limit to show them")
    return 0


def preview_command(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A spec with a section `source`.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of rows.")] = 20,
    target: Target = None,
    var: Variables = None,
    master: Master = None,
    conf: Conf = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Show the first rows of the source, after the transforms; writes nothing.

    Includes files that were loaded before. With --format json each row is one line.
    """
    loaded = load(Request(path=spec, target=target, variables=pairs(var, "--var")))
    request = load_request(loaded)
    if request is None or request.input is None:
        raise PlanError(
            "preview/no-source",
            "the spec loads no rows",
            where=Where(file=str(spec)),
            remedy="Add sections `source` and `write`.",
        )
    from framework.spark.loading.preview import preview_rows

    settings = {**(loaded.spark.revealed_conf() if loaded.spark else {}), **pairs(conf, "--conf")}
    asked = master or (loaded.spark.master if loaded.spark else None)
    with spark_session(asked, settings) as spark:
        found = preview_rows(spark, request.input, limit)
    if form is JsonFormat.JSON:
        sys.stdout.writelines(f"{row}\n" for row in found.rows)
    else:
        write_rows([column.name for column in found.columns], found.rows)
    _print(found, limit)
    return 0


def _print(found: Preview, limit: int) -> None:
    """Report on stderr the columns, further rows and nondeterministic columns."""
    types = ", ".join(f"{column.name} {column.type}" for column in found.columns)
    write(err(), f"columns: {types}")
    if found.has_more:
        write(err(), f"there are more than {limit:,} rows; raise --limit to show them")
    if found.nondeterministic:
        names = ", ".join(found.nondeterministic)
        write(err(), f"not deterministic: {names}; a run writes the rows to files first")
