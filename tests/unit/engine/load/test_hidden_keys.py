"""Keys that log files delete, and a later load inserts again.

Apache Hudi looks up keys in base files alone. If the old base file had such a key still, and the
base file of another group had it too, its next version would be written into both.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from framework.engine.load import key_lots
from framework.engine.reading.table import open_table
from framework.engine.reading.views import LISTED, latest_slices
from framework.engine.services.compaction import (
    observe_compaction,
    observe_pending_compaction,
    run_pending_compaction,
    schedule_compaction,
)
from framework.engine.tasks import InProcessTasks
from framework.vocabulary import TableType, WriteOperation
from tests.support.writing import Lake, load, rows_of

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True, params=["held", "divided"])
def keys(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let incoming keys be held, or be divided as if they were millions."""
    if request.param == "divided":
        monkeypatch.setattr(key_lots, "_MOST_TEXTS", 0)
        monkeypatch.setattr(key_lots, "_LOT_KEYS", 1)


def a_row(key: int, ts: int) -> dict[str, Any]:
    """Return a row of the only partition."""
    return {"id": key, "day": "d", "ts": ts, "v": f"{key} at {ts}"}


def a_lake(folder: Path) -> Lake:
    """Return a table of six rows, in one file, of which log files delete one and change one."""
    lake = Lake(folder=folder, type=TableType.MERGE_ON_READ, ordering="ts")
    load(lake, WriteOperation.INSERT, [a_row(key, ts=5) for key in range(6)])
    load(lake, WriteOperation.UPSERT, [a_row(2, ts=6)])
    load(lake, WriteOperation.DELETE, [a_row(1, ts=7)])
    return lake


def keys_in_base_files(lake: Lake) -> Counter[str]:
    """Return how many of the latest base files have each key."""
    slices = latest_slices(open_table(lake.location), LISTED, None)
    names = ["_hoodie_record_key"]
    return Counter(
        key
        for each in slices
        if each.base is not None
        for key in pq.read_table(Path(lake.location) / each.base.path, columns=names)[0].to_pylist()
    )


def values(lake: Lake) -> list[str]:
    """Return a column of all rows."""
    return sorted(each["v"] for each in rows_of(lake.location))


@pytest.mark.parametrize("operation", [WriteOperation.UPSERT, WriteOperation.INSERT])
@pytest.mark.parametrize("ts", [3, 9], ids=["late", "later"])
def test_load_deleted_key_again_leaves_it_in_one_base_file(
    tmp_path: Path, operation: WriteOperation, ts: int
) -> None:
    """Also with a lesser ordering value than the deleted row's; other changes stay."""
    lake = a_lake(tmp_path)
    load(lake, operation, [a_row(1, ts), a_row(10, ts)])
    assert set(keys_in_base_files(lake).values()) == {1}
    expected = ["0 at 5", f"1 at {ts}", f"10 at {ts}", "2 at 6", "3 at 5", "4 at 5", "5 at 5"]
    assert values(lake) == sorted(expected)
    load(lake, WriteOperation.UPSERT, [a_row(1, ts=20)])
    assert values(lake) == sorted({*expected, "1 at 20"} - {f"1 at {ts}"})


def test_load_of_other_keys_rewrites_no_file(tmp_path: Path) -> None:
    """A deleted key stays in its base file until it is loaded again."""
    lake = a_lake(tmp_path)
    before = sorted(Path(lake.location).rglob("*.parquet"))
    load(lake, WriteOperation.UPSERT, [a_row(3, ts=9)])
    load(lake, WriteOperation.DELETE, [a_row(1, ts=9), a_row(4, ts=9)])
    assert sorted(Path(lake.location).rglob("*.parquet")) == before


def test_load_deleted_key_beside_a_pending_compaction_is_in_one_base_file(tmp_path: Path) -> None:
    """The compaction completes below the file that the load wrote, and hides no row of it."""
    lake = a_lake(tmp_path)
    assert schedule_compaction(observe_compaction(lake.location)) is not None
    load(lake, WriteOperation.UPSERT, [a_row(1, ts=9), a_row(3, ts=9)])
    expected = ["0 at 5", "1 at 9", "2 at 6", "3 at 9", "4 at 5", "5 at 5"]
    assert values(lake) == expected
    plan = observe_pending_compaction(lake.location)
    assert plan is not None
    run_pending_compaction(plan, InProcessTasks(1))
    assert values(lake) == expected
    assert set(keys_in_base_files(lake).values()) == {1}
