"""The results of the scan of an expression: its parts, and comparisons of two plain sides.

Predicates on single tokens are here, too. Plain sides are columns, texts and NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from framework.spec.sql.statement import StatementError, Token

__all__ = [
    "NULL",
    "Call",
    "ColumnReference",
    "LiteralCast",
    "Operand",
    "TextComparison",
    "angles",
    "closing_brackets",
    "is_name",
    "is_string",
    "lambdas",
    "name_of",
    "pairs",
    "plain_text",
]

NULL: Final = False
"""The value of an operand that is written NULL; None means any other value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReference:
    """`a`, `a.b` or `` `a b` ``: its names in order, without quotes."""

    names: tuple[str, ...]
    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function call; the name in lower case, `over` if it has a window."""

    name: str
    offset: int
    over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralCast:
    """A text that is cast to a type; the type as written."""

    text: str
    type: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextComparison:
    """A text that a column is compared with, or one of several."""

    names: tuple[str, ...]
    text: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """A value of one token or a column's name, from the first to the last token, inclusive.

    `value` is a column's names, a plain text, `NULL`, or None.
    """

    first: int
    last: int
    value: tuple[str, ...] | str | bool | None


def is_name(token: Token) -> bool:
    """Return whether the token is a word or a quoted name."""
    return token.kind == "word" or token.raw[0] == "`"


def is_string(token: Token) -> bool:
    """Return whether the token is a quoted text."""
    return token.kind == "quoted" and token.raw[0] != "`"


def name_of(token: Token) -> str:
    """Return the name without its quotes."""
    return token.raw[1:-1].replace("``", "`") if token.raw[0] == "`" else token.raw


def plain_text(tokens: Sequence[Token], index: int) -> str | None:
    """Return the text at the index; None if there is none or it is not a plain literal."""
    token = tokens[index]
    beside = (*tokens[max(index - 1, 0) : index], *tokens[index + 1 : index + 2])
    if not is_string(token) or any(is_string(each) for each in beside):
        return None
    if token.raw[0] in "rR":
        return token.raw[2:-1]
    return None if "\\" in token.raw else token.raw[1:-1]


def angles(text: str) -> int:
    """Return the number of opening minus closing angle brackets of the sign."""
    return text.count("<") - text.count(">") if set(text) <= {"<", ">"} else 0


def closing_brackets(sql: str, tokens: Sequence[Token]) -> dict[int, int]:
    """Return the index of the closing bracket by that of the opening one.

    Raises:
        StatementError: a bracket is not closed, or closes nothing.
    """
    found: dict[int, int] = {}
    waiting: list[int] = []
    for index, token in enumerate(tokens):
        if token.text in ("(", "["):
            waiting.append(index)
        elif token.text in (")", "]"):
            opened = "(" if token.text == ")" else "["
            if not waiting or tokens[waiting[-1]].text != opened:
                message = f"the bracket `{token.text}` closes nothing"
                raise StatementError(sql, token.offset, message)
            found[waiting.pop()] = index
    if waiting:
        token = tokens[waiting[-1]]
        raise StatementError(sql, token.offset, f"the bracket `{token.text}` is not closed")
    return found


def lambdas(
    tokens: Sequence[Token], closing: dict[int, int]
) -> list[tuple[int, int, frozenset[str]]]:
    """Return start and end of each lambda's body, as indexes, and its parameters' names."""
    found = []
    opening = {last: first for first, last in closing.items()}
    for index, token in enumerate(tokens):
        if token.text != "->" or index == 0:
            continue
        first = opening.get(index - 1, index - 1)
        names = frozenset(name_of(t).lower() for t in tokens[first:index] if is_name(t))
        found.append((index, _body_end(tokens, index), names))
    return found


def _body_end(tokens: Sequence[Token], arrow: int) -> int:
    """Return the index after a lambda's body: that of the comma or bracket that ends it."""
    depth = 0
    for index in range(arrow + 1, len(tokens)):
        text = tokens[index].text
        if depth == 0 and text in (",", ")", "]"):
            return index
        depth += (text in ("(", "[")) - (text in (")", "]"))
    return len(tokens)


_COMPARISONS = ("=", "==", "<>", "!=", "<", ">", "<=", ">=", "<=>")
_BEFORE = (
    *("", "(", "[", ",", "->", "=>", "!", "NOT", "AND", "OR"),
    *("CASE", "WHEN", "THEN", "ELSE", "WHERE"),
)
_AFTER = ("", ")", "]", ",", "AND", "OR", "WHEN", "THEN", "ELSE", "END")


def pairs(
    tokens: Sequence[Token], operands: Sequence[Operand], closing: Mapping[int, int]
) -> tuple[list[int], list[TextComparison]]:
    """Return offsets of comparisons with NULL that are never true, and comparisons with texts.

    An operand counts only if it is alone on its side: `a` in `a = 'x'`, not in `a + 1 = 'x'`.
    """
    found = _Pairs(tokens, closing)
    for operand in operands:
        found.begins[operand.first] = found.ends[operand.last] = operand
    for index, token in enumerate(tokens):
        if token.text in _COMPARISONS:
            found.compare(index)
        elif token.text == "IN":
            found.among(index)
        elif token.text == "BETWEEN":
            found.between(index)
    return found.nulls, found.texts


@dataclass(slots=True)
class _Pairs:
    """The findings so far; operands by the index of their first and of their last token."""

    tokens: Sequence[Token]
    closing: Mapping[int, int]
    begins: dict[int, Operand] = field(default_factory=dict)
    ends: dict[int, Operand] = field(default_factory=dict)
    nulls: list[int] = field(default_factory=list)
    texts: list[TextComparison] = field(default_factory=list)

    def compare(self, index: int) -> None:
        """Record a comparison by an operator."""
        left, right = self._left(index - 1), self._right(index + 1)
        beside_null = any(side is not None and side.value is NULL for side in (left, right))
        if beside_null and self.tokens[index].text != "<=>":
            self.nulls.append(self.tokens[index].offset)
        elif left is not None and right is not None:
            self._note(left, right)
            self._note(right, left)

    def among(self, index: int) -> None:
        """Record `a IN (…)`; with NULL in the list, `NOT IN` is never true."""
        negated = self._text(index - 1) == "NOT"
        left = self._left(index - 2 if negated else index - 1)
        if self._text(index + 1) != "(":
            return
        items = list(self._items(index + 1))
        nulls = [item for item in items if item.value is NULL]
        if nulls and (negated or len(nulls) == len(items)):
            self.nulls.append(self.tokens[nulls[0].first].offset)
        for item in items if left is not None else ():
            self._note(left, item)

    def between(self, index: int) -> None:
        """Record `a BETWEEN 'x' AND 'y'`."""
        left = self._left(index - 2 if self._text(index - 1) == "NOT" else index - 1)
        first = self.begins.get(index + 1)
        if left is None or first is None or self._text(first.last + 1) != "AND":
            return
        self._note(left, first)
        second = self._right(first.last + 2)
        if second is not None:
            self._note(left, second)

    def _items(self, bracket: int) -> Iterator[Operand]:
        """Yield the plain items of a list; none if any is not plain."""
        items, at = [], bracket + 1
        while at < self.closing[bracket]:
            item = self.begins.get(at)
            if item is None or self._text(item.last + 1) not in (",", ")"):
                return
            items.append(item)
            at = item.last + 2
        yield from items

    def _left(self, last: int) -> Operand | None:
        """Return the operand that ends at the index, if it is alone on its side."""
        found = self.ends.get(last)
        return found if found and self._text(found.first - 1) in _BEFORE else None

    def _right(self, first: int) -> Operand | None:
        """Return the operand that starts at the index, if it is alone on its side."""
        found = self.begins.get(first)
        return found if found and self._text(found.last + 1) in _AFTER else None

    def _note(self, column: Operand | None, text: Operand) -> None:
        """Record a comparison of a column with a text."""
        if column and isinstance(column.value, tuple) and isinstance(text.value, str):
            token = self.tokens[text.first]
            found = TextComparison(
                names=column.value, text=text.value, offset=token.offset, length=len(token.raw)
            )
            self.texts.append(found)

    def _text(self, index: int) -> str:
        """Return the token at the index, in upper case; empty past either end."""
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""
