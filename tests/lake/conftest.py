"""One HDFS cluster, one server of S3 and one Spark with their clients for a process's tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from framework.hudi.storage.store_settings import STORAGE_VARIABLE
from tests.lake.killed_run import KILLS
from tests.support.mini_dfs import missing_tool, start
from tests.support.versity import Versity, missing_go, running_versity

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter
    from pyspark.sql import SparkSession


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
def root(cluster: str) -> str:
    """Return a folder of the cluster for one test; it does not exist yet."""
    return f"{cluster}/{uuid4().hex}"


@pytest.fixture(scope="session")
def versity() -> Iterator[Versity]:
    """Return a running server of S3."""
    reason = missing_go()
    if reason is not None:
        pytest.skip(reason)
    with running_versity() as found:
        yield found


@pytest.fixture
def bucket(versity: Versity, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a new bucket that this process reaches."""
    monkeypatch.setenv(STORAGE_VARIABLE, versity.server.environment[STORAGE_VARIABLE])
    return versity.server.new_bucket()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a session with Hadoop's S3A, which Maven brings."""
    session = pytest.importorskip("framework.spark.session")
    stores = pytest.importorskip("framework.spark.object_stores")
    folder = tmp_path_factory.mktemp("spark")
    conf = {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(folder / "local"),
        **stores.packages_for(("s3a://any",), {}),
    }
    with session.open_session(master="local[2,2]", conf=conf, log_folder=folder) as opened:
        yield opened.spark


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Write how many runs were hit by kills, and how many of them in the middle of changes."""
    if KILLS["kills"]:
        line = "{kills} runs were hit by kills, {amid} of them amid their changes".format(**KILLS)
        terminalreporter.write_line(line)
