"""Rows of cells, laid in columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

__all__ = ["laid_in_columns"]


def laid_in_columns(rows: Sequence[Sequence[str]], right: Collection[int]) -> Iterator[str]:
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
