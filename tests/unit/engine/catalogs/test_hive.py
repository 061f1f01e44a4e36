"""The client of Hive Metastores, over thrift to one in this process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from framework.engine.catalogs.connect import connect
from framework.engine.catalogs.port import Catalog
from framework.errors import CatalogError
from tests.support.catalog_suite import CatalogSuite
from tests.support.catalogs import a_target, golden_table
from tests.support.thrift_metastore import thrift_metastore

pytestmark = pytest.mark.long


class TestHiveCatalog(CatalogSuite):
    """The suite, as of releases 2.3 and 3, which have `get_table`."""

    without: tuple[str, ...] = ()

    @pytest.fixture
    def catalog(self) -> Iterator[Catalog]:
        """An empty catalog."""
        with (
            thrift_metastore(without=self.without) as (uri, _),
            connect(a_target(uri=uri)) as found,
        ):
            yield found


class TestHiveCatalogOfRelease4(TestHiveCatalog):
    """The suite where only `get_table_req` is left."""

    without: tuple[str, ...] = ("get_table",)


def test_first_metastore_that_answers_is_used() -> None:
    """Of several addresses."""
    with thrift_metastore() as (uri, handler):
        target = a_target(uri=f"thrift://127.0.0.1:9, {uri}")
        with connect(target) as catalog:
            catalog.create_database("shop")
        assert list(handler.databases) == ["shop"]


def test_metastore_that_does_not_answer_is_unreachable() -> None:
    """Its address is named."""
    with (
        pytest.raises(CatalogError) as caught,
        connect(a_target(uri="thrift://127.0.0.1:9")),
    ):
        pass
    assert caught.value.condition == "catalog/unreachable"
    assert "127.0.0.1:9" in str(caught.value)


def test_method_that_a_release_lacks_is_refused_with_its_words() -> None:
    """And not taken for a missing table."""
    with (
        thrift_metastore(without=("get_table", "get_table_req")) as (uri, _),
        connect(a_target(uri=uri)) as catalog,
        pytest.raises(CatalogError) as caught,
    ):
        catalog.table("shop", "cow")
    assert caught.value.condition == "catalog/refused"
    assert caught.value.where.table == "shop.cow"


def test_altered_table_keeps_what_others_wrote_beside_our_values() -> None:
    """Such as its owner and its retention; its partitions get the new columns."""
    with thrift_metastore() as (uri, handler), connect(a_target(uri=uri)) as catalog:
        catalog.create_database("shop")
        table = golden_table("plain")
        catalog.put_table(table, creates=True, cascades=False)
        held: Any = handler.tables["shop", "plain"]
        held.owner, held.retention = "sales", 7
        held.parameters["numFiles"] = "3"
        catalog.put_table(replace(table, columns=table.columns[:6]), creates=False, cascades=True)
        after: Any = handler.tables["shop", "plain"]
        assert (after.owner, after.retention) == ("sales", 7)
        assert after.parameters["numFiles"] == "3"
        assert len(after.sd.cols) == 6
