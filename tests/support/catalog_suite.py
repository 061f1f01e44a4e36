"""What every catalog behind the port does; an implementation's tests inherit it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from framework.engine.catalogs.port import Catalog
from framework.errors import CatalogError
from framework.plan.catalogs.registered import (
    LAST_COMMIT,
    CatalogColumn,
    CatalogPartition,
    RegisteredTable,
)
from framework.plan.catalogs.sync_plan import TableSync
from tests.support.catalogs import golden_table

__all__ = ["CatalogSuite"]

HOSTILE = "a b%3Ac%2Fd'\"*"


def a_sync(
    table: RegisteredTable,
    *,
    add: tuple[CatalogPartition, ...] = (),
    change: tuple[CatalogPartition, ...] = (),
    drop: tuple[CatalogPartition, ...] = (),
) -> TableSync:
    """Return a sync of partitions alone."""
    return TableSync(table=table, creates=False, before={}, add=add, change=change, drop=drop)


def part(table: RegisteredTable, year: int, region: str, place: str = "") -> CatalogPartition:
    """Return a partition of a table, elsewhere if `place` is given."""
    location = f"{table.location}{place}/year={year}/region={region}"
    return CatalogPartition(values=(str(year), region), location=location)


class CatalogSuite:
    """Tests of one catalog; a subclass has a fixture `catalog` of an empty one."""

    @pytest.fixture
    def wanted(self, tmp_path: Path) -> RegisteredTable:
        """A table with two partition columns."""
        return replace(golden_table("cow"), location=f"file:{tmp_path}/cow")

    @pytest.fixture
    def table(self, catalog: Catalog, wanted: RegisteredTable) -> RegisteredTable:
        """The same, in a database of its own in the catalog."""
        catalog.create_database("shop")
        found = wanted
        catalog.put_table(found, creates=True, cascades=False)
        return found

    def test_database_is_there_once_created(self, catalog: Catalog) -> None:
        """Creating it again is no error: two syncs may start at once."""
        assert not catalog.has_database("shop")
        catalog.create_database("shop")
        catalog.create_database("shop")
        assert catalog.has_database("shop")

    def test_missing_table_is_none(self, catalog: Catalog) -> None:
        """Also in a database that does not exist."""
        assert catalog.table("nowhere", "x") is None
        catalog.create_database("shop")
        assert catalog.table("shop", "x") is None

    def test_table_is_read_as_it_was_written(
        self, catalog: Catalog, table: RegisteredTable
    ) -> None:
        """Every property, in any length."""
        assert catalog.table("shop", "cow") == table

    def test_altered_table_is_read_as_it_was_written(
        self, catalog: Catalog, table: RegisteredTable
    ) -> None:
        """Properties that are left out are gone."""
        columns = tuple(replace(c, comment='a "note"; --') for c in table.columns)
        kept = {k: v for k, v in table.properties.items() if not k.endswith("part.0")}
        changed = replace(
            table,
            columns=(*columns, CatalogColumn(name="more", type="array<struct<x:int>>")),
            properties={**kept, LAST_COMMIT: "9", "note": "é \"quoted\" 'x'; --"},
        )
        catalog.put_table(changed, creates=False, cascades=True)
        assert catalog.table("shop", "cow") == changed

    def test_partitions_are_added_moved_and_dropped(
        self, catalog: Catalog, table: RegisteredTable
    ) -> None:
        """Adding what is there and dropping what is gone change nothing."""
        added = (part(table, 2023, "eu"), part(table, 2024, HOSTILE), part(table, 2025, "us"))
        catalog.put_partitions(a_sync(table, add=added))
        catalog.put_partitions(a_sync(table, add=(part(table, 2023, "eu", "-other"),)))
        assert set(catalog.partitions(table, None)) == set(added)
        moved, gone = part(table, 2024, HOSTILE, "-moved"), part(table, 2025, "us")
        for _ in range(2):
            catalog.put_partitions(a_sync(table, change=(moved,), drop=(gone,)))
        assert set(catalog.partitions(table, None)) == {part(table, 2023, "eu"), moved}

    def test_partitions_are_found_by_values(self, catalog: Catalog, table: RegisteredTable) -> None:
        """Those that do not exist are left out."""
        catalog.put_partitions(
            a_sync(table, add=(part(table, 2023, "eu"), part(table, 2024, HOSTILE)))
        )
        wanted = [("2024", HOSTILE), ("1999", "eu")]
        assert list(catalog.partitions(table, wanted)) == [part(table, 2024, HOSTILE)]
        assert list(catalog.partitions(table, [])) == []

    def test_many_partitions_take_several_requests(
        self, catalog: Catalog, table: RegisteredTable
    ) -> None:
        """More than one request of any catalog takes."""
        added = tuple(part(table, number, "eu") for number in range(1205))
        catalog.put_partitions(a_sync(table, add=added))
        assert set(catalog.partitions(table, None)) == set(added)
        values = [each.values for each in added]
        assert len(list(catalog.partitions(table, values))) == len(added)
        catalog.put_partitions(a_sync(table, drop=added[1:]))
        assert list(catalog.partitions(table, None)) == [added[0]]

    def test_table_without_a_database_is_refused(
        self, catalog: Catalog, wanted: RegisteredTable
    ) -> None:
        """As an error that names both."""
        with pytest.raises(CatalogError) as caught:
            catalog.put_table(wanted, creates=True, cascades=False)
        assert caught.value.condition == "catalog/refused"

    def test_table_that_exists_is_not_created_again(
        self, catalog: Catalog, table: RegisteredTable
    ) -> None:
        """Another sync has created it; the next one finds it."""
        with pytest.raises(CatalogError) as caught:
            catalog.put_table(table, creates=True, cascades=False)
        assert caught.value.condition == "catalog/refused"
