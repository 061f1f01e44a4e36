"""Python workers that die or fail in the middle of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.errors import TaskError
from framework.hudi.commit.lease import current_lease
from framework.hudi.storage.locations import open_storage
from framework.spark.tasks import SparkTasks
from tests.spark.faults.faulty import Fault, FaultyTasks
from tests.support.lakes import PARTITIONS, Lake
from tests.support.scenes import adopt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ALWAYS = 99


@pytest.mark.parametrize("kind", ["killed", "raises"])
def test_worker_that_fails_mid_file_is_tried_again_and_leaves_no_trace(
    spark: SparkSession, lake: Lake, tmp_path: Path, kind: str
) -> None:
    """The first attempt of each writing task leaves half a file; the second one's files count."""
    fault = Fault(kind=kind, witness=str(tmp_path))
    result = adopt(lake.scene, tasks=FaultyTasks(SparkTasks(spark), fault))
    assert len(fault.notes(f"{kind}-0")) == PARTITIONS
    assert len(fault.notes("done-1")) == PARTITIONS
    assert not fault.notes("done-0")
    assert result is not None
    lake.check_whole()


@pytest.mark.parametrize("kind", ["killed", "raises"])
def test_task_whose_attempts_all_fail_is_named_and_undone(
    spark: SparkSession, lake: Lake, tmp_path: Path, kind: str
) -> None:
    """The run fails as a task's failure, with the file; nothing is left and the lease is free."""
    fault = Fault(kind=kind, witness=str(tmp_path), attempts=ALWAYS)
    with pytest.raises(TaskError) as caught:
        adopt(lake.scene, tasks=FaultyTasks(SparkTasks(spark), fault))
    assert fault.notes(f"{kind}-0")
    assert fault.notes(f"{kind}-1")
    assert caught.value.condition == "task/failed"
    lake.check_absent()
    assert current_lease(open_storage(str(lake.table))) is None
