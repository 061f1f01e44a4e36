"""Fixtures for every kind of test; Spark starts only when a test asks for it."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from framework.hudi.storage.store_settings import STORAGE_VARIABLE, use_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PYSPARK_WARNINGS = (
    "ignore:unclosed <socket:ResourceWarning",  # `collect` leaves its socket to the collector
    "ignore:distutils Version classes are deprecated:DeprecationWarning",  # 3.5 checks versions
    "ignore:is_[a-z0-9_]*_dtype is deprecated",  # 3.5 asks pandas for types
)

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For each driver that a test starts, in whatever process: most end before the second compiler and
threads of a collector have paid for themselves."""


@pytest.fixture(autouse=True)
def stores_as_before() -> Iterator[None]:
    """Drop the settings of object stores that a command has set for its process."""
    before = os.environ.get(STORAGE_VARIABLE)
    yield
    use_settings({})
    os.environ.pop(STORAGE_VARIABLE, None)
    os.environ.update({} if before is None else {STORAGE_VARIABLE: before})


def pytest_configure(config: pytest.Config) -> None:
    """Let pass what PySpark warns of itself; collections run at any time, so for all tests."""
    os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK_JAVA)
    for line in PYSPARK_WARNINGS:
        config.addinivalue_line("filterwarnings", line)


def pytest_collection_finish() -> None:
    """Keep the tests themselves out of every later collection of garbage: 8 % of their time."""
    gc.collect()
    gc.freeze()


settings.register_profile("house", deadline=None)  # other work on the machine is no fault
settings.load_profile("house")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests: two cores, two attempts a task, quiet, UTC."""
    session = pytest.importorskip("framework.spark.session")
    folder = tmp_path_factory.mktemp("spark")
    conf = {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
    }
    with session.open_session(master="local[2,2]", conf=conf, log_folder=folder) as opened:
        yield opened.spark
