"""Locations and the storages that they open."""

from __future__ import annotations

import sys

import pytest

from framework.errors import NotYetBuiltError, PlanError, StorageError
from framework.hudi.storage.locations import open_storage


@pytest.mark.parametrize(
    ("location", "opened"),
    [
        ("/a/b", "/a/b"),
        ("/a:b/c", "/a:b/c"),
        ("file:///a/b c", "/a/b c"),
        ("file:/a/b%20c", "/a/b%20c"),
        ("memory://x", "memory://x"),
        ("hdfs://n:8020/a//b%20c/", "hdfs://n:8020/a/b%20c"),
        ("HDFS://nameservice", "hdfs://nameservice"),
    ],
)
def test_open_storage_with_a_known_scheme_keeps_the_place(location: str, opened: str) -> None:
    """The text of the path is taken as it is."""
    assert open_storage(location).location == opened


@pytest.mark.parametrize("location", ["gs://bucket/x", "s3n://b", "viewfs://n/x", "C:/x"])
def test_open_storage_with_another_scheme_is_not_yet_built(location: str) -> None:
    """Object stores are refused by name."""
    with pytest.raises(NotYetBuiltError) as caught:
        open_storage(location)
    assert caught.value.condition == "storage/scheme-not-built"


@pytest.mark.parametrize("location", ["a/b", "", "./x", "file:x"])
def test_open_storage_with_a_relative_location_is_refused(location: str) -> None:
    """There is no folder that a relative location could mean on every machine of a cluster."""
    with pytest.raises(PlanError) as caught:
        open_storage(location)
    assert caught.value.condition == "storage/relative-location"


@pytest.mark.parametrize("location", ["hdfs:///lake/t", "hdfs://"])
def test_open_storage_of_hdfs_without_a_name_node_is_refused(location: str) -> None:
    """Its default is another on another machine."""
    with pytest.raises(PlanError) as caught:
        open_storage(location)
    assert caught.value.condition == "storage/bad-location"


def test_open_storage_of_hdfs_without_its_client_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client is optional."""
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    for name in ("hdfs", "hdfs_client"):
        monkeypatch.delitem(sys.modules, f"framework.hudi.storage.{name}", raising=False)
    with pytest.raises(StorageError) as caught:
        open_storage("hdfs://n:8020/t")
    assert caught.value.condition == "storage/extra-missing"
    assert "lakestrap[stores]" in caught.value.remedy
