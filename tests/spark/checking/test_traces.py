"""Great Expectations leaves the process, the session and the disk as they were."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from framework.engine.results import CheckResult
from framework.errors import EngineError, TaskError
from tests.support.expectations import a_check, six_rows
from tests.support.session_state import session_state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[..., tuple[CheckResult, ...]]

pytestmark = pytest.mark.spark
SOUND = a_check("expect_column_values_to_not_be_null", column="a")
BAD = a_check("expect_column_values_to_be_in_set", column="s", value_set=["aa"])
BROKEN = a_check("expect_column_values_to_match_regex", column="s", regex="[")


@pytest.fixture(scope="session")
def run() -> Run:
    """Run checks; the import of Great Expectations takes seconds, so it waits for a test."""
    found: Run = import_module("framework.spark.checking.expectations").run_expectations
    return found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the home and the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("checks", [[SOUND, BAD], [BROKEN]], ids=["sound", "broken"])
def test_session_and_process_are_unchanged_after_any_result_of_checks(
    spark: SparkSession,
    run: Run,
    checks: list[Any],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Confs, views, what is cached, job group, log handlers, warning filters, files, output."""
    spark.range(3).createOrReplaceTempView("kept")
    spark.catalog.cacheTable("kept")
    spark.sparkContext.setJobGroup("of-the-caller", "what the caller does")
    try:
        before = (session_state(spark), spark.catalog.isCached("kept"))
        capfd.readouterr()
        with suppress(TaskError):
            run(six_rows(spark), checks, samples=2)
        assert capfd.readouterr() == ("", "")
        assert (session_state(spark), spark.catalog.isCached("kept")) == before
    finally:
        spark.sparkContext._jsc.clearJobGroup()  # noqa: SLF001 - no other way to leave a group
        spark.catalog.uncacheTable("kept")
        spark.catalog.dropTempView("kept")


def test_frame_of_a_session_beside_is_checked_in_that_session(
    spark: SparkSession, run: Run
) -> None:
    """Its own confs hold, and no session is looked up or made."""
    beside = spark.newSession()
    beside.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    frame = beside.sql("select timestamp_seconds(0) t")
    check = a_check(
        "expect_column_values_to_be_in_set",
        column="h",
        value_set=[9],
    )
    run_on = frame.selectExpr("hour(t) h")
    (result,) = run(run_on, [check], samples=1)
    assert result.failed == 0
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


@pytest.mark.parametrize("checks", [[SOUND, BAD], [BROKEN]], ids=["sound", "broken"])
def test_nothing_holds_the_frame_after_the_call(
    spark: SparkSession, run: Run, checks: list[Any]
) -> None:
    """So that its files can go, and its session can stop."""
    frame = six_rows(spark)
    held = weakref.ref(frame)
    with suppress(TaskError):
        run(frame, checks, samples=2)
    del frame
    gc.collect()
    assert held() is None


def test_context_of_the_caller_stays_the_current_one(spark: SparkSession, run: Run) -> None:
    """A program that uses Great Expectations itself keeps its own project."""
    run(six_rows(spark), [SOUND], samples=1)
    factory = import_module("great_expectations.data_context.data_context.context_factory")
    missing = import_module("great_expectations.exceptions.exceptions").DataContextRequiredError
    with pytest.raises(missing):
        factory.project_manager.get_expectations_store()


def test_registry_of_great_expectations_is_as_before(spark: SparkSession, run: Run) -> None:
    """Our engine has the name of theirs, so that nothing is added."""
    registry: Any = import_module("great_expectations.expectations.registry")
    metrics = registry._registered_metrics  # noqa: SLF001 - it has no other way
    before = {name: set(metric["providers"]) for name, metric in metrics.items()}
    run(six_rows(spark), [SOUND, BAD], samples=1)
    assert {name: set(metric["providers"]) for name, metric in metrics.items()} == before


def test_import_changes_no_filter_and_captures_no_warnings() -> None:
    """Great Expectations would send the warnings of the whole program to a log."""
    program = """
import logging, socket, sys, warnings
def refuse(*_): raise AssertionError("the network was asked")
socket.socket.connect = refuse
import pyspark.sql
before = list(warnings.filters), warnings.showwarning, list(logging.root.handlers)
import framework.spark.checking.expectations
assert before == (list(warnings.filters), warnings.showwarning, list(logging.root.handlers))
assert logging._warnings_showwarning is None
"""
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def jobs(spark: SparkSession) -> int:
    """Return how many jobs Spark has started; the store forgets all but the last thousand."""
    java: Any = spark.sparkContext._jsc  # noqa: SLF001 - the tracker knows those of a group only
    found = java.sc().statusStore().jobsList(None)
    return 1 + max((int(found.apply(n).jobId()) for n in range(found.size())), default=-1)


def test_checks_that_judge_rows_alone_share_one_aggregate(spark: SparkSession, run: Run) -> None:
    """What one check costs, ten cost; each with bad rows costs a query more, for samples."""
    ten = [a_check("expect_column_values_to_not_be_null", f"c{i}", column="a") for i in range(5)]
    ten += [
        a_check("expect_column_values_to_be_in_set", f"s{i}", column="s", value_set=["aa", f"{i}"])
        for i in range(5)
    ]
    frame = six_rows(spark)
    counts = []
    for checks, samples in (([ten[0]], 0), (ten, 0), (ten, 3)):
        before = jobs(spark)
        run(frame, checks, samples=samples)
        counts.append(jobs(spark) - before)
    assert counts[0] == counts[1]
    assert counts[2] - counts[1] <= 5 * 2


def test_metric_that_fails_is_asked_for_once(spark: SparkSession, run: Run) -> None:
    """One broken check makes the others be computed alone, but none of them again and again."""
    sound = [
        a_check("expect_column_values_to_match_regex", f"r{i}", column="s", regex=f"^[{i}abc]")
        for i in range(5)
    ]
    before = jobs(spark)
    with pytest.raises(TaskError, match="1 of 6 checks"):
        run(six_rows(spark), [BROKEN, *sound], samples=0)
    assert jobs(spark) - before <= 2 * (1 + 1 + 8)


def test_suite_that_is_cancelled_ends_at_once(spark: SparkSession, run: Run) -> None:
    """Great Expectations would treat it as an error of one check, and continue with the next."""
    slow = spark.range(0, 2, 1, 2).selectExpr(
        "id + length(java_method('java.lang.Thread', 'sleep', 60000L)) a"
    )
    checks = [
        a_check("expect_column_values_to_be_between", f"c{i}", column="a", min_value=i)
        for i in range(20)
    ]
    context = spark.sparkContext
    tracker = context.statusTracker()

    def cancel() -> None:
        """Cancel until one job has failed: one that is just being submitted stays."""
        seen: set[int] = set()
        while not any((found := tracker.getJobInfo(n)) and found.status == "FAILED" for n in seen):
            seen |= set(tracker.getActiveJobsIds())
            context.cancelAllJobs()
            time.sleep(0.05)

    killer = threading.Thread(target=cancel)
    killer.start()
    began = time.monotonic()
    with pytest.raises(EngineError) as refused:
        run(slow, checks, samples=1)
    killer.join()
    assert refused.value.condition == "task/failed"
    assert time.monotonic() - began < 20
