"""One pass over the tokens of an expression, for `expressions`.

At each token either a value is expected or an operator. That alone distinguishes most keywords from
columns, since Spark reserves none: `end` is a column in `end > start`, and a keyword after a value.
Special syntax (CASE, INTERVAL, EXTRACT, TRIM, casts, lambdas, windows) is handled here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from framework.spec.sql import expression_parts
from framework.spec.sql.expression_parts import pairs
from framework.spec.sql.statement import Token

__all__ = ["Walk"]

_LITERALS = {"NULL": expression_parts.NULL, "TRUE": None, "FALSE": None}
_PREFIXES = ("NOT", "CASE", "DISTINCT")
_WITHOUT_BRACKETS = (
    *("CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_TIME", "CURRENT_USER", "LOCALTIMESTAMP"),
    *("CURRENT_CATALOG", "CURRENT_DATABASE", "CURRENT_SCHEMA", "CURRENT_TIMEZONE"),
    *("USER", "SESSION_USER", "GROUPING__ID"),
)
"""Functions that may be called without brackets, unless a column has their name."""

_BEFORE_NO_VALUE = ("NOT", "END", "ASC", "DESC", "NULLS", "FIRST", "LAST", "IGNORE", "RESPECT")
_BEFORE_BY = ("ORDER", "PARTITION", "SORT", "DISTRIBUTE", "CLUSTER")
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
_LIKES = ("LIKE", "ILIKE", "RLIKE", "REGEXP")
_UNITS = frozenset(
    f"{unit}{s}"
    for unit in (
        *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND"),
        *("MILLISECOND", "MICROSECOND", "NANOSECOND"),
    )
    for s in ("", "S")
)
_UNIT_FIRST = (
    *("TIMESTAMPADD", "TIMESTAMPDIFF", "DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF"),
    *("TIMEDIFF", "TIME_DIFF", "TIMESTAMP_DIFF", "TRY_TIMESTAMPADD"),
)
_TYPES = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"),
    *("DATE", "TIMESTAMP"),
)
_TYPED_LITERALS = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ")


@dataclass(slots=True)
class Walk:
    """The pass: `at` is the next token, `wants_value` whether a value can start there."""

    sql: str
    tokens: Sequence[Token]
    closing: dict[int, int]
    parameters: Sequence[tuple[int, int, frozenset[str]]]
    at: int = 0
    wants_value: bool = True
    columns: list[expression_parts.ColumnReference] = field(default_factory=list)
    doubtful: list[expression_parts.ColumnReference] = field(default_factory=list)
    calls: list[expression_parts.Call] = field(default_factory=list)
    casts: list[expression_parts.LiteralCast] = field(default_factory=list)
    subqueries: list[int] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)
    null_comparisons: list[int] = field(default_factory=list)
    text_comparisons: list[expression_parts.TextComparison] = field(default_factory=list)
    operands: list[expression_parts.Operand] = field(default_factory=list)

    @classmethod
    def over(cls, sql: str, tokens: Sequence[Token]) -> Walk:
        """Return the completed pass."""
        closing = expression_parts.closing_brackets(sql, tokens)
        walk = cls(sql, tokens, closing, expression_parts.lambdas(tokens, closing))
        while walk.at < len(tokens):
            before = walk.at
            walk._value() if walk.wants_value else walk._operator()
            walk.at = max(walk.at, before + 1)
        nulls, texts = pairs(tokens, walk.operands, closing)
        walk.null_comparisons, walk.text_comparisons = nulls, texts
        return walk

    def _text(self, ahead: int = 0) -> str:
        """Return the token `ahead` tokens ahead, in upper case; empty past either end."""
        index = self.at + ahead
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def _is_string(self, ahead: int = 0) -> bool:
        index = self.at + ahead
        return index < len(self.tokens) and expression_parts.is_string(self.tokens[index])

    def _is_name(self, ahead: int = 0) -> bool:
        index = self.at + ahead
        return index < len(self.tokens) and expression_parts.is_name(self.tokens[index])

    def _go(self, by: int, *, wants_value: bool) -> None:
        """Advance by `by` tokens."""
        self.at, self.wants_value = self.at + by, wants_value

    def _past(self, bracket: int) -> None:
        """Advance past the bracket that closes the one at the index."""
        self.at, self.wants_value = self.closing[bracket] + 1, False

    # Where a value is expected.

    def _value(self) -> None:
        """Process a token where a value is expected."""
        token = self.tokens[self.at]
        if expression_parts.is_string(token) or token.kind == "number":
            self._literal(value=expression_parts.plain_text(self.tokens, self.at))
        elif expression_parts.is_name(token):
            self._named(token)
        elif token.text == "(":
            self._bracket()
        else:
            self._go(1, wants_value=token.text not in (")", "]", "*"))

    def _literal(self, *, value: str | bool | None, length: int = 1) -> None:
        """Process a literal."""
        self.operands.append(
            expression_parts.Operand(first=self.at, last=self.at + length - 1, value=value)
        )
        self._go(length, wants_value=False)

    def _bracket(self) -> None:
        """Process a query, the parameters of a lambda, or a value in brackets."""
        if self._text(1) == "SELECT" or (self._text(1) in _QUERIES and self._begins_a_value(2)):
            self.subqueries.append(self.tokens[self.at].offset)
            self._past(self.at)
        elif self._follows(self.closing[self.at]) == "->":
            self._past(self.at)
        else:
            self._go(1, wants_value=True)

    def _follows(self, index: int) -> str:
        return self.tokens[index + 1].text if index + 1 < len(self.tokens) else ""

    def _named(self, token: Token) -> None:
        """Process a word or quoted name: a keyword, a literal, a function or a column."""
        word = token.text if token.kind == "word" else ""
        following = self._text(1)
        if word in _LITERALS and following not in (".", "("):
            self._literal(value=_LITERALS[word])
        elif word in _PREFIXES:
            self._go(2 if following == "WHEN" else 1, wants_value=True)
        elif word in _BEFORE_BY and following == "BY":
            self._go(2, wants_value=True)
        elif word in ("ALL", "WHERE") and self._begins_a_value(1):
            self._go(1, wants_value=True)
        elif word == "INTERVAL" and self._is_amount(1):
            self._interval()
        elif word and self._is_string(1):
            self._typed_literal(word)
        elif following in ("=>", "->"):
            self._go(1, wants_value=False)
        else:
            self._reference(word)

    def _begins_a_value(self, ahead: int) -> bool:
        """Return whether a value starts `ahead` tokens ahead, so the word before is not one."""
        return self._is_name(ahead) or self._is_string(ahead) or self._is_number(ahead)

    def _is_number(self, ahead: int) -> bool:
        index = self.at + ahead
        return index < len(self.tokens) and self.tokens[index].kind == "number"

    def _is_amount(self, ahead: int) -> bool:
        """Return whether a number or a text, signed or not, is `ahead` tokens ahead."""
        ahead += self._text(ahead) in ("-", "+")
        return self._is_number(ahead) or self._is_string(ahead)

    def _interval(self) -> None:
        """Process INTERVAL `'1' DAY`, `1 YEAR 2 MONTHS` or `'1-2' YEAR TO MONTH`."""
        self._go(1, wants_value=False)
        first = True
        while self._is_amount(0):
            signed = self._text() in ("-", "+")
            if not first and self._text(1 + signed) not in _UNITS:
                return
            self.at += 1 + signed
            if self._text() in _UNITS:
                self.at += 3 if self._text(1) == "TO" else 1
            first = False

    def _typed_literal(self, word: str) -> None:
        """Process `DATE '2026-10-01'`, `X'1F'`."""
        text = expression_parts.plain_text(self.tokens, self.at + 1)
        if word in _TYPED_LITERALS and isinstance(text, str):
            self._note_cast(text, word, self.tokens[self.at].offset, self.at + 1)
        self._go(2, wants_value=False)

    def _reference(self, word: str) -> None:
        """Process a column with the fields after it, or a function."""
        first, names = self.at, [expression_parts.name_of(self.tokens[self.at])]
        last = first
        while self._at(last + 1) == "." and self._is_name(last + 2 - first):
            last += 2
            names.append(expression_parts.name_of(self.tokens[last]))
        if self._at(last + 1) == "(":
            self._call(names, last + 1)
            return
        if self._at(last + 1) == "." and self._at(last + 2) == "*":
            self._go(last + 3 - first, wants_value=False)
            return
        start, end = self.tokens[first].offset, self.tokens[last].end
        found = expression_parts.ColumnReference(
            names=tuple(names), offset=start, length=end - start
        )
        if not self._is_parameter(first, names[0]):
            alone = len(names) == 1 and word in _WITHOUT_BRACKETS
            (self.doubtful if alone else self.columns).append(found)
            self.operands.append(
                expression_parts.Operand(first=first, last=last, value=found.names)
            )
        self._go(last + 1 - first, wants_value=False)

    def _at(self, index: int) -> str:
        """Return the text of the token at the index; empty past the end."""
        return self.tokens[index].text if index < len(self.tokens) else ""

    def _is_parameter(self, index: int, name: str) -> bool:
        """Return whether the name is a lambda's parameter at the index."""
        lower = name.lower()
        return any(first <= index < end and lower in own for first, end, own in self.parameters)

    def _call(self, names: list[str], bracket: int) -> None:
        """Process a function; its arguments come next, except for words of its own syntax."""
        name, begin = ".".join(names).lower(), self.tokens[self.at].offset
        over = self._follows(self.closing[bracket]) == "OVER"
        self.calls.append(expression_parts.Call(name=name, offset=begin, over=over))
        self.at, self.wants_value = bracket, True
        upper = name.upper()
        if upper == "EXTRACT" and self._text(2) == "FROM":
            self._go(3, wants_value=True)
        elif upper == "TRIM" and self._text(1) in ("BOTH", "LEADING", "TRAILING"):
            self._trim()
        elif upper in _UNIT_FIRST and self._text(1) in _UNITS and self._text(2) == ",":
            token = self.tokens[bracket + 1]
            unit = expression_parts.ColumnReference(
                names=(token.raw,), offset=token.offset, length=len(token.raw)
            )
            self.doubtful.append(unit)
            self._go(2, wants_value=False)
        elif upper in _TYPES and self._is_string(1) and self._text(2) == ")":
            self._cast(bracket + 1, upper)

    def _trim(self) -> None:
        """Process `trim(BOTH FROM x)`, `trim(LEADING 'x' FROM y)`; else the word is a column."""
        if self._text(2) == "FROM" and self._text(3) not in (")", ","):
            self._go(3, wants_value=True)
        elif self._begins_a_value(2) or self._text(2) == "(":
            self._go(2, wants_value=True)

    def _cast(self, index: int, kind: str) -> None:
        """Record the text at the index as cast to the type."""
        text = expression_parts.plain_text(self.tokens, index)
        if isinstance(text, str):
            self._note_cast(text, kind, self.tokens[index].offset, index)

    def _note_cast(self, text: str, kind: str, offset: int, last: int) -> None:
        """Record a text that is cast to the type, from the offset to the end of a token."""
        length = self.tokens[last].end - offset
        found = expression_parts.LiteralCast(text=text, type=kind, offset=offset, length=length)
        self.casts.append(found)

    # Where an operator is expected.

    def _operator(self) -> None:
        """Process a token after a value."""
        token = self.tokens[self.at]
        if token.text == "::":
            self._cast_behind()
        elif token.text == ".":
            self._go(2, wants_value=False)
        elif token.kind == "word":
            self._keyword(token.text)
        else:
            ends = token.text in (")", "]") or token.kind in ("quoted", "number")
            self._go(1, wants_value=not ends)

    def _keyword(self, word: str) -> None:
        """Process a word after a value."""
        if word == "IS":
            self._is()
        elif word == "AS":
            self._as()
        elif word == "COLLATE":
            self._collate()
        elif word == "OVER":
            self._over()
        elif word in _BEFORE_NO_VALUE:
            self._go(1, wants_value=False)
        elif word in _LIKES and self._text(1) in ("ANY", "SOME", "ALL"):
            self._go(2, wants_value=True)
        elif self._text(1) in ("GROUP", "BY") and word in ("WITHIN", *_BEFORE_BY):
            self._go(2, wants_value=word != "WITHIN")
        else:
            self._go(1, wants_value=True)

    def _is(self) -> None:
        """Process `IS [NOT] NULL`, `IS [NOT] TRUE`, `IS [NOT] DISTINCT FROM …`."""
        self.at += 2 if self._text(1) == "NOT" else 1
        distinct = self._text() == "DISTINCT"
        self._go(2 if distinct else 1, wants_value=distinct)

    def _as(self) -> None:
        """Skip the type of a cast, or an alias, up to the comma or bracket."""
        first, depth = self.at + 1, self.tokens[self.at].depth
        is_cast = self._text(-3) == "CAST" and self._text(-2) == "(" and self._is_string(-1)
        angle = 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            angle += expression_parts.angles(token.text)
            if token.depth < depth or (token.text == ")" and token.depth == depth - 1):
                break
            if token.text == "," and token.depth == depth and angle <= 0:
                break
            self.at += 1
        self.wants_value = False
        if is_cast and first < self.at:
            kind = self.sql[self.tokens[first].offset : self.tokens[self.at - 1].end]
            self._cast(first - 2, kind)

    def _cast_behind(self) -> None:
        """Process `x::decimal(10,2)`."""
        first = last = self.at + 1
        if self._at(last + 1) == "(":
            last = self.closing[last + 1]
        angle = expression_parts.angles(self._at(last + 1))
        while angle > 0 and last + 1 < len(self.tokens):
            last += 1
            angle += expression_parts.angles(self._at(last + 1))
            if angle <= 0:
                last += 1
        if self._at(first) == "INTERVAL":
            while self._at(last + 1) in _UNITS or self._at(last + 1) == "TO":
                last += 1
        if self._is_string(-1) and first < len(self.tokens):
            last_token = self.tokens[min(last, len(self.tokens) - 1)]
            kind = self.sql[self.tokens[first].offset : last_token.end]
            self._cast(self.at - 1, kind)
        self.at, self.wants_value = last + 1, False

    def _collate(self) -> None:
        """Process `COLLATE UTF8_BINARY`, which may be a name of several parts."""
        self._go(2, wants_value=False)
        while self._text() == ".":
            self.at += 2

    def _over(self) -> None:
        """Process a window; its brackets have a syntax of their own and are skipped."""
        self.windows.append(self.tokens[self.at].offset)
        if self._text(1) == "(":
            self._past(self.at + 1)
        else:
            self._go(2, wants_value=False)


_AFTER = ("(", "*", "`")
