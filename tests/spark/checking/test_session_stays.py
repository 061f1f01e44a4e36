"""The caller's session is as it was, whatever its checks found; verdicts do not depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from framework.errors import FrameworkError, TaskError
from framework.spark import read, run
from framework.spark.reading.columns import constants
from tests.support.checks import Gate, good_rows
from tests.support.session_state import session_state

pytestmark = pytest.mark.spark

ALL_KINDS: tuple[dict[str, Any], ...] = (
    {"name": "taken", "expect": "id <> 12", "on_fail": "quarantine"},
    {"name": "known", "expect": "amount >= 0"},
    {"name": "count", "expect_aggregate": "count(*) > 3", "over": "table"},
    {"name": "query", "query": "SELECT a.id FROM this a JOIN this b ON a.id = b.id + 100"},
    {"name": "gx", "gx": "expect_column_values_to_not_be_null", "arguments": {"column": "id"}},
)
FAILS = {"name": "fails", "query": "SELECT * FROM this WHERE id = 11"}
BREAKS = {"name": "breaks", "expect": "CAST(concat(day, 'x') AS int) > 0"}
UNCLEAR = {"name": "unclear", "query": "SELECT nothing FROM this"}


@pytest.fixture
def furnished(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SparkSession]:
    """The session with things of its user's: views, one called `this`, a cache, a group.

    What libraries change when they are first imported has changed already.
    """
    import_module("framework.spark.checking.expectations")
    constants(spark, {"text": ["x"]})
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    spark.sql("create database if not exists own")
    spark.catalog.setCurrentDatabase("own")
    spark.range(3).createOrReplaceTempView("this")
    spark.range(4).createOrReplaceTempView("source")
    spark.catalog.cacheTable("this")
    spark.sparkContext.setJobGroup("of-the-caller", "what the caller does")
    yield spark
    spark.sparkContext._jsc.clearJobGroup()  # noqa: SLF001 - no other way to leave a group
    spark.catalog.uncacheTable("this")
    for view in ("this", "source"):
        spark.catalog.dropTempView(view)
    spark.catalog.setCurrentDatabase("default")
    spark.sql("drop database own cascade")


@pytest.mark.parametrize("operation", ["metadata_only", "upsert"])
def test_session_is_unchanged_after_any_result_of_a_run_with_checks(
    furnished: SparkSession, tmp_path: Path, operation: str
) -> None:
    """Refused by a check, broken, unclear, and passed: confs, views, cache, group and database."""
    gate = Gate(folder=tmp_path / "gate", operation=operation)
    gate.begin()
    gate.put("one", good_rows(range(10, 20)))
    before = session_state(furnished)
    for last in (FAILS, BREAKS, UNCLEAR, None):
        checks = [*ALL_KINDS, *([last] if last else [])]
        with suppress(FrameworkError):
            gate.run(furnished, *checks)
        assert session_state(furnished) == before, last
    assert 11 in gate.amounts(furnished)
    assert 12 not in gate.amounts(furnished)
    assert furnished.sql("select count(*) n from this").collect()[0].n == 3
    assert furnished.catalog.isCached("this")


def test_session_that_is_active_stays_so_while_another_one_works(
    spark: SparkSession, tmp_path: Path
) -> None:
    """For Python and for Java, and after a run that is refused."""
    gate = Gate(folder=tmp_path, operation="insert")
    gate.put("one", good_rows(range(10, 20)))
    beside = spark.newSession()
    beside.createDataFrame([(1,)], "id int")  # which makes it the active one
    try:
        active = SparkSession.getActiveSession()
        gate.refused(spark, *ALL_KINDS, FAILS)
        gate.run(spark, *ALL_KINDS)
        assert SparkSession.getActiveSession() is active is beside
        assert SparkSession.active().conf.get("spark.sql.session.timeZone") == "UTC"
    finally:
        spark.createDataFrame([(1,)], "id int")


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_checks_are_ansi_and_utc_whatever_the_session_says(
    spark: SparkSession, tmp_path: Path, ansi: str
) -> None:
    """Text that is no number is no null but no verdict, and a day begins where UTC's does."""
    beside = spark.newSession()
    beside.conf.set("spark.sql.ansi.enabled", ansi)
    beside.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    gate = Gate(folder=tmp_path, operation="insert")
    rows = pa.Table.from_pylist(good_rows(range(3)))
    times = pa.array([datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (0, 12, 23)])
    gate.put("one", rows.append_column("at", times.cast(pa.timestamp("us", "UTC"))))
    for null_where_it_is_no_number in (
        {"name": "c", "expect": "CAST(day AS int) IS NULL"},
        {"name": "c", "expect": "CAST(day AS int) IS NOT NULL", "on_fail": "quarantine"},
        {"name": "c", "expect_aggregate": "count(CAST(day AS int)) = 0"},
        {"name": "c", "query": "SELECT id FROM this WHERE CAST(day AS int) IS NOT NULL"},
    ):
        with pytest.raises(TaskError) as caught:
            gate.run(beside, null_where_it_is_no_number)
        assert caught.value.condition == "audit/check-not-run"
        assert "`c`" in caught.value.message
    gate.run(
        beside,
        {"name": "day", "expect": "to_date(at) = '2026-01-01'"},
        {"name": "late", "expect": "hour(at) < 23", "on_fail": "drop"},
        {"name": "days", "expect_aggregate": "count(DISTINCT to_date(at)) = 1"},
        {"name": "hours", "query": "SELECT id FROM this WHERE hour(at) NOT IN (0, 12)"},
    )
    assert sorted(row.id for row in read(spark, gate.location).collect()) == [0, 1]
    assert beside.conf.get("spark.sql.ansi.enabled") == ansi


def test_views_and_settings_of_the_session_are_not_seen_by_checks(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A query sees the rows alone: a view of the session is refused before anything is read."""
    beside = spark.newSession()
    beside.range(1000).createOrReplaceTempView("known")
    gate = Gate(folder=tmp_path, operation="insert")
    gate.put("one", good_rows(range(3)))
    spec = gate.spec({"name": "c", "query": "SELECT * FROM this WHERE id NOT IN (TABLE known)"})
    with pytest.raises(FrameworkError) as caught:
        run(beside, spec)
    assert caught.value.condition == "spec/bad-sql"
    assert not gate.location.exists()
