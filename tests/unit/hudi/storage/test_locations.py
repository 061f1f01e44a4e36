"""Locations and the storages that they open."""

from __future__ import annotations

import pytest

from framework.errors import NotYetBuiltError, PlanError
from framework.hudi.storage.locations import open_storage


@pytest.mark.parametrize(
    ("location", "opened"),
    [
        ("/a/b", "/a/b"),
        ("/a:b/c", "/a:b/c"),
        ("file:///a/b c", "/a/b c"),
        ("file:/a/b%20c", "/a/b%20c"),
        ("memory://x", "memory://x"),
    ],
)
def test_open_storage_with_a_known_scheme_keeps_the_place(location: str, opened: str) -> None:
    """The text of the path is taken as it is."""
    assert open_storage(location).location == opened


@pytest.mark.parametrize("location", ["gs://bucket/x", "s3n://b", "hdfs://n/x", "C:/x"])
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
