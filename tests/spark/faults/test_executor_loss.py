"""Executors that are lost in the middle of loads: their stages are computed again, rows are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from framework.vocabulary import TableType
from tests.spark.faults.executor_loss import DAYS, IDS, Keys
from tests.support.writing import rows_of

pytestmark = [pytest.mark.spark, pytest.mark.crash]

PROGRAM = Path(__file__).with_name("executor_loss.py")
_ALL = (
    *("classify_task", "compare_task", "gather_task", "group_task", "incoming_task", "tag_task"),
)
FUNCTIONS = {keys: list(_ALL) for keys in Keys}


@pytest.mark.parametrize(
    "kind", [TableType.COPY_ON_WRITE, pytest.param(TableType.MERGE_ON_READ, marks=pytest.mark.full)]
)
def test_loads_that_lose_executors_lose_no_row_and_double_none(
    kind: TableType, tmp_path: Path
) -> None:
    """A shuffle loses its output during a fetch, and each of our tasks ends without reporting."""
    first, second = lost_and_found(tmp_path, kind, Keys.COLUMN)["accounts"]
    assert (first["input"], first["inserted"]) == (IDS, IDS)
    assert (second["input"], second["updated"], second["inserted"]) == (1_500, 1_000, 500)
    rows = {row["id"]: row for row in rows_of(str(tmp_path / "table"))}
    assert len(rows_of(str(tmp_path / "table"))) == len(rows) == IDS + 500
    for number, row in rows.items():
        version = 2 if number >= IDS - 1_000 else 1
        assert (row["n"], row["v"]) == (10 * version + 3, f"{number}.3")
        assert row["_hoodie_partition_path"] == f"day=d{number % DAYS}"


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(Keys.AUTOMATIC, marks=pytest.mark.full),
        pytest.param(Keys.RANDOM, marks=pytest.mark.full),
        pytest.param(Keys.INCREASING, marks=pytest.mark.full),
    ],
)
def test_keys_that_are_made_by_a_run_that_loses_executors_stay_with_their_rows(
    keys: Keys, tmp_path: Path
) -> None:
    """Rows are pinned to files before they are numbered, shuffled by key, or looked up.

    Without that, a lost executor loses and doubles rows by random keys (K23) and by
    `monotonically_increasing_id` (K24).
    """
    outcome = lost_and_found(tmp_path, TableType.COPY_ON_WRITE, keys)
    first, second = outcome["accounts"]
    assert (first["input"], first["inserted"]) == (IDS, IDS)
    assert (second["input"], second["inserted"]) == (1_500, 1_500)
    rows = rows_of(str(tmp_path / "table"))
    found = sorted((row["n"], row["id"]) for row in rows)
    expected = [(13, each) for each in range(IDS)]
    assert found == expected + [(23, each) for each in range(IDS - 1_000, IDS + 500)]
    assert all(row["v"] == f"{row['id']}.3" for row in rows)
    assert len({row["_hoodie_record_key"] for row in rows}) == len(rows)
    if keys is Keys.AUTOMATIC:
        assert_numbered([row["_hoodie_record_key"] for row in rows])


def assert_numbered(keys: list[str]) -> None:
    """Check that the keys of each instant and file are numbered from 0 without a gap."""
    numbers: dict[str, list[int]] = {}
    for key in keys:
        file, _, row = key.rpartition("_")
        numbers.setdefault(file, []).append(int(row))
    assert all(sorted(found) == list(range(len(found))) for found in numbers.values())


def lost_and_found(folder: Path, kind: TableType, keys: Keys) -> dict[str, Any]:
    """Run the program, see that executors were lost in all of its places, and return its report."""
    root = str(PROGRAM.parents[3])
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder), kind, keys],
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
    assert outcome["killed in"] == FUNCTIONS[keys]
    assert outcome["lost"] >= 1 + len(FUNCTIONS[keys])
    return dict(outcome)
