"""One HDFS cluster for all tests of a process."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.mini_dfs import missing_tool, start


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a running cluster; `LAKE_HDFS_URL` may name one to use instead."""
    if named := os.environ.get("LAKE_HDFS_URL"):
        yield named
        return
    tool = missing_tool()
    if tool is not None:
        pytest.skip(f"a cluster needs {tool}, which is not installed")
    running = start(tmp_path_factory.mktemp("dfs"))
    yield running.url
    running.stop()


@pytest.fixture
def root(cluster: str, request: pytest.FixtureRequest) -> str:
    """Return a folder of the cluster for one test; it does not exist yet."""
    return f"{cluster}/{request.node.name}-{id(request):x}"
