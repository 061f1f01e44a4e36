"""What a recomputed task could compute otherwise: expressions, and shuffles that depend on them.

Spark computes lost tasks again, and only those. If a shuffle places rows by a value that is
different the second time, some rows reach two reducers and others none. Spark itself recognizes
this only for RDDs (`outputDeterministicLevel`, SPARK-23243): for a shuffle by `rand()` its level is
UNORDERED, not INDETERMINATE (SPARK-38160), and asking for it starts the jobs of sorts and
broadcasts. So the level is derived here from the physical plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from framework.errors import PlanError, Where
from framework.plan.load import InputRequest
from framework.spark.reading.jvm import Jvm
from framework.spark.task_faults import typed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["indeterminate", "nondeterministic", "refuse_indeterminate"]

_EXCHANGE: Final = "org.apache.spark.sql.execution.exchange"
_PARTITIONING: Final = "org.apache.spark.sql.catalyst.plans.physical"


def nondeterministic(frame: DataFrame) -> tuple[str, ...]:
    """Return the names of a frame's nondeterministic expressions, sorted and unique.

    Such are `rand`, `uuid`, `monotonically_increasing_id`, `shuffle`, and user functions declared
    nondeterministic, by their registered names. This relies on Spark: a function that is secretly
    random is not found, nor is one that depends on an undefined order of rows, such as LIMIT and,
    depending on the release, `first` and `collect_list`. `current_timestamp` is one value for a
    whole query. Of nested expressions the innermost is named.

    Starts no job; costs a few calls to Java, and some for each nondeterministic branch of the plan.
    """
    jvm = Jvm(frame.sparkSession)
    with typed():
        return tuple(sorted({name for name, _ in _in_plan(jvm, jvm.analysed(frame))}))


def refuse_indeterminate(frame: DataFrame, request: InputRequest) -> tuple[str, ...]:
    """Return the names of `nondeterministic`, if none of them places rows in a shuffle.

    Raises:
        PlanError: `input/indeterminate`.
    """
    names = nondeterministic(frame)
    unsafe = indeterminate(frame) if names else ()
    if unsafe:
        raise PlanError(
            "input/indeterminate",
            f"Spark distributes rows by {', '.join(unsafe)}, computed from rows without a fixed"
            " order: if an executor were lost, rows would be lost and others doubled",
            where=Where(file=request.path),
            remedy="Compute it from columns, such as with hash() or sha2(), or store the rows"
            " in a first pipeline and group or join them in a second.",
        )
    return names


def indeterminate(frame: DataFrame) -> tuple[str, ...]:
    """Return the names of expressions whose recomputation would move rows between partitions.

    Such an expression is nondeterministic, its rows come out of a shuffle and so in no fixed order,
    and another shuffle places rows by a value that depends on it. Functions that users declared
    nondeterministic need no shuffle below. Over files, `rand`, `uuid` and the like give the same
    values in each attempt, since Spark fixes their seed and the order of the rows.

    Plans the frame again without adaptive execution, and starts no job.
    """
    jvm = Jvm(frame.sparkSession)
    with typed():
        walk = _Walk(jvm)
        walk.visit(jvm.planned(frame))
    return tuple(sorted(walk.found))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Below:
    """The rows of a plan: the columns that may differ, since which expressions, and their order."""

    columns: Any
    names: frozenset[str] = frozenset()
    is_shuffled: bool = False


@dataclass(slots=True)
class _Walk:
    """Follows values from the leaves of a physical plan to its root; `found` names causes."""

    jvm: Jvm
    found: set[str] = field(default_factory=set)

    def visit(self, plan: Any) -> _Below:
        """Return what is known of a plan's rows."""
        if self._is(plan, f"{_EXCHANGE}.ReusedExchangeExec"):
            below = self.visit(plan.child())
            columns = plan.outputSet() if below.columns.nonEmpty() else below.columns
            return _Below(columns=columns, names=below.names, is_shuffled=below.is_shuffled)
        below = self._joined([self.visit(each) for each in self.jvm.listed(plan.children())])
        if self._is(plan, f"{_EXCHANGE}.ShuffleExchangeLike"):
            self._place(plan.outputPartitioning(), below)
            return _Below(columns=below.columns, names=below.names, is_shuffled=True)
        return self._computed(plan, below)

    def _joined(self, children: list[_Below]) -> _Below:
        """Return what is known of the rows of all children."""
        columns = self.jvm.no_attributes()
        for each in children:
            columns = self.jvm.union(columns, each.columns)
        return _Below(
            columns=columns,
            names=frozenset().union(*(each.names for each in children)),
            is_shuffled=any(each.is_shuffled for each in children),
        )

    def _place(self, partitioning: Any, below: _Below) -> None:
        """Note the causes if rows are placed by what may differ."""
        if self._is(partitioning, f"{_PARTITIONING}.RoundRobinPartitioning"):
            if below.columns.nonEmpty():  # rows are sorted by all of their bytes first
                self.found |= below.names
        elif self.jvm.is_expression(partitioning, "Expression"):
            self.found |= self._own(partitioning, below)
            if partitioning.references().intersect(below.columns).nonEmpty():
                self.found |= below.names

    def _computed(self, plan: Any, below: _Below) -> _Below:
        """Return what is known of the rows of a plan that computes something."""
        names, columns = below.names, below.columns
        precise = self._is(plan, "org.apache.spark.sql.execution.ProjectExec")
        new = self.jvm.difference(plan.outputSet(), plan.inputSet())
        for expression in self.jvm.listed(plan.expressions()):
            own = self._own(expression, below)
            if own or expression.references().intersect(below.columns).nonEmpty():
                names |= own
                made = expression.toAttribute().references() if precise else new
                columns = self.jvm.union(columns, made)
        return _Below(columns=columns, names=names, is_shuffled=below.is_shuffled)

    def _own(self, expression: Any, below: _Below) -> frozenset[str]:
        """Return the names inside an expression that give other values when computed again."""
        named = _in_expression(self.jvm, expression)
        return frozenset(name for name, by_user in named if by_user or below.is_shuffled)

    def _is(self, value: Any, name: str) -> bool:
        return self.jvm.is_a(value, name)


def _in_plan(jvm: Jvm, plan: Any) -> Iterator[tuple[str, bool]]:
    """Yield names of a logical plan, and whether each is of a user's function.

    Below a deterministic node everything is deterministic.
    """
    if plan.deterministic():
        return
    for expression in jvm.listed(plan.expressions()):
        yield from _in_expression(jvm, expression)
    for child in jvm.listed(plan.children()):
        yield from _in_plan(jvm, child)


def _in_expression(jvm: Jvm, expression: Any) -> Iterator[tuple[str, bool]]:
    """Yield names of an expression and of plans inside it, as of `_in_plan`."""
    if expression.deterministic():
        return
    inner = [n for child in jvm.listed(expression.children()) for n in _in_expression(jvm, child)]
    if jvm.is_expression(expression, "PlanExpression"):
        inner += _in_plan(jvm, expression.plan())
    yield from inner or [_name(jvm, expression)]


def _name(jvm: Jvm, expression: Any) -> tuple[str, bool]:
    """Return a function's name as used in SQL, and whether it is a user's."""
    by_user = jvm.is_expression(expression, "UserDefinedExpression")
    return str(expression.name() if by_user else expression.prettyName()), by_user
