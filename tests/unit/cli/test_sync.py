"""`run-pipeline sync`: on AWS Glue as moto has it, and where nothing answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from framework.cli.app import main
from framework.engine import catalogs
from tests.support.orders import Shop

GLUE = {"type": "glue", "region": "eu-central-1"}
DEAD = {"type": "hive", "uri": "thrift://127.0.0.1:9"}


@pytest.fixture(autouse=True)
def glue(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An empty service, and credentials that only it takes."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.chdir(tmp_path)
    with mock_aws():
        yield


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A table of two partitions."""
    found = Shop(tmp_path, "copy_on_write")
    found.lands("a", ("a", "d1", 1), ("b", "d2", 1))
    return found


def spec_of(shop: Shop, catalog: dict[str, Any]) -> str:
    """Write the spec of a shop with a section `catalog`; return its path."""
    spec = shop.folder / "orders.pipeline.yml"
    spec.write_text(json.dumps({**shop.document, "catalog": catalog}))
    return str(spec)


def test_sync_registers_once_and_then_finds_nothing(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run shows the same and writes nothing."""
    spec = spec_of(shop, GLUE)
    client = boto3.client("glue", region_name="eu-central-1")
    assert main(["sync", spec, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "new database shop; shop.orders: new table, 2 partitions added" in said
    assert "Nothing has been changed." in said
    assert not client.get_databases()["DatabaseList"]
    assert main(["sync", spec]) == 0
    capsys.readouterr()
    parts = client.get_partitions(DatabaseName="shop", TableName="orders")["Partitions"]
    assert sorted(each["Values"] for each in parts) == [["d1"], ["d2"]]
    assert main(["sync", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["has_changes"], document["synced"]) == (False, False)
    assert document["catalog"] == "glue eu-central-1"


def test_sync_that_gets_no_answer_exits_with_6_and_a_dry_run_with_5(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commit stands either way."""
    spec = spec_of(shop, DEAD)
    assert main(["sync", spec, "--format", "json"]) == 6
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["condition"] == "catalog/sync-failed"
    assert "catalog/unreachable" in error["message"]
    assert main(["sync", spec, "--dry-run"]) == 5


def test_run_with_nothing_to_load_registers_and_fails_with_6(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """As does a run that loads."""
    assert main(["run", spec_of(shop, GLUE), "--in-process", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["catalog"]["tables"][0]["creates"] is True
    shop.comes("b", ("c", "d3", 1))
    assert main(["run", spec_of(shop, DEAD), "--in-process"]) == 6
    assert ("c", "d3", 1) in shop.rows()
    assert main(["run", spec_of(shop, DEAD), "--in-process"]) == 6


def test_plan_shows_where_the_table_is_registered(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a request to the catalog."""
    shop.comes("b", ("c", "d3", 1))
    spec = spec_of(shop, DEAD)
    assert main(["plan", spec]) == 0
    assert "registered as shop.orders in hive thrift://127.0.0.1:9" in capsys.readouterr().out
    assert main(["plan", spec, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["catalog"]["table"] == "orders"
    assert main(["plan", spec, "--format", "markdown"]) == 0
    assert "**then** registered as shop.orders" in capsys.readouterr().out


@pytest.mark.parametrize("section", [None, {**DEAD, "enabled": False}])
def test_sync_of_a_spec_without_a_catalog_is_refused(
    shop: Shop, section: dict[str, Any] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the name of the section; without a spec there is none to sync."""
    spec = spec_of(shop, section or DEAD)
    if section is None:
        Path(spec).write_text(json.dumps(shop.document))
    assert main(["sync", spec]) == 1
    assert "catalog/no-section" in capsys.readouterr().err
    assert main(["sync"]) == 1
    assert main(["sync", str(shop.location)]) == 1


@pytest.mark.parametrize(("section", "package"), [(GLUE, "boto3"), (DEAD, "pymetastore")])
def test_missing_client_is_named_with_its_extra(
    shop: Shop,
    section: dict[str, Any],
    package: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The run itself needs neither."""
    for name in ("glue", "hive"):
        monkeypatch.delitem(sys.modules, f"framework.engine.catalogs.{name}", raising=False)
        monkeypatch.delattr(catalogs, name, raising=False)
    for name in (package, "pymetastore.hive_metastore"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["sync", spec_of(shop, section)]) == 1
    said = capsys.readouterr().err
    assert "catalog/extra-missing" in said
    assert package in said
    assert "lakestrap[catalogs]" in said
