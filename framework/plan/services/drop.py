"""The plan of a drop: what of a table is removed, what stays, and why it may not be."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from framework.errors import PlanError, UnsupportedTableError, Where

__all__ = ["DropPlan", "check_drop", "check_source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPlan:
    """What a drop removes.

    Attributes:
        location: the table's.
        name: the table's; "" where the removal has begun already.
        newest: its newest instant; "" if there is none.
        instants: completed instants.
        partitions: folders with files of the table.
        files: base, log and metadata files.
        bytes: their sizes, without `.hoodie`.
        unknown: paths that are not the table's and stay, with the folders around them.
        sources: locations of the sources, which stay.
        savepoints: instants under a savepoint.
        is_half: whether an earlier drop has begun to remove the table.
    """

    location: str
    name: str
    newest: str
    instants: int
    partitions: int
    files: int
    bytes: int
    unknown: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    savepoints: tuple[str, ...] = ()
    is_half: bool = False


def check_source(location: str, sources: Collection[str]) -> None:
    """Raise if a source is the table's folder, inside it or around it.

    Args:
        location: canonical, of the table.
        sources: canonical.

    Raises:
        PlanError: `drop/source-inside`.
    """
    for each in sources:
        if f"{each}/".startswith(f"{location}/") or f"{location}/".startswith(f"{each}/"):
            raise PlanError(
                "drop/source-inside",
                f"the source {each} of the table shares its folder",
                where=Where(table=location),
                remedy="Move the source away first, or delete the table's files by hand: a drop "
                "never deletes files beside those of a source.",
            )


def check_drop(plan: DropPlan, *, savepoints: bool) -> None:
    """Raise if savepoints hold the table and are not to be dropped with it.

    Raises:
        UnsupportedTableError: `drop/savepointed`.
    """
    if plan.savepoints and not savepoints:
        raise UnsupportedTableError(
            "drop/savepointed",
            f"{len(plan.savepoints)} savepoints hold the table, the newest that of "
            f"{plan.savepoints[-1]}",
            where=Where(table=plan.location, instant=plan.savepoints[-1]),
            remedy="Give --savepoints to drop them too.",
        )
