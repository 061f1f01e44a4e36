"""What a check says of a table on an object store after a run on it has died."""

from __future__ import annotations

import time
from pathlib import Path
from uuid import uuid4

import pytest

from framework.engine.fsck.table_check import check_table
from framework.engine.tasks import InProcessTasks
from framework.hudi.commit.staging import tombstones
from framework.hudi.storage.memory_objects import MemoryObjectStorage
from framework.hudi.table.layout import TEMP
from framework.hudi.timeline.clock import ManualClock
from framework.vocabulary import WriteOperation
from tests.support.dying_objects import DyingObjects
from tests.support.fault_storage import Killed
from tests.support.transactions import recover
from tests.support.writing import Lake, load


def test_markers_that_late_files_need_are_no_finding(tmp_path: Path) -> None:
    """The next run but one deletes them, once no request of the dead run can arrive any more."""
    service = DyingObjects()
    store = MemoryObjectStorage(uuid4().hex, service)
    lake = Lake(folder=tmp_path, at=store.location)
    load(lake, WriteOperation.INSERT, [{"id": 1, "day": "mon", "v": "a"}])
    clock = ManualClock(time.time_ns() // 1_000_000)
    for step in range(8, 30):
        service.kill_at = service.steps + step
        with pytest.raises(Killed):
            load(lake, WriteOperation.UPSERT, [{"id": 1, "day": "mon", "v": "b"}])
        service.revive()
        recover(store, clock, f"{step:032x}")
        if list(store.list(TEMP)):
            break
    assert tombstones(store)
    assert list(store.list(TEMP))
    assert check_table(store.location, InProcessTasks(1)).findings == ()
    store.forget()
