"""`run-pipeline sql`: look at a table with a query."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from framework.cli.lazily import attribute
from framework.cli.options import Conf, Format, JsonFormat, Master, Target, Variables, pairs
from framework.cli.places import locations_of
from framework.cli.render.columns import laid_in_columns
from framework.cli.render.console import clean, err, out, write

if TYPE_CHECKING:
    from framework.spark.querying import Answer

__all__ = ["command"]

_NOTHING = "NULL"


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
    session = attribute("framework.cli.spark_tasks", "spark_session")
    ask = attribute("framework.spark.querying", "query")
    with session(master, pairs(conf, "--conf")) as spark:
        answer: Answer = ask(spark, location, query, as_of=as_of, limit=limit)
    if form is JsonFormat.JSON:
        sys.stdout.writelines(f"{row}\n" for row in answer.rows)
    else:
        _write(answer)
    if answer.has_more:
        write(err(), f"there are more than {limit:,} rows; --limit shows others")
    return 0


def _write(answer: Answer) -> None:
    """Write a header and the rows, numbers to the right."""
    rows = [json.loads(row, parse_float=_Number) for row in answer.rows]
    cells = [[clean(_text(row[name])) for name in answer.columns] for row in rows]
    names = [clean(name) for name in answer.columns]
    numeric = {
        place
        for place, name in enumerate(answer.columns)
        if rows and all(_is_number(row[name]) for row in rows)
    }
    for number, line in enumerate(laid_in_columns([names, *cells], numeric)):
        write(out(), Text(line, style="" if number else "bold"))
    if not answer.rows:
        write(err(), "no rows")


class _Number(str):
    """A number as it stands in JSON, with all its digits."""

    __slots__ = ()


def _text(value: object) -> str:
    """Return a value for people."""
    if value is None:
        return _NOTHING
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_number(value: object) -> bool:
    """Return whether a cell is laid to the right."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value is None or is_integer or isinstance(value, _Number)
