"""Runs a spec on executors whose Python changes: a bare one, none, and this one.

`python -m tests.support.cluster_session SPEC BARE` prints one JSON object: the `faults`, each with
its condition, message and seconds, and the `rows` of the run that had none.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from framework.errors import FrameworkError
from framework.spark import run
from framework.spark.session import open_session

__all__ = ["main"]

_MASTER = "local-cluster[1,1,512]"


def main(spec: str, bare: str) -> None:
    """Run three times."""
    os.environ["PYSPARK_PYTHON"] = bare
    conf = {"spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "1"}
    conf["spark.executor.extraJavaOptions"] = os.environ.get("SPARK_SUBMIT_OPTS", "")
    with open_session(master=_MASTER, conf=conf) as session:
        application = session.spark.sparkContext.applicationId
        faults = [_fault(session.spark, spec, each) for each in (bare, "/no/such/python")]
        session.spark.sparkContext.pythonExec = sys.executable
        rows = run(session.spark, spec).rows
    # Outside of Spark's own tests, a local cluster works where Spark is installed.
    shutil.rmtree(Path(pyspark.__file__).parent / "work" / application, ignore_errors=True)
    sys.stdout.write(json.dumps({"faults": faults, "rows": rows}) + "\n")


def _fault(spark: SparkSession, spec: str, python: str) -> tuple[str, str, float]:
    """Return what is wrong with a Python of the executors, and how long it took to say."""
    spark.sparkContext.pythonExec = python
    begun = time.monotonic()
    try:
        run(spark, spec)
    except FrameworkError as error:
        return error.condition, error.message, time.monotonic() - begun
    raise AssertionError(f"{python} is good enough")


if __name__ == "__main__":
    main(*sys.argv[1:])
