"""The check that Spark can run each check, before any row is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from framework.errors import PlanError
from framework.plan.quality.model import Check
from framework.spark.checking.predicates import bad_sql, observed_sql
from framework.spark.reading.jvm import Jvm
from framework.spark.spec_sql import check_expression, check_frame, check_query
from framework.spark.task_faults import SPARK_REFUSES, first_line, typed
from framework.vocabulary import CheckKind

__all__ = ["VIEW", "query_frame", "refuse_unclear"]

VIEW = "this"
"""The view of the rows, for queries."""


def refuse_unclear(frame: DataFrame, checks: Sequence[Check]) -> None:
    """Refuse checks that Spark rejects for rows like those of a frame; reads no rows.

    Raises:
        PlanError: `quality/bad-sql`, with every faulty check; `sql/not-allowed`.
    """
    with Jvm(frame.sparkSession).speaking():
        faults = [(check, fault) for check in checks if (fault := _fault(frame, check))]
    if not faults:
        return
    described = [f"`{check.name}`: {fault}" for check, fault in faults]
    raise PlanError(
        "quality/bad-sql",
        "Spark rejects the check " + "\n  and ".join(described),
        remedy=f"Columns are {', '.join(frame.columns[:40])}.",
    )


def query_frame(frame: DataFrame, check: Check) -> DataFrame:
    """Return the rows of a check's query over the rows of a frame."""
    session = frame.sparkSession
    frame.createOrReplaceTempView(VIEW)
    sql = check.text.strip().rstrip(";")
    check_query(session, sql, (VIEW,))  # Spark runs a command immediately
    found = session.sql(sql)
    check_frame(found, (VIEW,))
    return found


def _fault(frame: DataFrame, check: Check) -> str:
    """Return Spark's objection to a check, "" if there is none."""
    try:
        with typed(passing=SPARK_REFUSES):
            return _ANALYSES[check.kind](frame, check)
    except SPARK_REFUSES as error:
        return first_line(error)
    except PlanError as error:
        named = f"the check `{check.name}`: {error.message}"
        raise PlanError(error.condition, named, remedy=error.remedy) from error


def _predicate(frame: DataFrame, check: Check) -> str:
    """Analyse a row predicate in a filter, where Spark allows no aggregates and no windows."""
    for sql in filter(None, (check.where, check.text)):
        check_expression(frame.sparkSession, sql, (VIEW,))
        filtered = frame.where(expr(f"(\n{sql}\n)"))
        kind = frame.select(expr(f"(\n{sql}\n)")).schema[0].dataType.simpleString()
        if kind != "boolean":
            return f"`{sql}` is {kind}, not true or false"
        if not _is_deterministic(filtered):
            return f"`{sql}` is not deterministic"
    frame.agg(expr(f"count_if({bad_sql(check)})"))
    return ""


def _aggregate(frame: DataFrame, check: Check) -> str:
    check_expression(frame.sparkSession, check.text, (VIEW,))
    found = frame.agg(expr(f"(\n{check.text}\n)").alias("holds"))
    kind = found.schema[0].dataType.simpleString()
    if kind != "boolean":
        return f"`{check.text}` is {kind}, not true or false"
    if shown := observed_sql(check.text):
        frame.agg(expr(f"cast((\n{shown}\n) as string)"))
    return ""


def _query(frame: DataFrame, check: Check) -> str:
    query_frame(frame, check)
    return ""


def _expectation(frame: DataFrame, check: Check) -> str:
    """Check the columns that an expectation names, and its own SQL."""
    if isinstance(condition := check.arguments.get("row_condition"), str):
        check_expression(frame.sparkSession, condition, (VIEW,))
    known = {name.lower() for name in frame.columns}
    named = [
        name
        for argument, value in check.arguments.items()
        if argument.startswith("column") and argument != "column_index"
        for name in (
            [value] if isinstance(value, str) else value if isinstance(value, list) else []
        )
        if isinstance(name, str)
    ]
    if check.text.startswith("expect_table_"):
        return ""  # these check sets of columns, which may be missing
    lost = [name for name in named if name.lower() not in known]
    return f"there is no column {', '.join(f'`{name}`' for name in lost)}" if lost else ""


def _is_deterministic(frame: DataFrame) -> bool:
    """Return whether the last step of a frame is deterministic."""
    return bool(Jvm(frame.sparkSession).analysed(frame).deterministic())


_ANALYSES: Mapping[CheckKind, Callable[[DataFrame, Check], str]] = {
    CheckKind.EXPECT: _predicate,
    CheckKind.EXPECT_AGGREGATE: _aggregate,
    CheckKind.QUERY: _query,
    CheckKind.GX: _expectation,
}
