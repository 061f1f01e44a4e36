"""A catalog in memory, which behaves like a Hive Metastore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from framework.engine.catalogs.port import catalog_error
from framework.plan.catalogs.registered import CatalogColumn, CatalogPartition, RegisteredTable
from framework.plan.catalogs.sync_plan import TableSync

__all__ = ["MemoryCatalog"]

_Name = tuple[str, str]


class MemoryCatalog:
    """Databases, tables and partitions as dictionaries.

    Attributes:
        databases: names.
        tables: by database and name.
        stored: partitions of each table, by their values.
        partition_columns: columns of the partitions of each table.
    """

    def __init__(self) -> None:
        self.databases: set[str] = {"default"}
        self.tables: dict[_Name, RegisteredTable] = {}
        self.stored: dict[_Name, dict[tuple[str, ...], CatalogPartition]] = {}
        self.partition_columns: dict[_Name, tuple[CatalogColumn, ...]] = {}

    def has_database(self, name: str) -> bool:
        """Return whether there is a database of that name."""
        return name in self.databases

    def create_database(self, name: str) -> None:
        """Create a database."""
        self.databases.add(name)

    def table(self, database: str, name: str) -> RegisteredTable | None:
        """Return a table; None if there is none."""
        return self.tables.get((database, name))

    def partitions(
        self, table: RegisteredTable, values: Sequence[tuple[str, ...]] | None
    ) -> Iterator[CatalogPartition]:
        """Yield the partitions with these values that exist; None means all."""
        there = self.stored.get(_key(table), {})
        wanted = list(there) if values is None else values
        return iter([there[each] for each in wanted if each in there])

    def put_table(self, table: RegisteredTable, *, creates: bool, cascades: bool) -> None:
        """Create or alter a table.

        Raises:
            CatalogError: `catalog/refused`: there is no such database, or table.
        """
        missing = table.database not in self.databases
        if missing or creates == (_key(table) in self.tables):
            raise catalog_error(
                "refused",
                "there is no such database, or the table exists, or does not",
                place="memory",
                names=_key(table),
                remedy="Run `run-pipeline sync` again.",
            )
        self.tables[_key(table)] = _lowered(table)
        if creates or cascades:
            self.partition_columns[_key(table)] = _lowered(table).columns

    def put_partitions(self, sync: TableSync) -> None:
        """Add, change and drop the partitions of a sync."""
        there = self.stored.setdefault(_key(sync.table), {})
        there.update({each.values: each for each in sync.add if each.values not in there})
        there.update({each.values: each for each in sync.change})
        for each in sync.drop:
            there.pop(each.values, None)


def _key(table: RegisteredTable) -> _Name:
    return table.database, table.name


def _lowered(table: RegisteredTable) -> RegisteredTable:
    columns = tuple(replace(each, name=each.name.lower()) for each in table.columns)
    return replace(table, columns=columns)
