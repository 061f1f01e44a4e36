"""A Hive Metastore 2.3.9 and Apache Hudi 1.2.0 on Spark, over tables that we registered."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from framework.engine.catalogs.connect import connect
from framework.engine.catalogs.hive import HiveCatalog
from framework.engine.catalogs.port import Catalog
from framework.errors import CatalogError
from framework.plan.catalogs.registered import CatalogPartition, RegisteredTable
from tests.interop.catalog_shops import KINDS, a_shop, synced, target_of
from tests.interop.judge import KEEP_VERSION_6, Judge
from tests.interop.metastore import metastore, metastore_conf
from tests.interop.printed import printed_options
from tests.support.catalog_suite import CatalogSuite
from tests.support.catalogs import WRITER
from tests.support.orders import Shop

pytestmark = [pytest.mark.interop, pytest.mark.full, pytest.mark.timeout(1800)]

RELEASE = "1.2.0"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a metastore."""
    with metastore(tmp_path_factory.mktemp("metastore")) as found:
        yield found


class TestHiveCatalog(CatalogSuite):
    """The suite, on a real metastore."""

    @pytest.fixture
    def catalog(self, address: str) -> Iterator[Catalog]:
        """A catalog without the database of the suite."""
        with connect(target_of(address, "cow")) as found:
            assert isinstance(found, HiveCatalog)
            if found.has_database("shop"):
                found.client.drop_database("shop", deleteData=False, cascade=True)
            yield found


def test_metastore_that_does_not_answer_is_unreachable() -> None:
    """Its address is named."""
    target = target_of("thrift://127.0.0.1:9", "cow")
    with pytest.raises(CatalogError) as caught, connect(target):
        pass
    assert caught.value.condition == "catalog/unreachable"
    assert "127.0.0.1:9" in str(caught.value)


@pytest.fixture(scope="module")
def judge(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """Apache Hudi on Spark, whose catalog is the metastore."""
    folder = tmp_path_factory.mktemp("judge")
    with Judge(RELEASE, folder, timeout_s=900, conf=metastore_conf(address)) as process:
        yield process


Held = tuple[RegisteredTable, set[CatalogPartition]]


def held(address: str, name: str) -> dict[str, Held]:
    """Return all that the metastore has of a table, without the release of Apache Hudi."""
    found: dict[str, Held] = {}
    with connect(target_of(address, name, "lake")) as catalog:
        for each in (name, f"{name}_ro", f"{name}_rt"):
            table = catalog.table("lake", each)
            if table is not None:
                parts = set(catalog.partitions(table, None))
                known = {k: v for k, v in table.properties.items() if k != WRITER}
                shown = RegisteredTable(
                    **{f: getattr(table, f) for f in table.__slots__ if f != "properties"},
                    properties=known,
                )
                found[each] = shown, parts
    return found


def selected(judge: Judge, table: str) -> list[tuple[str, str, int]]:
    """Return the rows of a query by name."""
    query = f"SELECT id, day, v FROM lake.{table} ORDER BY id"  # noqa: S608 - our own names
    answer = judge.ask("sql", statements=[query])
    return [tuple(row) for row in answer["rows"]]


@pytest.mark.parametrize("name", ["cow", "adopted", "mor"])
def test_apache_hudi_queries_and_upserts_by_name(
    name: str, address: str, judge: Judge, tmp_path: Path
) -> None:
    """And our next sync finds what it wrote."""
    shop = a_shop(tmp_path, name)
    assert synced(shop, address, name)
    assert selected(judge, name) == shop.rows()
    options = {**KEEP_VERSION_6, **printed_options(shop.location)}
    change = f"UPDATE lake.{name} SET v = 7 WHERE id = 'b'"  # noqa: S608 - our own names
    insert = f"INSERT INTO lake.{name} (id, v, day) VALUES ('z', 9, 'd9')"  # noqa: S608
    own = {k: v for k, v in options.items() if k != "hoodie.datasource.write.operation"}
    judge.ask("sql", statements=[change, "SELECT 1"], conf=own)
    judge.ask(
        "sql",
        statements=[insert, "SELECT 1"],
        conf={**own, "hoodie.spark.sql.insert.into.operation": "upsert"},
    )
    rows = {row[0]: row for row in shop.rows()}
    assert rows["b"] == ("b", "d 2:%", 7)
    assert rows["z"] == ("z", "d9", 9)
    assert selected(judge, name) == shop.rows()
    synced(shop, address, name)
    _, parts = held(address, name)[name]
    assert ("d9",) in {each.values for each in parts}


@pytest.mark.parametrize("name", KINDS)
def test_both_syncs_in_turns_change_nothing(
    name: str, address: str, judge: Judge, tmp_path: Path
) -> None:
    """Apache Hudi's compares everything, not only what is new; it adds its release."""
    shop = a_shop(tmp_path, name)
    table = f"{name}_turns"
    synced(shop, address, table)
    ours = held(address, table)
    assert len(ours) == (3 if "mor" in name else 1)
    judge.ask("hive_sync", options=sync_options(shop, address, table))
    theirs = held(address, table)
    assert theirs == ours
    assert not synced(shop, address, table)
    shop.document["write"] = {"operation": "delete_partition", "partitions": ["day=d3"]}
    shop.document.pop("source")
    shop.run()
    judge.ask("hive_sync", options=sync_options(shop, address, table, incremental=True))
    assert {p.values for p in held(address, table)[table][1]} == {
        each.values for each in ours[table][1] if each.values != ("d3",)
    }
    assert not synced(shop, address, table)


def sync_options(
    shop: Shop, address: str, table: str, *, incremental: bool = False
) -> dict[str, str]:
    """Return the options of Apache Hudi's sync."""
    return {
        "hoodie.datasource.meta.sync.base.path": f"file:{shop.location}",
        "hoodie.datasource.hive_sync.mode": "hms",
        "hoodie.datasource.hive_sync.metastore.uris": address,
        "hoodie.datasource.hive_sync.database": "lake",
        "hoodie.datasource.hive_sync.table": table,
        "hoodie.datasource.hive_sync.partition_fields": "day",
        "hoodie.datasource.hive_sync.partition_extractor_class": (
            "org.apache.hudi.hive.MultiPartKeysValueExtractor"
        ),
        "hoodie.meta.sync.sync_as_datasource": "true",
        "hoodie.meta_sync.spark.version": spark_version(),
        "hoodie.meta.sync.incremental": str(incremental).lower(),
        "hoodie.datasource.hive_sync.sync_as_datasource": "true",
    }


def spark_version() -> str:
    """Return the release of PySpark here, which is the judge's."""
    return version("pyspark")
