"""SQL of specs in the session: attacks that are past the check of `validate` are refused."""

# ruff: noqa: S608 - attacks and queries are put together from parts here

from __future__ import annotations

import os
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from framework.errors import PlanError
from framework.spark.checking.places import checking_session
from framework.spark.loading.frames import open_input
from framework.spark.reading.jvm import Jvm
from framework.spark.spec_sql import check_expression, check_frame, check_query
from tests.support.inputs import an_input, write_rows
from tests.support.spec_sql import (
    ATTACKS,
    PREDICATE_ATTACKS,
    PREDICATES,
    QUERIES,
    QUERIES_OF_SPARK_4,
)

pytestmark = pytest.mark.spark


@pytest.fixture
def own(spark: SparkSession) -> SparkSession:
    """A private session with the view `source`, of columns `id`, `v` and `items`."""
    session = Jvm(spark).own_session({})
    rows = session.range(3).selectExpr("id", "string(id) v", "array(id) items")
    rows.createTempView("source")
    return session


@pytest.mark.parametrize("sql", ATTACKS)
def test_attack_past_the_text_check_is_refused_before_it_is_analysed(
    own: SparkSession, sql: str
) -> None:
    """Spark's own parser names the function, the relation, or what is no query."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the kind is asked below
        check_query(own, sql, ("source",))
    assert getattr(caught.value, "condition", "") == "sql/not-allowed" or (
        type(caught.value).__name__ == "ParseException"
    )


@pytest.mark.parametrize("sql", PREDICATE_ATTACKS)
def test_attack_in_a_predicate_is_refused(own: SparkSession, sql: str) -> None:
    """Predicates are expressions, and may hold queries."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the kind is asked below
        check_expression(own, sql, ("this",))
    assert getattr(caught.value, "condition", "") == "sql/not-allowed" or (
        type(caught.value).__name__ == "ParseException"
    )


@pytest.mark.parametrize(
    "sql", QUERIES + (QUERIES_OF_SPARK_4 if pyspark.__version__ >= "4" else ())
)
def test_query_that_only_computes_runs(own: SparkSession, sql: str) -> None:
    """Neither check refuses what is sound, and Spark takes it."""
    check_query(own, sql, ("source",))
    frame = own.sql(sql)
    check_frame(frame, ("source",))
    frame.collect()


@pytest.mark.parametrize("sql", PREDICATES)
def test_predicate_that_only_computes_is_taken(own: SparkSession, sql: str) -> None:
    """So with expressions."""
    check_expression(own, sql, ("this",))


def test_secret_of_the_environment_does_not_reach_the_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The environment of the JVM is not put into `${env:…}`, and no function of Java runs."""
    write_rows(tmp_path / "a.parquet")
    name = next(name for name in os.environ if os.environ[name].strip() and name.isidentifier())
    sql = f"SELECT '${{env:{name}}}' AS v FROM source"
    rows = open_input(spark, an_input(tmp_path, sql)).collect()
    assert {row["v"] for row in rows} == {f"${{env:{name}}}"}
    with pytest.raises(PlanError) as caught:
        open_input(
            spark,
            an_input(tmp_path, f"SELECT java_method('java.lang.System', 'getenv', '{name}') s"),
        )
    assert caught.value.condition == "sql/not-allowed"


def test_substitution_that_is_on_is_refused(spark: SparkSession) -> None:
    """In a session that is not ours."""
    session = spark.newSession()
    session.conf.set("spark.sql.variable.substitute", "true")
    with pytest.raises(PlanError) as caught:
        check_expression(session, "v = '${env:HOME}'", ("this",))
    assert caught.value.condition == "sql/not-allowed"


def test_view_that_leads_elsewhere_is_refused_after_analysis(own: SparkSession) -> None:
    """What a name has led to is asked again, of the analysed plan."""
    own.range(2).createTempView("other")
    with pytest.raises(PlanError) as caught:
        check_frame(own.sql("SELECT id FROM source UNION SELECT id FROM other"), ("source",))
    assert caught.value.condition == "sql/not-allowed"
    with pytest.raises(PlanError):
        check_frame(own.sql("SELECT java_method('java.lang.System', 'nanoTime') a"), ("source",))
    with pytest.raises(PlanError):
        check_frame(own.sql("SELECT 1 WHERE current_user() = (SELECT 'a')"), ("source",))


def test_function_that_the_caller_registered_is_taken(spark: SparkSession) -> None:
    """It is the caller's code; under a refused name it is refused all the same."""
    caller = spark.newSession()
    caller.udf.register("own_one", lambda text: text)
    caller.udf.register("reflect", lambda text: text)
    session = checking_session(caller)
    check_expression(session, "own_one(v) = 'a'", ("this",))
    with pytest.raises(PlanError):
        check_expression(session, "reflect(v) = 'a'", ("this",))
