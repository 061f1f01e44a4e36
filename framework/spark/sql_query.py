"""SQL over one of our tables, with results for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import struct, to_json

from framework.engine.reading.table import open_table
from framework.errors import PlanError
from framework.hudi.keygen.spark_sql import quote_name
from framework.hudi.timeline.clock import Moment
from framework.spark.reading.snapshot import Reading, absolute, rows_of
from framework.spark.task_faults import first_line, typed

__all__ = ["Answer", "answer_of", "query"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Rows of a query.

    Attributes:
        columns: their names, in order, made unique: a repeated name becomes `name_2`.
        rows: in the order of the query, each a JSON object by column; times are in UTC.
        has_more: whether the query has more rows than requested.
    """

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    has_more: bool


def query(
    spark: SparkSession, location: str, sql: str, *, as_of: Moment | None = None, limit: int
) -> Answer:
    """Return at most `limit` rows of a query over a table, available under its own name.

    It is also available as `this`, for tables whose name is hard to write.

    Raises:
        PlanError: `sql/wrong`; Spark rejects the query. As of `read`.
        FrameworkError: as of `read`, or a failure of tasks.
    """
    table = open_table(absolute(location), as_of)
    frame = rows_of(spark, table, Reading())
    for name in (table.properties.name, "this"):
        frame.createOrReplaceTempView(quote_name(name))
    try:
        with typed(passing=(AnalysisException, ParseException)):
            return answer_of(spark.sql(sql), limit=limit)
    except (AnalysisException, ParseException) as error:
        raise PlanError(
            "sql/wrong",
            f"Spark rejects the query: {first_line(error)}",
            remedy=f"Name the table `{table.properties.name}` or `this`.",
        ) from error


def answer_of(frame: DataFrame, *, limit: int) -> Answer:
    """Return at most `limit` rows of a frame; costs the jobs that Spark needs for one row more.

    Spark's errors are raised unchanged.
    """
    columns = _each_once(frame.columns)
    as_json = to_json(struct("*"), {"ignoreNullFields": "false", "timeZone": "UTC"})
    rows = [row[0] for row in frame.toDF(*columns).select(as_json).take(limit + 1)]
    return Answer(
        columns=columns,
        rows=tuple(rows[:limit]),
        has_more=len(rows) > limit,
    )


def _each_once(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, made unique."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in count(2))
        free = (each for each in chain([name], numbered) if each not in found)
        found.append(next(free))
    return tuple(found)
