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

from framework.hudi.storage.store_settings import STORAGE_VARIABLE, StoreSettings, settings_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["hadoop_options", "packages_for", "reach_stores"]

_S3A: Final = "fs.s3a"
_PACKAGES: Final = "spark.jars.packages"
_CLIENT_JAR: Final = re.compile(r"hadoop-client-api-(\d[\d.]*)\.jar")


def hadoop_options(settings: StoreSettings) -> dict[str, str]:
    """Return Hadoop's options of S3A for settings; values may be secret."""
    found = {
        "endpoint": settings.endpoint,
        "endpoint.region": settings.region,
        "path.style.access": _word(settings.path_style),
        "connection.ssl.enabled": _word(None if not settings.allow_http else False),
        "access.key": settings.access_key_id,
        "secret.key": settings.secret_access_key,
        "session.token": settings.session_token,
        "aws.credentials.provider": _provider(settings),
    }
    return {f"{_S3A}.{name}": value for name, value in found.items() if value is not None}


def reach_stores(spark: SparkSession) -> None:
    """Make Hadoop and the tasks of a session use this process's settings of object stores.

    Does nothing without any. The session's SQL settings stay unchanged.
    """
    text = os.environ.get(STORAGE_VARIABLE)
    context: Any = spark.sparkContext
    if not text or context.environment.get(STORAGE_VARIABLE) == text:
        return
    hadoop = context._jsc.hadoopConfiguration()  # noqa: SLF001 - there is no public way
    for name, value in hadoop_options(settings_of("s3")).items():
        hadoop.set(name, value)
    context.environment[STORAGE_VARIABLE] = text


def packages_for(locations: tuple[str | None, ...], conf: Mapping[str, str]) -> dict[str, str]:
    """Return the setting that adds Hadoop's S3A to a new session, if locations need it.

    Empty if Spark's own folder has it, or the settings bring it.
    """
    if not any(each and each.startswith("s3a://") for each in locations):
        return {}
    jars = [each.name for each in Path(pyspark.__file__).parent.joinpath("jars").glob("hadoop-*")]
    brought = " ".join((*jars, conf.get(_PACKAGES, ""), conf.get("spark.jars", "")))
    client = next(filter(None, map(_CLIENT_JAR.fullmatch, jars)), None)
    if "hadoop-aws" in brought or client is None:
        return {}
    wanted = f"org.apache.hadoop:hadoop-aws:{client[1]}"
    return {_PACKAGES: ",".join(filter(None, (conf.get(_PACKAGES), wanted)))}


def _word(flag: bool | None) -> str | None:  # noqa: FBT001 - a setting's value
    return None if flag is None else str(flag).lower()


def _provider(settings: StoreSettings) -> str | None:
    """Return the class that finds credentials, None for S3A's own chain."""
    package = "org.apache.hadoop.fs.s3a"
    if settings.anonymous:
        return f"{package}.AnonymousAWSCredentialsProvider"
    if settings.access_key_id:
        kind = "Temporary" if settings.session_token else "Simple"
        return f"{package}.{kind}AWSCredentialsProvider"
    return None
