"""Rows of a query on the terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.text import Text

from framework.cli.render.console import clean, err, out, write

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

__all__ = ["in_columns", "write_rows"]

_NOTHING = "NULL"


def in_columns(rows: Sequence[Sequence[str]], right: Collection[int]) -> Iterator[str]:
    """Yield a line for each row, the header among them; columns in `right` end where they end.

    Places count from 0; at least one row.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def write_rows(columns: Sequence[str], texts: Sequence[str]) -> None:
    """Write a header and rows, each a JSON object by column; numbers to the right."""
    rows = [json.loads(row, parse_float=_Number) for row in texts]
    cells = [[clean(_text(row[name])) for name in columns] for row in rows]
    names = [clean(name) for name in columns]
    numeric = {
        place
        for place, name in enumerate(columns)
        if rows and all(_is_number(row[name]) for row in rows)
    }
    for number, line in enumerate(in_columns([names, *cells], numeric)):
        write(out(), Text(line, style="" if number else "bold"))
    if not texts:
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
    """Return whether a cell is aligned to the right."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value is None or is_integer or isinstance(value, _Number)
