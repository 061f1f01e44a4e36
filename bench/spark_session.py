"""The Spark session of all Spark sides, with common settings."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import SparkSession

__all__ = ["session"]


def session(settings: Mapping[str, str], extra: Mapping[str, str] | None = None) -> SparkSession:
    """Start `local[cores]` with the bench's memory, UTC and no UI."""
    conf = {
        "spark.master": f"local[{settings['cores']}]",
        "spark.app.name": "bench",
        "spark.driver.memory": settings["memory"],
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": settings["cores"],
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": settings["work_dir"],
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        **(extra or {}),
        **json.loads(settings.get("conf") or "{}"),
    }
    started = SparkSession.builder.config(map=conf).getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    return started
