"""Text of a location -> absolute path or URI."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.spec.sections.locations import nested, resolve_location

FOLDER = Path("/specs/sub")


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("lake/flights", "/specs/sub/lake/flights"),
        ("./lake//flights/", "/specs/sub/lake/flights"),
        ("../lake", "/specs/lake"),
        ("../../../../lake", "/lake"),
        ("/data/lake/", "/data/lake"),
        ("/data/../lake", "/lake"),
        ("file:///data/x/../lake", "file:///data/lake"),
        ("FILE:///data", "file:///data"),
        ("memory://lake/flights/", "memory://lake/flights"),
        ("s3://bucket/a b/%20/", "s3a://bucket/a b/%20"),
        ("S3A://bucket//a", "s3a://bucket/a"),
        ("s3://bucket", "s3a://bucket"),
        ("a b/%20/#[é]{=}", "/specs/sub/a b/%20/#[é]{=}"),
        ("~x/y", "/specs/sub/~x/y"),
        ("s3:bucket", "/specs/sub/s3:bucket"),
    ],
)
def test_location_is_absolute_and_without_dots(text: str, location: str) -> None:
    """Relative ones start at the spec's folder; odd characters stay as they are."""
    assert resolve_location(text, FOLDER) == location


def test_location_without_a_folder_stays_relative() -> None:
    """Models made in code keep what they were given."""
    assert resolve_location("a/../../b", None) == "../b"


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        ("/a/b", "/a/b", "same"),
        ("/a/b/c", "/a/b", "inside"),
        ("/a/b", "/a/b/c", "around"),
        ("/a/b", "/a/bc", None),
        ("/a/bc", "/a/b", None),
        ("file:///a/b", "/a", "inside"),
        ("memory://a", "memory://a/b", "around"),
        ("memory://a", "/a", None),
    ],
)
def test_overlap_is_found_by_whole_steps(one: str, other: str, how: str | None) -> None:
    """`/a/bc` is not inside `/a/b`."""
    assert nested(one, other) == how


@pytest.mark.property
@given(st.lists(st.sampled_from(["a", "b", "..", ".", ""]), min_size=1, max_size=8))
def test_resolving_twice_changes_nothing(steps: list[str]) -> None:
    """A resolved location is its own resolution."""
    once = resolve_location("x/" + "/".join(steps) + "/y", FOLDER)
    assert resolve_location(once, Path("/elsewhere")) == once
    assert not {"..", ".", ""} & set(once.split("/")[1:])
