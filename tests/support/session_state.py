"""What work on a session might change of it, and of the process around it."""

from __future__ import annotations

import logging
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["session_state"]


def session_state(spark: SparkSession) -> dict[str, Any]:
    """Return what a run might change, to be compared with itself."""
    context: Any = spark.sparkContext
    java: Any = context._jsc  # noqa: SLF001 - PySpark does not tell what is cached
    loggers = logging.root.manager.loggerDict
    keys = (
        "spark.job.description",
        "spark.jobGroup.id",
        "spark.job.tags",
        "spark.scheduler.pool",
        "spark.job.interruptOnCancel",
    )
    return {
        "session": spark.getActiveSession(),
        "confs": {row["key"]: row["value"] for row in spark.sql("set").collect()},
        "tables": [(t.name, t.isTemporary) for t in spark.catalog.listTables()],
        "database": (spark.catalog.currentCatalog(), spark.catalog.currentDatabase()),
        "functions": spark.sql("show user functions").collect(),
        "cached": java.getPersistentRDDs().size(),
        "local": {key: context.getLocalProperty(key) for key in keys},
        "filters": list(warnings.filters),
        "shown": warnings.showwarning,
        "handlers": list(logging.root.handlers),
        "level": logging.root.level,
        "levels": {
            name: each.level
            for name, each in loggers.items()
            if isinstance(each, logging.Logger) and each.level  # of 0 nobody has set any
        },
        "folder": sorted(Path.cwd().iterdir()),
        "threads": {t.name for t in threading.enumerate() if t.daemon and "tqdm" in t.name},
    }
