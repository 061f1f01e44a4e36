"""Which expressions are named as not deterministic, and which are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from framework.spark.loading.frames import nondeterministic, open_input
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


def _named(spark: SparkSession, folder: Path, *sql: str) -> tuple[str, ...]:
    """Return what is named, with two functions of the user's at hand."""
    write_rows(folder / "a.parquet")
    caller = spark.newSession()
    caller.udf.register("draw", udf(lambda text: text).asNondeterministic())
    caller.udf.register("steady", lambda text: text)
    return nondeterministic(open_input(caller, an_input(folder, *sql)))
