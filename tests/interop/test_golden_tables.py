"""Tables that Apache Hudi made are read right by us, its own skeletons included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.hudi.bootstrap.index import BootstrapIndex
from framework.hudi.storage.locations import open_storage
from framework.hudi.table.properties import read_properties
from framework.spark import read
from tests.golden.tables.opening import golden_names, open_golden
from tests.interop.canonical import canonical_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOOTSTRAPPED = [name for name in golden_names() if name.startswith("bootstrapped")]


@pytest.mark.parametrize("name", golden_names())
def test_properties_of_either_release_are_understood(name: str) -> None:
    """Both families of property keys give the same facts."""
    properties = read_properties(open_storage(str(open_golden(name).location)))
    assert properties is not None
    assert properties.version == 6
    assert properties.record_key_fields == ("id", "part")
    assert properties.partition_fields == ("day",)
    assert properties.ordering_field == "n"


@pytest.mark.parametrize("name", BOOTSTRAPPED)
def test_bootstrap_index_of_either_release_is_read(name: str) -> None:
    """Each partition maps its skeleton to the source file."""
    golden = open_golden(name)
    with BootstrapIndex(open_storage(str(golden.location))) as index:
        assert list(index.partitions()) == ["day=2024-02-28", "day=2024-02-29"]
        for partition in index.partitions():
            (mapping,) = index.mappings(partition).values()
            assert mapping.uri.endswith(f"/source/{partition}/part-0.parquet")


@pytest.mark.spark
@pytest.mark.parametrize("name", golden_names())
def test_snapshot_of_a_table_by_apache_hudi_is_what_it_read_itself(
    name: str, spark: SparkSession
) -> None:
    """All columns agree; logs are merged, and meta columns of foreign skeletons are read."""
    golden = open_golden(name)
    rows = read(spark, str(golden.location)).select(*golden.columns).collect()
    assert canonical_rows([tuple(row) for row in rows]) == golden.rows
