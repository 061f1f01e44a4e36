"""The names in an expression of Spark SQL, found by a light scan.

The scan knows where in an expression a value is expected and where an operator, so that a word
counts as a column exactly where it cannot be a keyword. It does not know the grammar, which is left
to Spark: it reports nothing false of a valid expression, and its best guess of an invalid one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from framework.spec.sql import expression_parts
from framework.spec.sql.expression_walk import Walk
from framework.spec.sql.functions import AGGREGATES, OF_THEIR_ROW
from framework.spec.sql.statement import StatementError, tokens_of

__all__ = ["MAX_EXPRESSION", "Scanned", "scan"]

MAX_EXPRESSION = 20_000
"""Maximum length of an expression, in characters."""

_MAX_LAMBDAS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """The names in an expression; each has its offset, in characters from 0.

    Attributes:
        columns: references to columns, in order.
        doubtful: words that are a column or something else, such as `current_date`.
        calls: function calls.
        null_comparisons: offsets of comparisons with NULL, which are never true.
        text_comparisons: comparisons of a column with a text.
        casts: texts that are cast to a type, and typed literals.
        subqueries: offsets of queries.
        windows: offsets of OVER.
    """

    columns: tuple[expression_parts.ColumnReference, ...]
    doubtful: tuple[expression_parts.ColumnReference, ...]
    calls: tuple[expression_parts.Call, ...]
    null_comparisons: tuple[int, ...]
    text_comparisons: tuple[expression_parts.TextComparison, ...]
    casts: tuple[expression_parts.LiteralCast, ...]
    subqueries: tuple[int, ...]
    windows: tuple[int, ...]

    @property
    def aggregates(self) -> tuple[expression_parts.Call, ...]:
        """Calls of aggregate functions, except over windows."""
        return tuple(call for call in self.calls if call.name in AGGREGATES and not call.over)

    @property
    def may_aggregate(self) -> bool:
        """Whether it aggregates rows, or calls a function that may do so."""
        known = all(call.name in OF_THEIR_ROW for call in self.calls)
        return bool(self.aggregates or self.subqueries or not known)

    @property
    def is_constant(self) -> bool:
        """Whether it has the same value for every row."""
        of_row = self.columns or self.doubtful or self.subqueries or self.windows
        return not of_row and all(call.name in OF_THEIR_ROW for call in self.calls)


@lru_cache(maxsize=1_000)
def scan(expression: str) -> Scanned:
    """Return the names in the expression.

    Raises:
        StatementError: it is empty or too long, contains a `;`, or leaves a quote, a comment or
            a bracket open.
    """
    if len(expression) > MAX_EXPRESSION:
        message = f"an expression has at most {MAX_EXPRESSION:,} characters"
        raise StatementError(expression, 0, message)
    tokens = list(tokens_of(expression))
    if not tokens:
        raise StatementError(expression, 0, "the expression is empty")
    end = next((token for token in tokens if token.text == ";"), None)
    if end is not None:
        raise StatementError(expression, end.offset, "a `;` ends statements, not expressions")
    if sum(token.text == "->" for token in tokens) > _MAX_LAMBDAS:
        raise StatementError(expression, 0, f"an expression has at most {_MAX_LAMBDAS} lambdas")
    walk = Walk.over(expression, tokens)
    return Scanned(
        columns=tuple(walk.columns),
        doubtful=tuple(walk.doubtful),
        calls=tuple(walk.calls),
        null_comparisons=tuple(walk.null_comparisons),
        text_comparisons=tuple(walk.text_comparisons),
        casts=tuple(walk.casts),
        subqueries=tuple(walk.subqueries),
        windows=tuple(walk.windows),
    )
