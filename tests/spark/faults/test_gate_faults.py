"""A gate whose executors die, whose disk refuses, or whose user loses patience."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.errors import FrameworkError
from framework.hudi.commit.lease import current_lease
from framework.hudi.storage.locations import open_storage
from framework.spark import run
from tests.spark.faults.gate_executor_loss import BAD, ROWS
from tests.support.checks import Gate, good_rows, quarantined_in
from tests.support.commands import AS_NOBODY, run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAM = Path(__file__).with_name("gate_executor_loss.py")
TAKEN = {"name": "taken", "expect": "amount >= 0", "on_fail": "quarantine"}
ENDLESS = {
    "name": "endless",
    "query": "SELECT a.id FROM this a CROSS JOIN range(4000000000000) b WHERE a.id + b.id < 0",
}


@pytest.mark.crash
def test_executors_that_die_while_rows_are_looked_at_change_no_verdict(tmp_path: Path) -> None:
    """One in the screening and one in the gate: each bad row is found and quarantined once."""
    root = str(PROGRAM.parents[3])
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": root, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    outcome = json.loads(ended.stdout.splitlines()[-1])
    assert outcome["killed"] == ["screen", "audit"]
    assert (outcome["lost"] >= 2, outcome["lost tasks"] >= 2) == (True, True), outcome
    found = {each["name"]: (each["outcome"], each["failed"]) for each in outcome["proof"]["checks"]}
    expected = {"taken": ("quarantined", 2), "strict": ("passed", 0), "all": ("passed", 0)}
    assert found == expected
    gate = Gate(folder=tmp_path / "gate", operation="insert")
    assert gate.ids() == [n for n in range(ROWS) if n not in BAD]
    assert sorted(row["id"] for row in quarantined_in(gate.quarantine)) == list(BAD)


@pytest.mark.parametrize("operation", ["metadata_only", "upsert"])
def test_quarantine_that_cannot_be_made_publishes_nothing(
    spark: SparkSession, tmp_path: Path, operation: str
) -> None:
    """Its place is taken by a file: an error of the storage, and all is as it was."""
    gate = Gate(folder=tmp_path, operation=operation)
    gate.begin()
    gate.put("one", good_rows(range(10, 20), bad=(12,)))
    (tmp_path / "taken").write_text("no folder")
    spec = gate.spec(TAKEN, quarantine={"location": str(tmp_path / "taken" / "quarantine")})
    before = gate.seen()
    with pytest.raises(FrameworkError) as caught:
        run(spark, spec)
    assert caught.value.exit_code == 5, caught.value
    assert gate.seen() == before
    assert current_lease(open_storage(str(gate.location))) is None
    gate.run(spark, TAKEN)
    assert 12 not in gate.amounts(spark)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can put a command under another user")
def test_quarantine_that_may_not_be_written_publishes_nothing(tmp_path: Path) -> None:
    """Its folder is another user's: exit 5 with the folder, and nothing is left of the run."""
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            folder.chmod(0o755)
    gate = Gate(folder=tmp_path / "gate", operation="metadata_only")
    gate.put("one", good_rows(range(10, 20), bad=(12,)))
    tables, quarantined = tmp_path / "tables", tmp_path / "quarantine"
    tables.mkdir()
    tables.chmod(0o777)
    quarantined.mkdir(mode=0o755)
    document = gate.document(
        TAKEN, quality={"quarantine": {"location": str(quarantined / "orders")}}
    )
    document["table"]["location"] = str(tables / "orders")
    outcome = run_pipeline(
        "run", gate.written(document), "--master", "local[1]", "--format", "json", prefix=AS_NOBODY
    )
    assert outcome.code == 5, outcome.err
    assert outcome.error["condition"] == "task/failed", outcome.error
    assert str(quarantined) in outcome.error["message"]
    assert list(tables.iterdir()) == list(quarantined.iterdir()) == []


@pytest.fixture
def interrupting(spark: SparkSession) -> Iterator[list[int]]:
    """Interrupt this process, as Ctrl-C does, once a job of Spark has run for a moment."""
    seen: list[int] = []
    over = threading.Event()
    tracker = spark.sparkContext.statusTracker()

    def watch() -> None:
        while not over.is_set():
            before = set(tracker.getActiveJobsIds())
            time.sleep(1.5)
            lasting = before & set(tracker.getActiveJobsIds())
            if lasting and not over.is_set():
                seen.extend(lasting)
                os.kill(os.getpid(), signal.SIGINT)
                return

    thread = threading.Thread(target=watch)
    thread.start()
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield seen
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, kept)


@pytest.mark.parametrize("operation", ["metadata_only", "upsert"])
def test_query_that_never_ends_can_be_interrupted_and_leaves_no_job(
    spark: SparkSession, tmp_path: Path, interrupting: list[int], operation: str
) -> None:
    """No job runs on, the rows are those before, the lease is free, and the next run ends it."""
    gate = Gate(folder=tmp_path, operation=operation)
    gate.begin()
    gate.put("one", good_rows(range(10, 20), bad=(12,)))
    before = [] if gate.is_bootstrap else gate.ids()
    with pytest.raises(KeyboardInterrupt):
        gate.run(spark, TAKEN, ENDLESS)
    assert interrupting
    assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == []
    assert not list(spark.sparkContext.getJobTags())
    if gate.is_bootstrap:
        assert not (gate.location / ".hoodie" / "hoodie.properties").exists()
    else:
        assert gate.ids() == before
    assert current_lease(open_storage(str(gate.location))) is None
    assert not list(gate.quarantine.glob("instant=*"))
    gate.run(spark, TAKEN)
    assert sorted(gate.amounts(spark)) == [*before, 10, 11, *range(13, 20)]
    assert [row["id"] for row in quarantined_in(gate.quarantine)] == [12]
    assert [path.name for path in gate.quarantine.iterdir() if path.name.startswith(".")] == []
