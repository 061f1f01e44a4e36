"""Check that SQL of a spec may run in a session, by Spark's own parse (ADR 0021).

`validate` has checked the text before; SQL that it parsed differently from Spark is refused here.
The parsed text is checked before any analysis, since Spark opens files during analysis; the
analysed plan is checked afterwards, for what names resolved to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Final

from framework.errors import PlanError
from framework.spark.reading.jvm import Jvm
from framework.spec.sql.functions import function_fault, refused_functions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["check_expression", "check_frame", "check_query"]

_READS: Final = frozenset(
    """
    Aggregate AsOfJoin Deduplicate Distinct Except Filter Generate GlobalLimit Intersect Join
    LateralJoin LimitAll LocalLimit LocalRelation Offset OneRowRelation Pivot Project
    RebalancePartitions Repartition RepartitionByExpression ResolvedInlineTable Sample Sort
    SubqueryAlias Union UnresolvedHaving UnresolvedHint UnresolvedInlineTable UnresolvedPivot
    UnresolvedRelation UnresolvedSubqueryColumnAliases UnresolvedTVFAliases
    UnresolvedTableValuedFunction UnresolvedWith Unpivot WithWindowDefinition
    """.split()  # noqa: SIM905 - a list of this length is easier to read as text
)
"""Nodes of Spark's parser in queries that only read, in Spark 3.5 to 4.1."""

_OWN_ROWS: Final = frozenset({"OneRowRelation", "LocalRelation", "Range"})
_INNER_ROWS: Final = frozenset({"CTERelationRef", "UnionLoopRef"})
_SUBSTITUTION: Final = "spark.sql.variable.substitute"
_REFUSED_CLASSES: Final = frozenset(
    """
    CallMethodViaReflection TryReflect InputFileName InputFileBlockStart InputFileBlockLength
    CurrentUser CurrentCatalog CurrentDatabase SparkVersion FromAvro ToAvro SchemaOfAvro
    FromProtobuf ToProtobuf XmlToStructs SchemaOfXml AvroDataToCatalyst CatalystDataToAvro
    ProtobufDataToCatalyst CatalystDataToProtobuf PythonWorkerLogs ScriptTransformation
    """.split()  # noqa: SIM905 - likewise
)
"""The classes of refused functions, whatever name they were called by."""


def check_query(session: SparkSession, sql: str, views: Collection[str]) -> None:
    """Refuse a query that calls forbidden functions or reads other tables than the views.

    Nothing is analysed, opened or run; costs some calls to Java for each part of the query.

    Raises:
        PlanError: `sql/not-allowed`.
        ParseException: Spark does not accept it as a query.
    """
    jvm = Jvm(session)
    _check_substitution(session, sql)
    _Parsed(jvm, views).plan(jvm.parsed_query(sql))


def check_expression(session: SparkSession, sql: str, views: Collection[str]) -> None:
    """Refuse an expression that calls forbidden functions, or queries other views.

    Raises:
        PlanError: `sql/not-allowed`.
        ParseException: Spark does not accept it as an expression.
    """
    jvm = Jvm(session)
    _check_substitution(session, sql)
    _Parsed(jvm, views).expression(jvm.parsed_expression(sql))


def check_frame(frame: DataFrame, views: Collection[str]) -> None:
    """Refuse the frame of a query whose analysed plan reads anything but the views.

    Raises:
        PlanError: `sql/not-allowed`.
    """
    jvm = Jvm(frame.sparkSession)
    names = {view.lower() for view in views}
    _check_analysed(jvm, jvm.analysed(frame), names)


def _check_substitution(session: SparkSession, sql: str) -> None:
    """Refuse text with `${…}` if the session would substitute settings or the environment."""
    if "${" in sql and str(session.conf.get(_SUBSTITUTION, "true")).lower() == "true":
        raise _refusal(f"the session replaces `${{…}}` in SQL, because of {_SUBSTITUTION}")


def _refusal(reason: str) -> PlanError:
    return PlanError(
        "sql/not-allowed",
        f"SQL of the spec is not allowed: {reason}",
        remedy="Call functions of Spark that compute from the rows, and read the declared views.",
    )


class _Parsed:
    """A walk over the parsed form of a text."""

    def __init__(self, jvm: Jvm, views: Collection[str]) -> None:
        """Set the views that may be read."""
        self._jvm = jvm
        self._views = {view.lower() for view in views}
        self._catalog = jvm.session.sessionState().catalog()

    def plan(self, plan: Any) -> None:
        """Refuse a plan with parts that are not allowed."""
        kind = _kind(plan)
        if kind not in _READS:
            raise _refusal(f"a query of a spec may not use `{kind}`")
        if kind == "UnresolvedWith":
            self._views |= {str(each.alias()).lower() for each in self._inner(plan)}
        elif kind == "UnresolvedRelation":
            self._relation([str(part) for part in self._jvm.listed(plan.multipartIdentifier())])
        elif kind in ("UnresolvedTableValuedFunction", "UnresolvedTVFAliases"):
            self._function([str(part) for part in self._jvm.listed(plan.name())])
        for each in (*self._inner(plan), *self._jvm.listed(plan.children())):
            self.plan(each)
        for each in _expressions(self._jvm, plan, kind):
            self.expression(each)

    def expression(self, expression: Any) -> None:
        """Refuse an expression with parts that are not allowed."""
        kind = _kind(expression)
        if kind == "UnresolvedFunction":
            self._function([str(part) for part in self._jvm.listed(expression.nameParts())])
        elif kind == "UnresolvedGenerator":
            self._function(str(expression.name().unquotedString()).split("."))
        elif "Identifier" in kind or kind in _REFUSED_CLASSES:
            raise _refusal(f"an expression of a spec may not use `{kind}`")
        elif self._jvm.is_expression(expression, "PlanExpression"):
            self.plan(expression.plan())
        for child in self._jvm.listed(expression.children()):
            self.expression(child)

    def _inner(self, plan: Any) -> list[Any]:
        """Return a plan's common table expressions; others repeat their subqueries here."""
        return self._jvm.listed(plan.innerChildren()) if _kind(plan) == "UnresolvedWith" else []

    def _relation(self, parts: list[str]) -> None:
        """Refuse a table that is not a declared view."""
        if len(parts) != 1 or parts[0].lower() not in self._views:
            raise _refusal(f"it reads `{'.'.join(parts)}`, which is not a view of the spec")

    def _function(self, parts: list[str]) -> None:
        """Refuse a function that is neither allowed nor registered by the caller."""
        name = ".".join(parts)
        is_sign = len(parts) == 1 and not any(letter.isalnum() for letter in name)
        fault = None if is_sign else function_fault(name)
        if fault is not None and not (len(parts) == 1 and self._is_registered(name)):
            raise _refusal(fault)

    def _is_registered(self, name: str) -> bool:
        """Return whether the caller registered the function, under a name that is not refused."""
        found = self._jvm.function_identifier(name)
        return name.lower() not in refused_functions() and bool(
            self._catalog.isTemporaryFunction(found)
        )


def _expressions(jvm: Jvm, plan: Any, kind: str) -> Iterator[Any]:
    """Yield the expressions of a parsed plan; named windows are in a map of their own."""
    yield from jvm.listed(plan.expressions())
    if kind == "WithWindowDefinition":
        yield from jvm.listed(plan.windowDefinitions().values().toSeq())


def _check_analysed(jvm: Jvm, plan: Any, views: Collection[str]) -> None:
    """Refuse an analysed plan that reads rows from anywhere but the views and itself."""
    kind = _kind(plan)
    if kind == "View" and bool(plan.isTempView()):
        if str(plan.desc().identifier().table()).lower() in views:
            return  # its plan was checked when it was created
        raise _refusal(f"it reads the view `{plan.desc().identifier().table()}`")
    children = jvm.listed(plan.children())
    if not children and kind not in _OWN_ROWS | _INNER_ROWS:
        raise _refusal(f"it reads `{str(plan.simpleStringWithNodeId())[:80]}`")
    if kind in _REFUSED_CLASSES:
        raise _refusal(f"a query of a spec may not use `{kind}`")
    for child in children:
        _check_analysed(jvm, child, views)
    for expression in jvm.listed(plan.expressions()):
        _check_analysed_expression(jvm, expression, views)


def _check_analysed_expression(jvm: Jvm, expression: Any, views: Collection[str]) -> None:
    """Refuse an analysed expression that resolved to a function that is not allowed."""
    kind = _kind(expression)
    if kind in _REFUSED_CLASSES:
        raise _refusal(f"an expression of a spec may not use `{kind}`")
    if jvm.is_expression(expression, "PlanExpression"):
        _check_analysed(jvm, expression.plan(), views)
    for child in jvm.listed(expression.children()):
        _check_analysed_expression(jvm, child, views)


def _kind(node: Any) -> str:
    return str(node.getClass().getSimpleName()).removesuffix("$")
