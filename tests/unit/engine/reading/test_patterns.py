"""Choosing partitions by path and by glob."""

from __future__ import annotations

import pytest

from framework.engine.reading.patterns import choose_partitions
from framework.errors import PlanError
from framework.spark.reading.files import plain_path

PATHS = ("month=1", "month=10", "month=12/day=1", "month=2", "a[1]", "a1", "x{y}", "a.b", "axb")


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        (None, PATHS),
        ("month=1", ("month=1",)),
        ("month=12", ("month=12/day=1",)),
        ("month=1*", ("month=1", "month=10", "month=12/day=1")),
        ("month=?", ("month=1", "month=2")),
        ("month=1?/day=*", ("month=12/day=1",)),
        ("month={1,2}", ("month=1", "month=2")),
        ("month=[!1]", ("month=2",)),
        ("month=[^1]", ("month=2",)),
        ("month=[1-2]", ("month=1", "month=2")),
        ("a[1]", ("a[1]",)),
        ("a[1]*", ("a1",)),
        ("x{y}", ("x{y}",)),
        ("a.b", ("a.b",)),
        ("a?b", ("a.b", "axb")),
        ("a*", ("a[1]", "a1", "a.b", "axb")),
        ("*/*", ("month=12/day=1",)),
    ],
)
def test_pattern_chooses_paths_folders_and_globs(
    pattern: str | None, chosen: tuple[str, ...]
) -> None:
    """An exact path or folder wins; else each level is a glob; nothing else is special."""
    assert tuple(choose_partitions(PATHS, pattern, table="t")) == chosen


@pytest.mark.parametrize("pattern", ["[", "{", "(month|a).*", "month", "", "month=3", "a[2-1]"])
def test_pattern_that_chooses_nothing_is_refused(pattern: str) -> None:
    """A missing partition is reported, with examples of partitions."""
    with pytest.raises(PlanError) as caught:
        tuple(choose_partitions(PATHS, pattern, table="t"))
    assert caught.value.condition in {"read/partition-matches-nothing", "read/bad-glob"}


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("/a/b c", "/a/b c"),
        ("file:/a/b", "/a/b"),
        ("file:///a%20b", "/a%20b"),
        ("file:////a//b/./c/../d/", "/a/b/d"),
        ("/a/..b/c..", "/a/..b/c.."),
        ("s3://b/c%20d//e/", "s3a://b/c%20d/e"),
        ("hdfs://h:1/c%20d//e/", "hdfs://h:1/c%20d/e"),
    ],
)
def test_plain_path_is_plain_and_tidy(uri: str, path: str) -> None:
    """A location becomes the path that Spark shows, without any decoding."""
    assert plain_path(uri) == path


@pytest.mark.parametrize("uri", ["gs://b/k", "memory://x", "a/b", "viewfs://h/p"])
def test_plain_path_refuses_other_places(uri: str) -> None:
    """Only files of this machine, of HDFS and of S3 are read in this version."""
    with pytest.raises(PlanError) as caught:
        plain_path(uri)
    assert caught.value.condition == "storage/scheme-not-built"
