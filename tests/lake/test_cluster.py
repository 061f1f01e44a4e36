"""A standalone Spark whose workers share no disk with the driver and have a bare Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest

from framework.hudi.storage.store_settings import STORAGE_VARIABLE
from framework.spark.cluster.needs import PACKAGES
from tests.conftest import QUICK_JAVA
from tests.support.s3_server import S3Server, running_s3
from tests.support.sources import a_source
from tests.support.standalone_spark import (
    BARE_PYTHON,
    StandaloneSpark,
    missing_right,
    packages_zip,
    running_spark,
)
from tests.support.writing import rows_of

pytestmark = [pytest.mark.lake, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
FILES = {f"p={p}/a.parquet": pa.table({"id": [p, 10 * p], "v": ["a", "b"]}) for p in (1, 2, 3)}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneSpark]:
    """Return a running cluster; skip where workers cannot be kept apart."""
    missing = missing_right()
    if missing is not None:
        pytest.skip(f"workers of their own need {missing}")
    with running_spark(tmp_path_factory.mktemp("spark")) as running:
        yield running


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return settings that send the packages of tasks to a bare Python, as the guide says."""
    names = [*(distribution for distribution, _ in PACKAGES.values()), "obstore"]
    archive = packages_zip(names, tmp_path_factory.mktemp("packages") / "packages.zip")
    return {
        "spark.archives": f"{archive}#packages",
        "spark.executorEnv.PYTHONPATH": "packages",
        "spark.pyspark.python": BARE_PYTHON,
        "spark.pyspark.driver.python": sys.executable,
        "spark.executor.extraJavaOptions": QUICK_JAVA,
        "spark.ui.enabled": "false",
    }


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    """Return a running object store, which workers reach by the network."""
    with running_s3() as server:
        yield server


def test_submitted_program_adopts_a_table_in_a_store(
    cluster: StandaloneSpark,
    workers: dict[str, str],
    s3: S3Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The package, and those that it needs, travel; so do endpoint and credentials."""
    bucket = s3.new_bucket()
    a_source(tmp_path / "source", FILES)
    for name in FILES:
        s3.put(bucket, f"source/{name}", (tmp_path / "source" / name).read_bytes())
    spec = a_spec(tmp_path, f"s3://{bucket}")
    words = [word for pair in workers.items() for word in ("--conf", "=".join(pair))]
    command = [
        str(SUBMIT),
        "--master",
        cluster.url,
        *words,
        str(ROOT / "lakestrap" / "__main__.py"),
    ]
    done = program([*command, "run", str(spec)], s3.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.setenv(STORAGE_VARIABLE, s3.environment[STORAGE_VARIABLE])
    found = {row["id"]: row["v"] for row in rows_of(f"s3://{bucket}/table")}
    assert found == {1: "a", 10: "b", 2: "a", 20: "b", 3: "a", 30: "b"}


def test_table_on_the_drivers_disk_is_refused_by_name(
    cluster: StandaloneSpark, workers: dict[str, str], tmp_path: Path
) -> None:
    """Workers would look for it on disks of their own; nothing is left of the attempt."""
    a_source(tmp_path / "source", FILES)
    spec = a_spec(tmp_path, str(tmp_path))
    words = [word for pair in workers.items() for word in ("--conf", "=".join(pair))]
    before = sorted(tmp_path.rglob("*"))
    command = [sys.executable, "-m", "framework", "run", str(spec), "--master", cluster.url, *words]
    done = program(command, {})
    assert done.returncode == 5, done.stderr
    assert "cluster/not-shared" in done.stderr
    assert f"{tmp_path}/source is not the driver's folder" in " ".join(done.stderr.split())
    assert sorted(tmp_path.rglob("*")) == before


def a_spec(folder: Path, root: str) -> Path:
    """Write a spec that adopts the folder `source`."""
    path = folder / "rows.pipeline.yml"
    table = {
        "name": "odd.rows",
        "location": f"{root}/table",
        "type": "copy_on_write",
        "partition_by": {"p": "int"},
        "record_key": {"columns": ["id"], "unique_within": "table"},
    }
    document = {
        "version": 1,
        "table": table,
        "bootstrap": {"path": f"{root}/source", "layout": "hive", "mode": "metadata_only"},
    }
    path.write_text(json.dumps(document))
    return path


def program(command: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a driver on loopback, outside of the checkout."""
    known = {"PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(
        command,
        env={**os.environ, **known, **environment},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
