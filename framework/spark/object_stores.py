"""Object stores in Spark: the same settings for Hadoop's S3A and for the tasks' own clients.

Settings reach executors in the environment of Python tasks, and Hadoop in its configuration; both
stay in memory. Without settings, S3A finds credentials by its own chain.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyspark

from framework.hudi.storage.object_uri import is_object_uri
from framework.hudi.storage.s3a_options import credential_options, place_options
from framework.hudi.storage.store_settings import STORAGE_VARIABLE, settings_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["packages_for", "reach_stores"]

_PACKAGES: Final = "spark.jars.packages"
_CLIENT_JAR: Final = re.compile(r"hadoop-client-api-(\d[\d.]*)\.jar")


def reach_stores(spark: SparkSession) -> None:
    """Make Hadoop and the tasks of a session use this process's settings of object stores.

    Does nothing without any. The session's SQL settings stay unchanged.
    """
    text = os.environ.get(STORAGE_VARIABLE)
    context: Any = spark.sparkContext
    if not text or context.environment.get(STORAGE_VARIABLE) == text:
        return
    hadoop, settings = context._jsc.hadoopConfiguration(), settings_of("s3")  # noqa: SLF001 - there is no public way
    for name, value in (place_options(settings) | credential_options(settings)).items():
        hadoop.set(name, value)
    context.environment[STORAGE_VARIABLE] = text


def packages_for(locations: tuple[str, ...], conf: Mapping[str, str]) -> dict[str, str]:
    """Return the setting that adds Hadoop's S3A to a new session, if locations need it.

    Empty if Spark's own folder has it, or the settings bring it.
    """
    if not any(map(is_object_uri, locations)):
        return {}
    jars = [each.name for each in Path(pyspark.__file__).parent.joinpath("jars").glob("hadoop-*")]
    brought = " ".join((*jars, conf.get(_PACKAGES, ""), conf.get("spark.jars", "")))
    client = next(filter(None, map(_CLIENT_JAR.fullmatch, jars)), None)
    if "hadoop-aws" in brought or client is None:
        return {}
    wanted = f"org.apache.hadoop:hadoop-aws:{client[1]}"
    return {_PACKAGES: ",".join(filter(None, (conf.get(_PACKAGES), wanted)))}
