"""Which expressions could give other values if the same rows were asked for again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from framework.spark.loading.column_types import refuse_columns
from framework.spark.loading.frames import open_input
from framework.spark.reading.jvm import Jvm
from framework.spark.sql_query import answer_of
from framework.spark.task_faults import typed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from framework.plan.load import InputRequest

__all__ = ["Preview", "PreviewColumn", "nondeterministic", "preview_rows"]


_ROWS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewColumn:
    """A column's name and its type in SQL's words, such as `array<decimal(10,2)>`."""

    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The first rows that would be loaded.

    Attributes:
        columns: in order.
        rows: in no order but that of the input; each a JSON object by column, times in UTC.
        has_more: whether there are more rows than were asked for.
        nondeterministic: as of `nondeterministic`.
    """

    columns: tuple[PreviewColumn, ...]
    rows: tuple[str, ...]
    has_more: bool
    nondeterministic: tuple[str, ...]


def preview_rows(spark: SparkSession, request: InputRequest, limit: int = _ROWS) -> Preview:
    """Return at most `limit` rows of what a request names, and refuse what could not be loaded.

    Costs the jobs that Spark needs for one row more; transforms that group or sort have to see all
    rows. No setting of `spark` is touched.

    Raises:
        PlanError: as of `open_input`, and `input/unsupported-type`, `schema/duplicate-name`,
            `schema/same-but-case`.
        TaskError: `task/failed`; rows could not be read or computed.
        EngineError: `spark/gone`.
    """
    frame = open_input(spark, request)
    jvm = Jvm(frame.sparkSession)
    with typed():
        refuse_columns(jvm.schema_json(frame))
        types = jvm.type_texts(frame)
        answer = answer_of(frame, limit=limit)
    pairs = zip(answer.columns, types, strict=True)
    return Preview(
        columns=tuple(PreviewColumn(name=name, type=kind) for name, kind in pairs),
        rows=answer.rows,
        has_more=answer.has_more,
        nondeterministic=nondeterministic(frame),
    )


def nondeterministic(frame: DataFrame) -> tuple[str, ...]:
    """Return the names of a frame's non-deterministic expressions, sorted, each once.

    Such are `rand`, `uuid`, `monotonically_increasing_id`, `shuffle`, and functions of a user that
    say so of themselves, by the names that they were registered with. Spark's word is taken: a
    function that draws lots in secret is not found, nor is what goes by the order of rows where
    there is none, as do a LIMIT and, by the release, `first` and `collect_list`.
    `current_timestamp` is one value for a whole query. Of nested expressions the innermost is
    named.

    Starts no job; costs a few calls to Java, and some for each branch of the plan that is not
    deterministic.
    """
    jvm = Jvm(frame.sparkSession)
    with typed():
        return tuple(sorted(set(_in_plan(jvm, jvm.analysed(frame)))))


def _in_plan(jvm: Jvm, plan: Any) -> Iterator[str]:
    """Yield names of a logical plan; one that is deterministic is so down to its leaves."""
    if plan.deterministic():
        return
    for expression in jvm.listed(plan.expressions()):
        yield from _in_expression(jvm, expression)
    for child in jvm.listed(plan.children()):
        yield from _in_plan(jvm, child)


def _in_expression(jvm: Jvm, expression: Any) -> Iterator[str]:
    """Yield names of an expression and of plans inside it."""
    if expression.deterministic():
        return
    inner = [n for child in jvm.listed(expression.children()) for n in _in_expression(jvm, child)]
    if jvm.is_expression(expression, "PlanExpression"):
        inner += _in_plan(jvm, expression.plan())
    yield from inner or [_name(jvm, expression)]


def _name(jvm: Jvm, expression: Any) -> str:
    """Return what a function is called by those who use it."""
    by_user = jvm.is_expression(expression, "UserDefinedExpression")
    return str(expression.name() if by_user else expression.prettyName())
