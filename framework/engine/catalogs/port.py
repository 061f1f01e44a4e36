"""The interface of every catalog: six methods over the values of `framework.plan.catalogs`.

Names of databases, tables and columns are in lower case. Every fault of the catalog itself is a
`CatalogError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from framework.errors import CatalogError, Where
from framework.plan.catalogs.registered import CatalogPartition, RegisteredTable
from framework.plan.catalogs.sync_plan import TableSync

__all__ = ["Catalog", "batches", "catalog_error"]

_Item = TypeVar("_Item")


class Catalog(Protocol):
    """A catalog of tables; each write is repeatable."""

    def has_database(self, name: str) -> bool:
        """Return whether there is a database of that name."""
        ...

    def create_database(self, name: str) -> None:
        """Create a database, unless another sync has just created it."""
        ...

    def table(self, database: str, name: str) -> RegisteredTable | None:
        """Return a table; None if there is none."""
        ...

    def partitions(
        self, table: RegisteredTable, values: Sequence[tuple[str, ...]] | None
    ) -> Iterator[CatalogPartition]:
        """Yield the partitions with these values that exist, in any order; None means all."""
        ...

    def put_table(self, table: RegisteredTable, *, creates: bool, cascades: bool) -> None:
        """Create a table, or alter one so that it is like `table`.

        What the values do not describe stays, such as owner and statistics. With `cascades` the
        columns of all its partitions change too.
        """
        ...

    def put_partitions(self, sync: TableSync) -> None:
        """Add, change and drop the partitions of a sync; files are never touched.

        One that is added and exists already is left, one that is dropped may be missing.
        """
        ...


def batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    """Yield the items in order, at most `size` at once."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def catalog_error(
    condition: str, message: str, *, place: str, remedy: str, names: Iterable[str] = ()
) -> CatalogError:
    """Return the error of a catalog at `place`; `names` are database and table, if known."""
    table = ".".join(names) or None
    where = Where(file=place, table=table)
    return CatalogError(f"catalog/{condition}", message, where=where, remedy=remedy)
