"""Work on a thread of its own: what it gives back, what it inherits, and what it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.errors import TaskError
from framework.spark.jobs import run_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_job_is_in_the_group_of_the_caller_and_leaves_no_tag(spark: SparkSession) -> None:
    """Cancelling the caller's group cancels the job too."""
    context = spark.sparkContext
    context.setJobGroup("of-the-caller", "what the caller does")
    try:
        assert run_job(context, "count", spark.range(5).count) == 5
        assert context.statusTracker().getJobIdsForGroup("of-the-caller")
    finally:
        context._jsc.clearJobGroup()  # noqa: SLF001 - PySpark has no way to leave a group
    assert not list(context.getJobTags())


def test_job_that_fails_raises_our_error(spark: SparkSession) -> None:
    """On the thread that waits."""
    broken = spark.sql("select cast(raise_error('broken by hand') as int) as x from range(3)")
    with pytest.raises(TaskError, match="broken by hand"):
        run_job(spark.sparkContext, "fail", broken.collect)
