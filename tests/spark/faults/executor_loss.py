"""Two loads on a cluster of two executors, one of which is killed in the middle of each.

`python executor_loss.py FOLDER TYPE KEYS` prints one JSON object: `accounts` of the loads, `lost`
executors, `recomputed` stages, and the functions of ours whose executor was killed. The table is in
FOLDER/table. The first load's input is computed by a shuffle, and the executor dies while its
output is fetched; in the second, executors die with work done but not reported. `KEYS` is one of
`Keys`: upserts by a column, or inserts whose keys are automatic or computed by a transform.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import SparkSession

from framework.engine.load import tag
from framework.engine.prepare import PlanningContext, Request, prepare
from framework.engine.runner import run
from framework.engine.tasks import Tasks
from framework.spark.loading.preview import SparkInput
from framework.spark.tasks import SparkTasks
from tests.spark.faults.unreported import LosingTasks, execute

__all__ = ["DAYS", "IDS", "Keys", "executors", "history", "main", "session_on_executors"]

SHUFFLED = 30
"""Tasks of the stage that fetches; no other stage has so many."""
IDS, DAYS = 6_000, 3


class Keys(StrEnum):
    """Where record keys come from.

    `RANDOM` and `INCREASING` are what users of Spark do without automatic keys: a time with a
    random number, and `monotonically_increasing_id`.
    """

    COLUMN = "column"
    AUTOMATIC = "automatic"
    RANDOM = "random"
    INCREASING = "increasing"


_SQL: Final = (
    "SELECT id, day, max(n) AS n, max_by(v, n) AS v{computed} FROM source GROUP BY id, day"
)
_COMPUTED: Final = {
    Keys.RANDOM: ", concat('20260101_', cast(rand() * 1e17 AS bigint)) AS k",
    Keys.INCREASING: ", concat('20260101_', max(n), '_', monotonically_increasing_id()) AS k",
}
_BY_K: Final = {"record_key": {"columns": ["k"], "unique_within": "table"}}
_KEYED: Final[dict[Keys, dict[str, Any]]] = {
    Keys.COLUMN: {
        "record_key": {"columns": ["id"], "unique_within": "table"},
        "ordering": {"columns": ["n"]},
    },
    Keys.AUTOMATIC: {"record_key": "auto"},
    Keys.RANDOM: _BY_K,
    Keys.INCREASING: _BY_K,
}


def main(folder: Path, kind: str, keys: str) -> None:
    """Load twice and print the outcome."""
    setattr(tag, "_NEAR_ROWS", 0)  # noqa: B010 - tasks of Spark even for so few rows
    with session_on_executors(folder / "events") as spark:
        land(folder / "landing", "a", range(IDS), version=1)
        with _killing_while_fetching(spark) as killed:
            accounts = [_load(spark, folder, kind, keys, SparkTasks(spark))]
        land(folder / "landing", "b", range(IDS - 1_000, IDS + 500), version=2)
        witness = folder / "witness"
        witness.mkdir()
        accounts.append(
            _load(
                spark,
                folder,
                kind,
                keys,
                LosingTasks(SparkTasks(spark), witness, work_and_lose_the_executor),
            )
        )
    outcome = {
        "accounts": accounts,
        "killed while fetching": len(killed),
        "killed in": sorted(path.name for path in witness.iterdir()),
        **history(folder / "events"),
    }
    sys.stdout.write(f"{json.dumps(outcome)}\n")


def land(folder: Path, name: str, ids: range, *, version: int) -> None:
    """Write four input files with each id; the transform keeps the last one's, with greatest `n`.

    Each file is a map task, so both executors hold output of the first stage.
    """
    folder.mkdir(exist_ok=True)
    for turn in range(4):
        n = 10 * version + turn
        rows = [{"id": i, "day": f"d{i % DAYS}", "n": n, "v": f"{i}.{turn}"} for i in ids]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}{turn}.parquet")


@contextmanager
def session_on_executors(events: Path) -> Iterator[SparkSession]:
    """Hold a session on two executors of one core each, whose events are written down."""
    events.mkdir()
    root = str(Path(__file__).resolve().parents[3])
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": str(SHUFFLED),
        "spark.sql.files.maxPartitionBytes": "100k",
        "spark.sql.files.openCostInBytes": "100k",
        "spark.shuffle.io.maxRetries": "0",
        "spark.reducer.maxReqsInFlight": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": f"file:{events}",
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
        "spark.executorEnv.PYTHONPATH": root,
        "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("executor-loss")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        application = spark.sparkContext.applicationId
        spark.stop()
        # Outside of Spark's own tests, a local cluster works where Spark is installed.
        shutil.rmtree(Path(pyspark.__file__).parent / "work" / application, ignore_errors=True)


def _load(spark: SparkSession, folder: Path, kind: str, keys: str, tasks: Tasks) -> Any:
    """Load what is new and return the account of its rows."""
    spec = folder / "orders.pipeline.yml"
    spec.write_text(
        json.dumps(
            {
                "version": 1,
                "table": {
                    "name": "orders",
                    "location": str(folder / "table"),
                    "type": kind,
                    "partition_by": {"day": "string"},
                    **_KEYED[Keys(keys)],
                },
                "source": {"path": str(folder / "landing")},
                "transforms": [
                    {
                        "name": "latest",
                        "sql": _SQL.format(computed=_COMPUTED.get(Keys(keys), "")),
                    }
                ],
                "write": {"operation": "upsert" if keys == Keys.COLUMN else "insert"},
            }
        )
    )
    with TemporaryDirectory() as scratch:
        plan = prepare(Request(path=spec), PlanningContext(tasks=tasks, scratch=Path(scratch))).plan
        return run(plan, tasks, reader=SparkInput(spark)).proof["account"]


@contextmanager
def _killing_while_fetching(spark: SparkSession) -> Iterator[list[int]]:
    """Kill one executor once some tasks of the fetching stage are done; yield whom."""
    killed: list[int] = []
    over = threading.Event()

    def watch() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not (over.is_set() or killed):
            stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
            if any(s and s.numTasks == SHUFFLED and s.numCompletedTasks for s in stages):
                killed.append(executors()[0])
                os.kill(killed[0], signal.SIGKILL)
            time.sleep(0.005)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def executors() -> list[int]:
    """Return the processes of this program's executors."""
    return [
        int(place.name)
        for place in Path("/proc").iterdir()
        if place.name.isdigit() and _is_executor(place) and os.getpid() in _ancestors(place)
    ]


def _is_executor(place: Path) -> bool:
    """Say whether a process is an executor."""
    try:
        words = (place / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words


def _ancestors(place: Path) -> set[int]:
    """Return the processes above a process."""
    found: set[int] = set()
    number = int(place.name)
    while number > 1:
        try:
            status = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return found
        number = int(status[1])
        found.add(number)
    return found


def work_and_lose_the_executor(task: str) -> str:
    """Do the work of a task; the first of its function to be done kills the JVM above it."""
    result, name, witness = execute(task)
    try:
        (witness / name).touch(exist_ok=False)
    except FileExistsError:
        return result
    above = _ancestors(Path(f"/proc/{os.getpid()}"))
    (executor,) = (each for each in above if _is_executor(Path(f"/proc/{each}")))
    os.kill(executor, signal.SIGKILL)
    time.sleep(60)
    return result


def history(events: Path) -> dict[str, int]:
    """Return how many executors and tasks were lost, and how many stages were begun again."""
    lost = again = tasks = 0
    for path in events.iterdir():
        for line in path.read_text().splitlines():
            event = json.loads(line)
            lost += event["Event"] == "SparkListenerExecutorRemoved"
            stage = event.get("Stage Info", {}).get("Stage Attempt ID", 0)
            again += event["Event"] == "SparkListenerStageSubmitted" and stage > 0
            tasks += event.get("Task End Reason", {}).get("Reason") == "ExecutorLostFailure"
    return {"lost": lost, "lost tasks": tasks, "recomputed": again}


if __name__ == "__main__":
    # Tasks find their function by the name of its module, which is not `__main__`.
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    program = importlib.import_module("tests.spark.faults.executor_loss")
    program.main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
