"""Partition values and the custom generator against what Apache Hudi did with them."""

from __future__ import annotations

from typing import Any

import pytest

from framework.errors import PlanError
from framework.hudi.table.partition_path import PartitionField, parse_partition, render_partition
from framework.vocabulary import PartitionType, SourceLayout
from tests.support.golden_keys import RELEASES, golden_partitions, rule_of

FIELD = [PartitionField(name="p", type=PartitionType.STRING)]
LAYOUTS = {"hive": SourceLayout.HIVE, "positional": SourceLayout.POSITIONAL}


def _cases() -> list[Any]:
    return [
        pytest.param(layout, value, found, id=f"{release}-{layout}-{value}")
        for release in RELEASES
        for layout in LAYOUTS
        for value, found in golden_partitions(release)[layout].items()
    ]


@pytest.mark.parametrize(("layout", "value", "found"), _cases())
def test_partition_value_is_accepted_where_hudi_reads_it_back(
    layout: str, value: str, found: Any
) -> None:
    """Same folder, same value, found by a filter, one row after an upsert; or refused by us."""
    path = render_partition((value,), FIELD, LAYOUTS[layout])
    if isinstance(found, list) and found == [[path, value, 1, 2]]:
        assert parse_partition(path, FIELD, LAYOUTS[layout]) == (value,)
    else:
        with pytest.raises(PlanError) as caught:
            parse_partition(path, FIELD, LAYOUTS[layout])
        assert caught.value.condition == "partition/value-changes"


@pytest.mark.parametrize("release", RELEASES)
def test_custom_generator_works_in_sql_with_our_table_properties(release: str) -> None:
    """They are those with which each statement found the rows it meant."""
    sql = golden_partitions(release)["sql"]
    rule = rule_of("id", partitions=2)
    text = rule.sql_table_properties()["hoodie.datasource.write.partitionpath.field"]
    assert text.replace("p0", "a").replace("p1", "b") == "a:SIMPLE,b:SIMPLE"
    assert set(sql["table-properties"]["outcomes"].values()) == {"ok"}
    assert sql["table-properties"]["rows"] == [
        ["1", "a=x/b=y", 5],
        ["2", "a=x/b=z", 9],
        ["4", "a=x/b=y", 1],
    ]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("case", ["plain", "session"])
def test_custom_generator_refuses_sql_without_them_and_changes_nothing(
    release: str, case: str
) -> None:
    """It fails aloud: no row is doubled."""
    found = golden_partitions(release)["sql"][case]
    assert "ok" not in found["outcomes"].values()
    assert [row[2] for row in found["rows"]] == [1, 1, 1]


def test_custom_keys_stay_bare_through_an_upgrade_to_version_9() -> None:
    """1.2.0 adds the types to the fields by itself, and SQL then needs no property."""
    found = golden_partitions("1.2.0")["upgraded"]
    assert found["properties"]["hoodie.table.version"] == "9"
    assert set(found["outcomes"].values()) == {"ok"}
    assert [row[0] for row in found["rows"]] == ["1", "2", "4"]


def test_other_generators_need_no_table_properties() -> None:
    """Plain names are what they take."""
    for keys, partitions in ((("id",), 0), (("id",), 1), (("id", "x"), 2)):
        assert rule_of(*keys, partitions=partitions).sql_table_properties() == {}
