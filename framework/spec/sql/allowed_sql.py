"""Check that SQL of a spec calls allowed functions and reads declared views only (ADR 0021).

This is the check of `validate`, without Spark: calls are found by Spark's lexical rules, reads by
sqlglot's parser. SQL that cannot be parsed is refused. The session repeats the check with Spark's
own parser before any analysis, so that SQL which the two parse differently does not run.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from framework.spec.document.findings import nearest
from framework.spec.sql.expression_parts import is_name, is_string, name_of
from framework.spec.sql.functions import function_fault, nearest_function, refused_functions
from framework.spec.sql.statement import StatementError, Token, tokens_of

__all__ = ["SqlFault", "expression_faults", "query_faults"]

_BEFORE_BRACKETS = frozenset(
    """
    ALL AND ANTI ANY AS BETWEEN BY CASE CROSS CUBE DISTINCT DIV ELSE EXCEPT EXCLUDE EXISTS FILTER
    FROM FULL GROUP HAVING ILIKE IN INCLUDE INNER INTERSECT IS JOIN LATERAL LIKE LIMIT MATERIALIZED
    MINUS NATURAL NOT OFFSET ON OR ORDER OUTER OVER PARTITION PIVOT QUALIFY REGEXP RLIKE ROLLUP
    SELECT SEMI SETS SOME TABLESAMPLE THEN UNION UNPIVOT USING VALUES WHEN WHERE WITH WITHIN XOR
    CHARACTER DEC NUMERIC VARCHAR
    """.split()  # noqa: SIM905 - a list of this length is easier to read as text
)
"""Words before a bracket that are not functions: keywords, and types with a length."""

_SHOWN = 10
_SUBQUERY = ("SELECT", "WITH", "FROM", "TABLE", "VALUES", "MAP", "REDUCE")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlFault:
    """One fault; `rule` has no `spec/` prefix, `offset` and `length` count characters."""

    rule: str
    message: str
    offset: int
    length: int = 1
    suggestion: str | None = None


def query_faults(sql: str, views: Collection[str]) -> list[SqlFault]:
    """Return the faults of a finished statement, in order; it may read `views` only.

    Loads sqlglot, which adds 0.13 s to the first query of a process.

    Raises:
        StatementError: as of `tokens_of`.
    """
    tokens = list(tokens_of(sql))
    try:
        tree = _tree(sql)
    except StatementError as error:
        found = [*_calls(tokens, frozenset()), _unread(error)]
    else:
        aliases = frozenset(_aliases(tree))
        found = [*_calls(tokens, aliases), *_reads(tree, views)]
    return sorted(found, key=lambda fault: fault.offset)


def expression_faults(sql: str, views: Collection[str]) -> list[SqlFault]:
    """Return the faults of an expression; queries inside it may read `views` only.

    Raises:
        StatementError: as of `tokens_of`.
    """
    tokens = list(tokens_of(sql))
    if not any(_begins_query(tokens, index) for index in range(len(tokens))):
        return list(_calls(tokens, frozenset()))
    before = "SELECT "
    moved = query_faults(f"{before}{sql}", views)
    return [
        SqlFault(
            rule=fault.rule,
            message=fault.message,
            offset=max(0, fault.offset - len(before)),
            length=fault.length,
            suggestion=fault.suggestion,
        )
        for fault in moved
    ]


def _begins_query(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a query may start at the token: a word after an opening bracket."""
    return index > 0 and tokens[index - 1].text == "(" and tokens[index].text in _SUBQUERY


def _calls(tokens: Sequence[Token], aliases: frozenset[int]) -> Iterator[SqlFault]:
    """Yield calls that are not allowed; `aliases` are offsets of names with a list of columns."""
    for index, token in enumerate(tokens):
        if token.text == "(" and index > 0:
            yield from _call(tokens, index - 1, aliases)
        elif token.text == "USING" and is_string(tokens[min(index + 1, len(tokens) - 1)]):
            message = "a query of a spec runs no script, as `TRANSFORM … USING` does"
            yield SqlFault(rule="bad-sql", message=message, offset=token.offset, length=5)
        elif _stands_alone(tokens, index):
            yield _refused(token.raw, token.offset, len(token.raw))


def _call(tokens: Sequence[Token], last: int, aliases: frozenset[int]) -> Iterator[SqlFault]:
    """Yield the call whose name ends at the index, if it is a call that is not allowed."""
    token, first = tokens[last], last
    if is_string(token) and token.raw[0] == '"':
        message = "a text in double quotes cannot be called"
        yield SqlFault(rule="bad-sql", message=message, offset=token.offset, length=len(token.raw))
    if not is_name(token):
        return
    while first > 1 and tokens[first - 1].text == "." and is_name(tokens[first - 2]):
        first -= 2
    before = tokens[first - 1].text if first else ""
    if tokens[first].offset in aliases or before in ("AS", "::"):
        return  # the type of a cast, or an alias with columns
    if first == last and token.kind == "word" and token.text in _BEFORE_BRACKETS:
        return
    name = ".".join(name_of(part) for part in tokens[first : last + 1 : 2])
    if function_fault(name):
        yield _refused(name, tokens[first].offset, token.end - tokens[first].offset)


def _refused(name: str, offset: int, length: int) -> SqlFault:
    """Return the fault of a function that is not allowed."""
    known = name.lower() in refused_functions()
    return SqlFault(
        rule="function-not-allowed",
        message=function_fault(name) or "",
        offset=offset,
        length=length,
        suggestion=None if known else nearest_function(name),
    )


def _stands_alone(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a forbidden function is called without brackets, such as `current_user`."""
    token = tokens[index]
    if token.kind != "word" or not token.text.startswith(("CURRENT_", "SESSION_")):
        return False
    beside = {tokens[at].text for at in (index - 1, index + 1) if 0 <= at < len(tokens)}
    return token.raw.lower() in refused_functions() and not beside & {".", "("}


def _tree(sql: str) -> Any:
    """Return the syntax tree of one query.

    Raises:
        StatementError: sqlglot cannot parse it, or it is not a single query.
    """
    sqlglot, errors = (importlib.import_module(f"sqlglot{part}") for part in ("", ".errors"))
    try:
        trees = sqlglot.parse(sql, read="spark")
    except errors.ParseError as error:
        raise StatementError(sql, _offset(sql, error.errors), _reason(error.errors)) from error
    except (errors.SqlglotError, RecursionError) as error:
        raise StatementError(sql, 0, "it cannot be parsed as Spark SQL") from error
    if len(trees) != 1 or not isinstance(trees[0], sqlglot.exp.Query):
        raise StatementError(sql, 0, "it is not a single query")
    return trees[0]


def _offset(sql: str, errors: Sequence[dict[str, Any]]) -> int:
    """Return the first error's offset; sqlglot gives the column of a token's last character."""
    if not errors or not errors[0].get("line"):
        return 0
    lines = sql.splitlines(keepends=True)[: errors[0]["line"] - 1]
    length = len(errors[0].get("highlight") or " ")
    at = sum(map(len, lines)) + int(errors[0].get("col") or 1) - length
    return min(max(at, 0), max(len(sql) - 1, 0))


def _reason(errors: Sequence[dict[str, Any]]) -> str:
    """Return sqlglot's message for the first error, on one line."""
    said = str(errors[0].get("description") or "") if errors else ""
    shown = said.splitlines()[0][:100].rstrip(".") if said else ""
    plain = shown if shown and "<class" not in shown else "a word or sign is missing or superfluous"
    return f"it cannot be parsed as Spark SQL: {plain}"


def _unread(error: StatementError) -> SqlFault:
    return SqlFault(rule="bad-sql", message=error.message, offset=error.offset)


def _aliases(tree: Any) -> Iterator[int]:
    """Yield the offsets of aliases of tables and common table expressions."""
    exp = importlib.import_module("sqlglot").exp
    for alias in tree.find_all(exp.TableAlias):
        start = alias.this.meta.get("start") if alias.this is not None else None
        if isinstance(start, int):
            yield start


def _reads(tree: Any, views: Collection[str]) -> Iterator[SqlFault]:
    """Yield the faults of reads: undeclared views, and statements that do more than read."""
    exp = importlib.import_module("sqlglot").exp
    for kind in (exp.DDL, exp.DML, exp.Command, exp.QueryTransform, exp.Into):
        if any(not isinstance(node, exp.Query) for node in tree.find_all(kind)):
            yield SqlFault(rule="bad-sql", message="it does more than read", offset=0)
    inner = {str(each.alias).lower() for each in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        called = isinstance(table.this, exp.Func) and table.args.get("db") is None
        if not called and table.find_ancestor(exp.Hint) is None:
            yield from _table(table, views, inner)


def _table(table: Any, views: Collection[str], inner: Collection[str]) -> Iterator[SqlFault]:
    """Yield the fault of a table that is neither a declared view nor defined in the query."""
    name = ".".join(str(part.name) for part in table.parts)
    alone = len(table.parts) == 1 and name.lower() in {*map(str.lower, views), *inner}
    if alone:
        return
    starts = [part.meta.get("start") for part in table.parts]
    ends = [part.meta.get("end") for part in table.parts]
    offset = min((at for at in starts if isinstance(at, int)), default=0)
    end = max((at for at in ends if isinstance(at, int)), default=offset)
    yield SqlFault(
        rule="view-not-declared",
        message=f"`{name[:60]}` is not a view here; SQL of a spec may read {_listed(views)}",
        offset=offset,
        length=end - offset + 1,
        suggestion=nearest(name, [*views, *inner]),
    )


def _listed(views: Collection[str]) -> str:
    """Return the names as text, truncated if there are many."""
    names = [f"`{view}`" for view in views]
    return ", ".join(names[:_SHOWN]) + (" and others" if len(names) > _SHOWN else "")
