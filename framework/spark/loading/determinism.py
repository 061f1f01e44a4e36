"""Which expressions could give other values if the same rows were asked for again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from framework.spark.reading.jvm import Jvm
from framework.spark.task_faults import typed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["nondeterministic"]


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
