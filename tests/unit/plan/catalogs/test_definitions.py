"""Our definitions of tables, compared with those that Apache Hudi 1.2.0's sync wrote."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from framework.errors import PlanError
from framework.plan.catalogs.definitions import table_names, tables_of
from framework.plan.catalogs.registered import RegisteredTable
from framework.vocabulary import CatalogKind, TableType
from tests.support.catalogs import WRITER, a_target, facts, golden_table

COW, MOR = TableType.COPY_ON_WRITE, TableType.MERGE_ON_READ


def expected(name: str) -> RegisteredTable:
    """Return Apache Hudi's table, in what we write: its own release left out, `path` as a URI."""
    found = golden_table(name)
    kept = {k: v for k, v in found.properties.items() if k != WRITER}
    serde = {**found.serde_properties, "path": f"file:{found.serde_properties['path']}"}
    return replace(found, properties=kept, serde_properties=serde)


@pytest.mark.parametrize(
    ("name", "partition", "kind"),
    [
        ("cow", ("year", "region"), COW),
        ("plain", (), COW),
        ("dropped", ("region",), COW),
        ("mor", ("region",), MOR),
    ],
)
def test_tables_equal_those_of_apache_hudi(
    name: str, partition: tuple[str, ...], kind: TableType
) -> None:
    """Columns, formats, serde and properties, byte for byte."""
    target = a_target(name)
    found = tables_of(target, facts(name, partition, kind))
    assert [each.name for each in found] == list(table_names(target, kind))
    for each in found:
        assert each == expected(each.name)


def test_support_timestamp_changes_hive_types_alone() -> None:
    """Spark's schema has timestamps either way."""
    table = facts("plain", (), COW)
    (off,) = tables_of(a_target(), table)
    (on,) = tables_of(a_target(support_timestamp=True), table)
    types = {c.name: c.type for c in on.columns}
    assert (types["ts"], types["ntz"]) == ("timestamp", "timestamp")
    assert types["st"] == "struct<nest:struct<q:decimal(30,10)>,t:timestamp>"
    assert on.properties == off.properties


def test_locations_in_s3_are_written_as_each_catalog_resolves_them() -> None:
    """`s3a:` for Hadoop, `s3:` for Athena."""
    table = facts("plain", (), COW, location="s3://lake/orders/")
    (hive,) = tables_of(a_target(), table)
    (glue,) = tables_of(a_target(kind=CatalogKind.GLUE, uri=None), table)
    assert (hive.location, glue.location) == ("s3a://lake/orders", "s3://lake/orders")
    assert glue.serde_properties["path"] == glue.location


def test_columns_that_differ_in_case_only_are_refused() -> None:
    """Catalogs ignore case, and would lose one of them."""
    schema = pa.schema([("id", pa.int64()), ("Name", pa.string()), ("name", pa.string())])
    with pytest.raises(PlanError) as caught:
        tables_of(a_target(), facts("plain", (), COW, schema=schema))
    assert caught.value.condition == "catalog/column-case"
    assert "name" in caught.value.message


def test_column_of_a_type_without_a_catalog_type_is_refused_by_name() -> None:
    """Such as a duration."""
    schema = pa.schema([("id", pa.int64()), ("took", pa.duration("us"))])
    with pytest.raises(PlanError) as caught:
        tables_of(a_target(), facts("plain", (), COW, schema=schema))
    assert caught.value.condition == "catalog/column-type"
    assert "took" in caught.value.message
