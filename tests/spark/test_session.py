"""The session: never stop another's, refuse what is unsafe, say what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.errors import PlanError
from framework.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_PROGRAM = """
import sys
from pathlib import Path
from framework.errors import FrameworkError
from framework.spark.session import open_session
try:
    with open_session(master="local[1]", log_folder=Path(sys.argv[1])) as opened:
        context = opened.spark.sparkContext
        print(opened.is_ours, opened.log_file, context.getConf().get("spark.driver.host"))
        print(opened.spark.range(3).count(), opened.spark.conf.get("spark.sql.session.timeZone"))
        context._jvm.System.err.println("said by Java")
    print(context._jsc is None)
except FrameworkError as error:
    print(error.condition, error.exit_code, error.remedy)
"""


def _run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Open a session in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )


@pytest.fixture
def active(spark: SparkSession) -> SparkSession:
    """Return the session as the active one, whichever an earlier test made a frame in."""
    spark.createDataFrame([(1,)], "n int")  # PySpark activates the session of a local frame
    return spark


def test_running_session_is_used_and_never_stopped(active: SparkSession) -> None:
    """A session that is there already is taken as it is, and left running."""
    spark = active
    with open_session(conf={"spark.sql.shuffle.partitions": "77"}) as opened:
        assert opened.spark is spark
        assert not opened.is_ours
    assert spark.range(3).count() == 3
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_another_master_than_the_running_one_is_refused(active: SparkSession) -> None:
    """A running session cannot move."""
    spark = active
    assert open_session(master=spark.sparkContext.master).spark is spark
    with pytest.raises(PlanError) as caught:
        open_session(master="local[7]")
    assert caught.value.condition == "spark/other-master"


@pytest.mark.parametrize("value", ["true", " TRUE "])
def test_speculation_is_refused(value: str) -> None:
    """Two copies of a task at once are refused before Spark starts."""
    with pytest.raises(PlanError) as caught:
        open_session(conf={"spark.speculation": value})
    assert caught.value.condition == "spark/speculation-refused"


def test_own_session_is_quiet_local_and_ends(tmp_path: Path) -> None:
    """Ours listens on loopback, logs to a file, leaves the terminal alone, and is stopped."""
    done = _run(tmp_path)
    assert done.stdout.splitlines() == [
        f"True {tmp_path}/spark.log 127.0.0.1",
        "3 UTC",
        "True",
    ]
    assert done.stderr == ""
    assert "said by Java" in (tmp_path / "spark.log").read_text()


def test_missing_java_is_reported_with_how_to_install_it(tmp_path: Path) -> None:
    """Without Java the error names the packages; nothing of a traceback is seen."""
    done = _run(tmp_path, JAVA_HOME=str(tmp_path))
    assert done.stdout.startswith("spark/java-missing 5 ")
    for words in ("apt install", "dnf install", "brew install"):
        assert words in done.stdout
