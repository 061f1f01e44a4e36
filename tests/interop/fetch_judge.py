"""Resolve Apache Hudi's Spark bundles from Maven Central, once, for the judge.

Run by `make interop` in the judge's environment: `python tests/interop/fetch_judge.py`.
Each release is resolved by Spark's own `spark.jars.packages` into `ivy` inside that
environment; a release that is there already costs nothing and needs no network. With
`--rivals` also what the benches compare with, and with `--stores` Hadoop's client of S3.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["COORDINATES", "VERSIONS", "main"]

VERSIONS = ("1.2.0", "0.15.0")
COORDINATES = "org.apache.hudi:hudi-spark3.5-bundle_2.12"
CONNECT = "org.apache.spark:spark-connect_2.12:3.5.7"
"""The server of Spark Connect, which PySpark 3.5 does not bring; its tests are skipped without."""
RIVALS = ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0",)
STORES = ("org.apache.hadoop:hadoop-aws:3.3.4",)
IVY = Path(sys.prefix) / "ivy"
RESOLVE = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.jars.ivy", sys.argv[1]).config("spark.jars.packages", sys.argv[2])
builder.getOrCreate().stop()
"""


def main() -> int:
    """Fetch what is missing; return 1 when a release could not be had."""
    wanted = [f"{COORDINATES}:{version}" for version in VERSIONS]
    if "--rivals" in sys.argv[1:]:
        wanted += RIVALS
    _fetched(CONNECT)
    if "--stores" in sys.argv[1:]:
        wanted += STORES
    found = [_fetched(each) for each in wanted]
    return int(not all(found))


def _fetched(release: str) -> bool:
    """Make sure that the jar of one release is there."""
    group, artifact, version = release.split(":")
    jar = IVY / "jars" / f"{group}_{artifact}-{version}.jar"
    if not jar.is_file():
        sys.stderr.write(f"resolving {release} into {IVY}\n")
        command = [sys.executable, "-c", RESOLVE, str(IVY), release]
        subprocess.run(command, check=False)
    return jar.is_file()


if __name__ == "__main__":
    sys.exit(main())
