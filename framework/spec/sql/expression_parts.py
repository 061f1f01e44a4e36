"""The results of the scan of an expression, and predicates on single tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
