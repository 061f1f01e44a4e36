"""Executors that are lost in the middle of loads: their stages are computed again, rows are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from framework.vocabulary import TableType
from tests.spark.faults.executor_loss import DAYS, IDS
from tests.support.writing import rows_of

pytestmark = [pytest.mark.spark, pytest.mark.crash]

PROGRAM = Path(__file__).with_name("executor_loss.py")
FUNCTIONS = [
    "classify_task",
    "compare_task",
    "gather_task",
    "group_task",
    "incoming_task",
    "tag_task",
]


@pytest.mark.parametrize(
    "kind", [TableType.COPY_ON_WRITE, pytest.param(TableType.MERGE_ON_READ, marks=pytest.mark.full)]
)
def test_loads_that_lose_executors_lose_no_row_and_double_none(
    kind: TableType, tmp_path: Path
) -> None:
    """A shuffle loses its output during a fetch, and each of our tasks ends without reporting."""
    root = str(PROGRAM.parents[3])
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path), kind],
        env={**os.environ, "PYTHONPATH": root, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    outcome = json.loads(ended.stdout.splitlines()[-1])
    assert outcome["killed while fetching"] == 1
    assert outcome["recomputed"] >= 1, "no stage was computed again"
    assert outcome["killed in"] == FUNCTIONS
    assert outcome["lost"] >= 1 + len(FUNCTIONS)
    first, second = outcome["accounts"]
    assert (first["input"], first["inserted"]) == (IDS, IDS)
    assert (second["input"], second["updated"], second["inserted"]) == (1_500, 1_000, 500)
    rows = {row["id"]: row for row in rows_of(str(tmp_path / "table"))}
    assert len(rows_of(str(tmp_path / "table"))) == len(rows) == IDS + 500
    for number, row in rows.items():
        version = 2 if number >= IDS - 1_000 else 1
        assert (row["n"], row["v"]) == (10 * version + 3, f"{number}.3")
        assert row["_hoodie_partition_path"] == f"day=d{number % DAYS}"
