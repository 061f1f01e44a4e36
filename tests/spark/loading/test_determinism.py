"""Which expressions are named as not deterministic, and which are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

from framework.errors import PlanError
from framework.plan.load import InputRequest
from framework.spark.loading.determinism import (
    indeterminate,
    nondeterministic,
    refuse_indeterminate,
)
from framework.spark.loading.frames import open_input
from tests.support.inputs import an_input, write_rows

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "sql",
    [
        "select *, upper(v) as u from source",
        "select current_timestamp() as a, now() as b, current_date() as c from source",
        "select v, count(*) as c, max(id) as m from source group by v",
        "select * from source s where exists (select 1 from source o where o.id = s.id)",
        "select id, row_number() over (order by id) as n from source",
        "select steady(v) as s from source",
    ],
)
def test_deterministic_input_names_nothing(spark: SparkSession, tmp_path: Path, sql: str) -> None:
    """The time is one for a whole query."""
    assert _named(spark, tmp_path, sql) == ()


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select rand() as r from source", "rand"),
        ("select uuid() as u, rand() as r, uuid() as w from source", "rand uuid"),
        ("select monotonically_increasing_id() as m from source", "monotonically_increasing_id"),
        ("select shuffle(array(1, 2)) as s from source", "shuffle"),
        ("select abs(rand()) + length(uuid()) as n from source", "rand uuid"),
        ("select id from source where rand() < 0.5", "rand"),
        ("select id, (select rand()) as r from source", "rand"),
        ("with a as (select uuid() as u from source) select * from a", "uuid"),
        ("select steady(draw(v)) as d from source", "draw"),
    ],
)
def test_nondeterministic_expressions_are_named(
    spark: SparkSession, tmp_path: Path, sql: str, names: str
) -> None:
    """Wherever they are: in filters, below others, in subqueries, in functions of a user."""
    assert " ".join(_named(spark, tmp_path, sql)) == names


def test_expression_of_an_earlier_transform_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """A view is part of the plan that uses it."""
    found = _named(spark, tmp_path, "select *, rand() as r from source", "select r from t1")
    assert found == ("rand",)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        (
            "select rand() as r, count(*) as n from (select v from source group by v) group by 1",
            "rand",
        ),
        ("select *, uuid() as u from (select distinct v from source) distribute by u", "uuid"),
        ("select * from (select distinct v from source) distribute by rand()", "rand"),
        (
            (
                "with a as (select v, rand() as r from source group by v)"
                " select b.v, a.v as w from a join (select distinct v from source) b on b.v = a.r"
            ),
            "rand",
        ),
        (
            "select /*+ REPARTITION(3) */ v, uuid() as u from (select distinct v from source)",
            "uuid",
        ),
        ("select draw(v) as d, count(*) as n from source group by 1", "draw"),
    ],
)
def test_rows_that_a_recomputation_would_move_are_refused(
    spark: SparkSession, tmp_path: Path, sql: str, names: str
) -> None:
    """A shuffle places rows by values that are not the same in a second attempt."""
    frame, request = _opened(spark, tmp_path, sql)
    with pytest.raises(PlanError) as caught:
        refuse_indeterminate(frame, request)
    assert caught.value.condition == "input/indeterminate"
    assert indeterminate(frame) == tuple(names.split())
    assert names in caught.value.message


@pytest.mark.parametrize(
    "sql",
    [
        "select id, rand() as r from source",
        "select rand() as r, count(*) as n from source group by 1",
        "select id, uuid() as u from source distribute by u",
        "select *, uuid() as u from (select v, count(*) as n from source group by v)",
        (
            "with a as (select v, uuid() as u from source group by v)"
            " select a.v, a.u, b.id from a join source b on b.v = a.v"
        ),
        "select date(current_timestamp()) as d, v from source group by 1, 2",
    ],
)
def test_rows_that_stay_in_their_partitions_are_not_refused(
    spark: SparkSession, tmp_path: Path, sql: str
) -> None:
    """Over files Spark's seeds give the same values again; others are only stored, by one task."""
    frame, request = _opened(spark, tmp_path, sql)
    assert indeterminate(frame) == ()
    assert refuse_indeterminate(frame, request) == nondeterministic(frame)


def test_spark_itself_takes_a_shuffle_by_random_values_for_reproducible(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its level of the rows is not INDETERMINATE, so it would compute only the lost tasks again."""
    caller = spark.newSession()
    caller.conf.set("spark.sql.adaptive.enabled", "false")
    write_rows(tmp_path / "a.parquet")
    sql = "select * from (select distinct v from source) distribute by rand()"
    frame = open_input(caller, an_input(tmp_path, sql))
    rows = frame._jdf.queryExecution().toRdd()  # noqa: SLF001 - Spark's own judgement
    assert str(rows.outputDeterministicLevel()) == "UNORDERED"
    assert indeterminate(frame) == ("rand",)


def _named(spark: SparkSession, folder: Path, *sql: str) -> tuple[str, ...]:
    """Return what is named, with two functions of the user's at hand."""
    return nondeterministic(_opened(spark, folder, *sql)[0])


def _opened(spark: SparkSession, folder: Path, *sql: str) -> tuple[DataFrame, InputRequest]:
    """Return an input as a frame, and its request."""
    write_rows(folder / "a.parquet")
    caller = spark.newSession()
    caller.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    caller.udf.register("draw", udf(lambda text: text).asNondeterministic())
    caller.udf.register("steady", lambda text: text)
    request = an_input(folder, *sql)
    return open_input(caller, request), request
