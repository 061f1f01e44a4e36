"""AWS Glue, against moto in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from framework.engine.catalogs.connect import connect
from framework.engine.catalogs.glue import GlueCatalog, glue_catalog
from framework.errors import CatalogError
from framework.plan.catalogs.target import CatalogTarget
from framework.vocabulary import CatalogKind
from tests.support.catalog_suite import CatalogSuite
from tests.support.catalogs import golden_table

pytestmark = pytest.mark.long

TARGET = CatalogTarget(kind=CatalogKind.GLUE, database="shop", table="cow", region="eu-central-1")


@pytest.fixture(autouse=True)
def glue(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An empty service, and credentials that only it takes."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield


class TestGlueCatalog(CatalogSuite):
    """The suite, on moto."""

    @pytest.fixture
    def catalog(self) -> Iterator[GlueCatalog]:
        """An empty catalog."""
        with glue_catalog(TARGET) as found:
            yield found


def test_glue_table_keeps_what_others_wrote_beside_our_values() -> None:
    """Such as its description and its retention."""
    client = boto3.client("glue", region_name="eu-central-1")
    with connect(TARGET) as catalog:
        catalog.create_database("shop")
        catalog.put_table(golden_table("cow"), creates=True, cascades=False)
        found = client.get_table(DatabaseName="shop", Name="cow")["Table"]
        described = {
            "Name": "cow",
            "Description": "of the sales team",
            "Retention": 7,
            "StorageDescriptor": {**found["StorageDescriptor"], "NumberOfBuckets": 3},
            "PartitionKeys": found["PartitionKeys"],
            "TableType": "EXTERNAL_TABLE",
            "Parameters": found["Parameters"],
        }
        client.update_table(DatabaseName="shop", TableInput=described)
        catalog.put_table(golden_table("cow"), creates=False, cascades=True)
    after = client.get_table(DatabaseName="shop", Name="cow")["Table"]
    assert (after["Description"], after["Retention"]) == ("of the sales team", 7)
    assert after["StorageDescriptor"]["NumberOfBuckets"] == 3


def test_glue_without_a_region_or_a_profile_is_unreachable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before any request, with what to check."""
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    for target in (
        CatalogTarget(kind=CatalogKind.GLUE, database="shop", table="cow"),
        CatalogTarget(kind=CatalogKind.GLUE, database="shop", table="cow", profile="nobody"),
    ):
        with pytest.raises(CatalogError) as caught, glue_catalog(target):
            pass
        assert caught.value.condition == "catalog/unreachable"
        assert "region, profile" in caught.value.remedy


def test_glue_error_shows_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's words only."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sesame-in-the-open")
    with glue_catalog(TARGET) as catalog, pytest.raises(CatalogError) as caught:
        catalog.put_table(golden_table("cow"), creates=True, cascades=False)
    assert "sesame" not in str(caught.value)
    assert caught.value.where.table == "shop.cow"
