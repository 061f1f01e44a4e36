"""The difference between a catalog and a table, on values alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from framework.errors import PlanError
from framework.plan.catalogs.definitions import tables_of
from framework.plan.catalogs.registered import CatalogPartition, RegisteredTable
from framework.plan.catalogs.sync_plan import PartitionScope, plan_table
from framework.vocabulary import TableType
from tests.support.catalogs import a_target, facts, golden_partitions, golden_table

COW = TableType.COPY_ON_WRITE
PATHS = ("year=2023/region=eu", "year=2024/region=a b%3Ac%2Fd")
ALL = PartitionScope(live=PATHS, is_all=True)
NOTHING = PartitionScope(live=())


def wanted(**changes: Any) -> RegisteredTable:
    """Return our definition of the table `cow`."""
    (found,) = tables_of(a_target("cow"), facts("cow", ("year", "region"), COW, **changes))
    return found


def test_table_of_apache_hudi_is_up_to_date() -> None:
    """Whose properties have more, and whose `path` is spelled otherwise."""
    found = plan_table(wanted(), golden_table("cow"), ALL, golden_partitions("cow"))
    assert not found.has_changes
    assert found.table == golden_table("cow")


def test_new_table_is_written_before_its_partitions_without_a_last_commit() -> None:
    """A sync that dies between them starts over."""
    found = plan_table(wanted(), None, ALL, ())
    assert (found.creates, [each.values for each in found.add]) == (
        True,
        [("2023", "eu"), ("2024", "a b%3Ac%2Fd")],
    )
    assert found.first is not None
    assert found.first.last_commit is None
    assert found.table.last_commit == wanted().last_commit
    assert found.add[1].location == "file:/lake/cow/year=2024/region=a b%3Ac%2Fd"


def test_later_commit_is_the_only_change_of_a_table_that_is_loaded() -> None:
    """Nothing is written twice."""
    later = wanted(last_commit="20270101000000000")
    found = plan_table(
        later, golden_table("cow"), PartitionScope(live=PATHS), golden_partitions("cow")
    )
    assert found.changes == ("last commit",)
    assert found.first is None


def test_partitions_are_added_moved_and_dropped() -> None:
    """Within the scope of an incremental sync, others stay."""
    there = [
        CatalogPartition(values=("2023", "eu"), location="file:/elsewhere"),
        CatalogPartition(values=("2020", "us"), location="file:/lake/cow/year=2020/region=us"),
        CatalogPartition(values=("2021", "us"), location="file:/lake/cow/year=2021/region=us"),
    ]
    scope = PartitionScope(live=PATHS, emptied=("year=2020/region=us",))
    found = plan_table(wanted(), golden_table("cow"), scope, there)
    assert [each.values for each in found.add] == [("2024", "a b%3Ac%2Fd")]
    assert [each.location for each in found.change] == ["file:/lake/cow/year=2023/region=eu"]
    assert [each.values for each in found.drop] == [("2020", "us")]
    whole = plan_table(wanted(), golden_table("cow"), ALL, there)
    assert [each.values for each in whole.drop] == [("2020", "us"), ("2021", "us")]


def test_new_column_changes_columns_and_properties_and_cascades() -> None:
    """Comments that the catalog has stay with their columns."""
    before = golden_table("cow")
    noted = replace(
        before, columns=tuple(replace(c, comment='a "note"; --') for c in before.columns)
    )
    schema = facts("cow", (), COW).schema.append(pa.field("more", pa.string()))
    found = plan_table(wanted(schema=schema), noted, NOTHING, ())
    assert found.changes == ("columns", "properties")
    assert found.cascades
    assert {c.comment for c in found.table.columns if c.name != "more"} == {'a "note"; --'}


def test_properties_of_others_stay_and_stale_parts_of_the_schema_go() -> None:
    """A shorter schema has fewer parts."""
    before = golden_table("cow")
    stale = {"spark.sql.sources.schema.part.1": "x", "owner.team": "lake"}
    found = plan_table(
        wanted(), replace(before, properties={**before.properties, **stale}), NOTHING, ()
    )
    assert found.changes == ("properties",)
    assert found.table.properties == {**before.properties, "owner.team": "lake"}


def test_release_of_spark_in_the_catalog_stays() -> None:
    """Two releases of Spark would otherwise change it in turns."""
    found = plan_table(wanted(spark_version="4.1.4"), golden_table("cow"), NOTHING, ())
    assert not found.has_changes


@pytest.mark.parametrize("place", ["file:/lake/other", "s3a://lake/cow", ""])
def test_table_at_another_location_is_refused_by_name(place: str) -> None:
    """It was registered by others; a view has no location."""
    with pytest.raises(PlanError) as caught:
        plan_table(wanted(), replace(golden_table("cow"), location=place), ALL, ())
    assert caught.value.condition == "catalog/other-location"
    assert "shop.cow" in caught.value.message


@pytest.mark.parametrize("place", ["/lake/cow", "file:///lake/cow/", "file:/lake/cow"])
def test_location_in_another_spelling_is_the_same(place: str) -> None:
    """The spelling in the catalog stays."""
    found = plan_table(wanted(), replace(golden_table("cow"), location=place), NOTHING, ())
    assert not found.has_changes
    assert found.table.location == place


def test_other_partition_columns_are_refused() -> None:
    """No catalog can change them."""
    found = replace(golden_table("cow"), partition_columns=golden_table("mor").partition_columns)
    with pytest.raises(PlanError) as caught:
        plan_table(wanted(), found, ALL, ())
    assert caught.value.condition == "catalog/partition-columns"


def test_types_of_times_never_flip() -> None:
    """Apache Hudi's sync raises where they differ, so ours does not change them."""
    (timed,) = tables_of(
        a_target("cow", support_timestamp=True), facts("cow", ("year", "region"), COW)
    )
    with pytest.raises(PlanError) as caught:
        plan_table(timed, golden_table("cow"), NOTHING, ())
    assert caught.value.condition == "catalog/type-change"
    assert "support_timestamp: false" in caught.value.remedy


def test_partition_of_another_depth_is_refused() -> None:
    """A catalog has one value for each partition column."""
    with pytest.raises(PlanError) as caught:
        plan_table(wanted(), None, PartitionScope(live=("year=2023",), is_all=True), ())
    assert caught.value.condition == "catalog/partition-depth"
