"""`run-pipeline sql`: look at a table with a query."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from framework.cli.options import Conf, Format, JsonFormat, Master, Target, Variables, pairs
from framework.cli.places import locations_of
from framework.cli.render.console import err, write
from framework.cli.render.rows import write_rows
from framework.cli.spark_session import spark_session

__all__ = ["command"]


def command(
    table: Annotated[
        str, typer.Argument(metavar="SPEC|LOCATION", help="A spec, or the folder of a table.")
    ],
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="Spark SQL; the table goes by its own name.")
    ],
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="MOMENT", help="An instant or a time of the past."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most so many rows.")] = 100,
    target: Target = None,
    var: Variables = None,
    master: Master = None,
    conf: Conf = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Show the rows of a query over a table, which is there by its own name and as `this`.

    With --format json each row is one line. Nothing can be written to the table.
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
        write(err(), f"there are more than {limit:,} rows; --limit shows others")
    return 0
