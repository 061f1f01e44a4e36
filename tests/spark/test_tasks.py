"""Tasks over Spark: each status once, faults as themselves, other attempts, cancellation."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.errors import (
    AuditFailedError,
    SourceDriftError,
    StorageError,
    TaskError,
    Where,
)
from framework.spark.tasks import SparkTasks, name_of
from tests.support import spark_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_each_descriptor_gives_one_status(spark: SparkSession) -> None:
    """Statuses come back once each, whatever their number is to that of cores."""
    tasks = SparkTasks(spark)
    assert tasks.parallelism == 2
    for count in (0, 1, 2, 7):
        sent = [f"{at} é\n\0" for at in range(count)]
        found = [status.rpartition(":")[0] for status in tasks.run(spark_jobs.echo, sent)]
        assert sorted(found) == sorted(sent)


def test_tasks_of_one_job_run_side_by_side(spark: SparkSession) -> None:
    """As many workers as cores share the descriptors."""
    statuses = SparkTasks(spark).run(spark_jobs.echo, ["x"] * 8)
    assert len({status.rpartition(":")[2] for status in statuses}) == 2


def test_killed_worker_is_tried_again(spark: SparkSession, tmp_path: Path) -> None:
    """A worker that dies on its first attempt costs nothing but time."""
    files = [str(tmp_path / str(at)) for at in range(3)]
    assert sorted(SparkTasks(spark).run(spark_jobs.die_once, files)) == files
    assert all((tmp_path / str(at)).read_text() == "xx" for at in range(3))


def test_worker_that_always_dies_ends_as_a_task_error(spark: SparkSession) -> None:
    """After the last attempt the error says that the worker ended."""
    with pytest.raises(TaskError) as caught:
        list(SparkTasks(spark).run(spark_jobs.die_each_time, ["x"]))
    assert caught.value.condition == "task/failed"
    assert "exited unexpectedly" in str(caught.value)


def test_lasting_fault_comes_back_as_itself_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """Class, condition, message, place and remedy survive; there is no second attempt."""
    trace = tmp_path / "trace"
    with pytest.raises(SourceDriftError) as caught:
        list(SparkTasks(spark).run(spark_jobs.drift, [str(trace)]))
    error = caught.value
    assert (error.condition, error.message) == ("source/drift", 'it is "gone": é\n')
    assert error.where == Where(file="/a b/c", partition="p=1", offset=7)
    assert error.remedy == "Wait."
    assert trace.read_text() == "x"


def test_report_of_a_refusal_survives(spark: SparkSession) -> None:
    """A refused audit has its report on the driver."""
    with pytest.raises(AuditFailedError) as caught:
        list(SparkTasks(spark).run(spark_jobs.refuse, ["row"]))
    assert caught.value.report == {"rows": ["row"]}


def test_passing_fault_is_tried_again(spark: SparkSession, tmp_path: Path) -> None:
    """A storage that fails once is asked again, and the fault is not seen."""
    descriptor = json.dumps([str(tmp_path / "trace"), 2])
    assert list(SparkTasks(spark).run(spark_jobs.fail_storage, [descriptor])) == ["done"]


def test_passing_fault_that_lasts_comes_back_as_itself(spark: SparkSession, tmp_path: Path) -> None:
    """A storage that fails on each attempt is a storage error, with its place."""
    trace = tmp_path / "trace"
    with pytest.raises(StorageError) as caught:
        list(SparkTasks(spark).run(spark_jobs.fail_storage, [json.dumps([str(trace), 9])]))
    assert (caught.value.condition, caught.value.where.file) == ("storage/full", str(trace))
    assert trace.read_text() == "xx"


def test_unforeseen_fault_is_a_task_error_with_its_cause(spark: SparkSession) -> None:
    """The first cause is in the message, the worker's trace in `__cause__`."""
    with pytest.raises(TaskError) as caught:
        list(SparkTasks(spark).run(spark_jobs.trip, ["zero"]))
    assert "ZeroDivisionError: over zero" in str(caught.value)
    assert "Traceback" in str(caught.value.__cause__)


@pytest.mark.parametrize("leave", ["close", "throw"])
def test_leaving_early_cancels_what_is_under_way(
    spark: SparkSession, tmp_path: Path, leave: str
) -> None:
    """A caller that stops iterating, or is interrupted, leaves no job running."""
    names = ["quick", "quick", "slow"]
    sent = [json.dumps([str(tmp_path), name]) for name in names]
    statuses = SparkTasks(spark).run(spark_jobs.wait_for, sent)
    assert next(statuses) == "quick"
    while not (tmp_path / "slow").exists():
        time.sleep(0.05)
    begun = time.monotonic()
    if leave == "close":
        statuses.close()  # type: ignore[attr-defined]  # it is a generator
    else:
        with pytest.raises(KeyboardInterrupt):
            statuses.throw(KeyboardInterrupt)  # type: ignore[attr-defined]  # it is a generator
    assert time.monotonic() - begun < 30
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    assert not list(tmp_path.glob("*-ended"))


def test_settings_and_tags_stay_as_they_were(spark: SparkSession) -> None:
    """A run leaves the session's settings and the thread's job tags alone."""
    spark.sparkContext.addJobTag("mine")
    before = sorted(map(tuple, spark.sql("SET -v").collect()))
    list(SparkTasks(spark).run(spark_jobs.echo, ["x"]))
    assert sorted(map(tuple, spark.sql("SET -v").collect())) == before
    assert set(spark.sparkContext.getJobTags()) == {"mine"}
    spark.sparkContext.removeJobTag("mine")


@pytest.mark.parametrize("work", [lambda text: text, str.upper, SparkTasks.__init__])
def test_function_without_a_name_of_its_own_is_refused(work: Callable[[str], str]) -> None:
    """Only a module-level function can be found by name elsewhere."""
    with pytest.raises(ValueError, match="module-level"):
        name_of(work)
