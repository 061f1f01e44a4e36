"""The judge: one long-lived process with one release of Apache Hudi in its JVM.

Started as `python -m tests.interop.judge_process JAR WORK_DIR` in the environment that has
PySpark 3.5. It answers one JSON line on standard output for each JSON line on standard input:
`{"op": …, "args": {…}}` gives `{"value": …}` or `{"error": {"kind": …, "text": …}}`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TextIO

from pyspark.sql import SparkSession

from tests.interop.judge_ops import OPERATIONS

__all__ = ["main"]

QUICK_START = "-XX:TieredStopAtLevel=1 -Duser.timezone=UTC"
"""Short queries gain when the JVM's first compiler works alone."""


def main(jar: str, work_dir: str) -> None:
    """Serve requests until standard input ends."""
    answers = _claim_stdout()
    spark = _start(jar, Path(work_dir))
    _send(answers, {"value": {"spark": spark.version}})
    for line in sys.stdin:
        _send(answers, _answer(spark, line))
    spark.stop()


def _claim_stdout() -> TextIO:
    """Return the real standard output, and send what the JVM prints to standard error."""
    own = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(own, "w", encoding="utf-8", buffering=1)


def _start(jar: str, work_dir: Path) -> SparkSession:
    """Start a small session with Apache Hudi's extensions; times are in UTC."""
    conf: dict[str, bool | float | int | str | None] = {
        "spark.jars": jar,
        "spark.driver.memory": os.environ.get("JUDGE_DRIVER_MEMORY", "2g"),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": f"{QUICK_START} -Dderby.system.home={work_dir}",
        "spark.sql.warehouse.dir": str(work_dir / "warehouse"),
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    }
    more = json.loads(os.environ.get("JUDGE_CONF", "{}"))
    conf |= {**more, "spark.jars": ",".join(filter(None, (jar, more.get("spark.jars"))))}
    builder = SparkSession.builder.master("local[2]").appName("judge")
    spark = builder.config(map=conf).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _answer(spark: SparkSession, line: str) -> dict[str, object]:
    """Run one request; whatever it raises is an answer too."""
    request = json.loads(line)
    try:
        return {"value": OPERATIONS[request["op"]](spark, **request["args"])}
    except Exception as error:  # noqa: BLE001 - the judge reports every failure to its client
        return {"error": {"kind": type(error).__name__, "text": _error_text(error)}}


def _error_text(error: Exception) -> str:
    """Return what Apache Hudi said, causes included, without the frames of its stack."""
    lines = str(error).splitlines() or [type(error).__name__]
    return "\n".join(line for line in lines if not line.lstrip().startswith("at "))


def _send(answers: TextIO, answer: dict[str, object]) -> None:
    """Write one answer as one line."""
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
