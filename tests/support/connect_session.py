"""Runs and reads over Spark Connect, whose server it starts: `python -m … STEPS`.

Steps are a JSON list of an action and its arguments; it prints a JSON list of what each returned,
or of the condition of its error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from framework.errors import FrameworkError
from framework.hudi.storage.store_settings import STORAGE_VARIABLE
from framework.spark import read, read_incremental, read_optimized, run
from framework.spark.tasks import SparkTasks
from framework.vocabulary import Verify
from tests.support.spark_jobs import refuse, wait_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["main"]


def main(steps: str) -> None:
    """Do all steps in one session."""
    jar = os.environ.get("CONNECT_JAR")
    builder: Any = SparkSession.builder.config("spark.ui.enabled", "false")
    if jar is not None:
        builder = builder.config("spark.jars", jar)
    spark: Any = builder.remote("local[2]").getOrCreate()
    found = [_done(spark, action, arguments) for action, arguments in json.loads(steps)]
    sys.stdout.write(f"\n{json.dumps(found)}\n")


def _done(spark: Any, action: str, arguments: Mapping[str, Any]) -> Any:
    try:
        return _ACTIONS[action](spark, **arguments)
    except FrameworkError as error:
        return {"condition": error.condition, "message": error.message}


def _run(spark: Any, spec: str, storage: str = "") -> Any:
    """Run a spec, with settings of stores if there are any; return the rows that were written."""
    if storage:
        os.environ[STORAGE_VARIABLE] = storage
    try:
        return run(spark, spec).rows
    finally:
        os.environ.pop(STORAGE_VARIABLE, None)


def _rows(opened: Any, spark: Any, location: str, **how: Any) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    if "verify" in how:
        how["verify"] = Verify(how["verify"])
    frame: DataFrame = opened(spark, location, **how)
    return [row.asDict() for row in frame.collect()]


def _left_early(spark: Any, folder: str) -> float:
    """Return the seconds that leaving running tasks takes, of which one would wait a minute."""
    names = ["quick", "quick", "slow"]
    statuses = SparkTasks(spark).run(wait_for, [json.dumps([folder, name]) for name in names])
    next(statuses)
    while not (Path(folder) / "slow").exists():
        time.sleep(0.05)
    begun = time.monotonic()
    statuses.close()  # type: ignore[attr-defined]  # it is a generator
    return time.monotonic() - begun


def _refused(spark: Any) -> None:
    """Raise what a task raised."""
    list(SparkTasks(spark).run(refuse, ["one"]))


_ACTIONS: Mapping[str, Callable[..., Any]] = {
    "run": _run,
    "read": partial(_rows, read),
    "read_optimized": partial(_rows, read_optimized),
    "read_incremental": partial(_rows, read_incremental),
    "left_early": _left_early,
    "refused": _refused,
}

if __name__ == "__main__":
    main(sys.argv[1])
