"""Consoles for results (stdout) and everything else (stderr), line wrapping, and query rows."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

__all__ = ["clean", "err", "in_columns", "out", "write", "write_rows"]

_LABEL: Final = re.compile(r"\s*(?:! |\S+(?: \S+)*\s{2,})?")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DEEPEST: Final = 28


class _Terminal(Console):
    """A console that leaves a broken pipe to its caller."""

    def on_broken_pipe(self) -> None:
        """Raise `BrokenPipeError`, where Rich would exit."""
        raise BrokenPipeError


def out() -> Console:
    """Return the console of results: stdout, plain if it is not a terminal."""
    return _Terminal(file=sys.stdout, highlight=False, soft_wrap=True)


def err() -> Console:
    """Return the console of everything else: stderr, plain if it is not a terminal."""
    return _Terminal(file=sys.stderr, highlight=False, soft_wrap=True)


def write(console: Console, text: Text | str, *, hang: int | None = None) -> None:
    """Write text, wrapped between words on a terminal but never elsewhere, so that grep finds it.

    Continuation lines are indented by `hang` columns; None aligns them after the line's label.
    """
    text = Text(text) if isinstance(text, str) else text
    for line in text.split("\n", allow_blank=True):
        for piece in _wrapped(console, line, hang) if console.is_terminal else [line]:
            console.print(piece)


def clean(text: object) -> str:
    """Return foreign text with control characters escaped, so that it cannot control a terminal."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", str(text))


def _wrapped(console: Console, line: Text, hang: int | None) -> Iterator[Text]:
    if line.cell_len <= console.width:
        yield line
        return
    indent = _hang(line.plain) if hang is None else hang
    indent = indent if indent <= min(_DEEPEST, console.width // 2) else _leading(line.plain) + 2
    head, body = line[:indent], line[indent:]
    room = max(1, console.width - head.cell_len)
    for number, piece in enumerate(body.wrap(console, room)):
        piece.rstrip()
        yield (Text(" " * head.cell_len) if number else head) + piece


def _hang(plain: str) -> int:
    """Return the column after a line's label; two more than the indent if there is none."""
    found = _LABEL.match(plain)
    width = found.end() if found else 0
    return width if width > _leading(plain) else width + 2


def _leading(plain: str) -> int:
    return len(plain) - len(plain.lstrip())


_NOTHING = "NULL"


def in_columns(rows: Sequence[Sequence[str]], right: Collection[int]) -> Iterator[str]:
    """Yield a line for each row, including the header; columns in `right` are right-aligned.

    Column indexes start at 0; there must be at least one row.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def write_rows(columns: Sequence[str], texts: Sequence[str]) -> None:
    """Write a header and rows, each a JSON object by column; numbers are right-aligned."""
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
    """A number as in JSON, with all its digits."""

    __slots__ = ()


def _text(value: object) -> str:
    if value is None:
        return _NOTHING
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_number(value: object) -> bool:
    """Return whether a cell is right-aligned."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value is None or is_integer or isinstance(value, _Number)
