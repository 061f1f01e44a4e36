"""Which data sets the user means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from framework.cli.usage import usage_error
from framework.engine.quarantine.datasets import waiting
from framework.plan.words import count_text, size_text
from framework.spec.document.findings import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from framework.cli.places import NamedTable
    from framework.engine.quarantine.quarantined_batch import QuarantinedBatch

__all__ = ["NOTHING", "InstantOption", "PlaceOrSpec", "chosen", "meant", "sums"]

NOTHING = "nothing quarantined"

PlaceOrSpec = Annotated[
    str, typer.Argument(metavar="SPEC|LOCATION", help="A spec, or the folder of a table.")
]
InstantOption = Annotated[
    str | None,
    typer.Option("--instant", metavar="T", help="Only what the run of this instant quarantined."),
]


def chosen(table: NamedTable, instant: str | None) -> tuple[QuarantinedBatch, ...]:
    """Return the data sets of a table that wait, or the one of an instant.

    Raises:
        SpecError: `usage/unknown-instant`.
    """
    found = waiting(table.location, table.quarantine)
    if instant is None:
        return found
    one = tuple(each for each in found if each.instant == instant)
    if not one:
        instants = [each.instant for each in found]
        message = f"nothing is quarantined of {instant}"
        raise usage_error("unknown-instant", message, meant(instant, instants))
    return one


def sums(found: Sequence[QuarantinedBatch]) -> str:
    """Return how many data sets there are, with their rows and bytes."""
    rows, size = sum(each.rows for each in found), sum(each.bytes for each in found)
    count = count_text(len(found), "data set")
    return f"{count}, {count_text(rows, 'row')}, {size_text(size)}"


def meant(word: str, known: Iterable[str]) -> str:
    """Return what the user may have meant by a word that names nothing here."""
    words = list(dict.fromkeys(known))
    close = nearest(word, words)
    return f"did you mean {close}?" if close else f"there is {', '.join(words) or NOTHING}"
