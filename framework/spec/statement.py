"""Whether a text is one SQL statement that only reads.

A light scan by Spark's lexical rules: it knows quotes and comments, so that a `;` or a keyword
inside them means nothing, and it does not know the grammar, which is Spark's to judge.
Spark runs `WITH … INSERT` the moment it is handed over, so that a transform could write past the
gate; that is why the word after the last common table expression is looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["StatementError", "finished_statement"]

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|--(?:\\\r?\n|[^\r\n])*)
    | (?P<comment>/\*)
    | (?P<quoted>[rR]'[^']*'|[rR]"[^"]*"|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:``|[^`])*`)
    | (?P<word>\w+)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_READS = ("SELECT", "WITH")
_BEFORE_A_QUERY = ("AS", "MAX")
_WRITES = ("INSERT", "FROM", "UPDATE", "DELETE", "MERGE")


class StatementError(Exception):
    """The text is no single reading statement; caught and told as a finding within this room."""

    def __init__(self, sql: str, offset: int, message: str) -> None:
        super().__init__(message)
        self.line = sql.count("\n", 0, offset) + 1
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    """A word (upper case), a sign or a quoted text (`''`), at an offset and a depth of brackets."""

    text: str
    offset: int
    depth: int


def finished_statement(sql: str) -> str:
    """The statement without the `;` and what follows it, and without space around it.

    Raises:
        StatementError: it is empty, begins with another word than SELECT or WITH, is followed by
            a second one, writes, or leaves a quote, a comment or a bracket open.
    """
    tokens = list(_tokens(sql))
    if not tokens or tokens[0].text == ";":
        raise StatementError(sql, 0, "there is no statement in it")
    first = tokens[0]
    if first.text not in _READS:
        message = f"a transform begins with SELECT or WITH, not with `{first.text[:40]}`"
        raise StatementError(sql, first.offset, message)
    end = next((index for index, token in enumerate(tokens) if token.text == ";"), len(tokens))
    second = next((token for token in tokens[end:] if token.text != ";"), None)
    if second is not None:
        raise StatementError(sql, second.offset, "a second statement begins after the `;`")
    if first.text == "WITH":
        _check_reads(sql, tokens[:end])
    return (sql[: tokens[end].offset] if end < len(tokens) else sql).strip()


def _tokens(sql: str) -> Iterator[_Token]:
    """What is neither space nor comment, in order."""
    at, depth = 0, 0
    while found := _TOKEN.match(sql, at):
        kind, at = found.lastgroup, found.end()
        text = "''" if kind == "quoted" else found.group().upper()
        if kind == "comment":
            at = _comment_end(sql, found.start())
        if kind in ("space", "comment"):
            continue
        if text in ("'", '"', "`"):
            raise StatementError(sql, found.start(), f"the quote {text} is not closed")
        depth -= text == ")"
        if depth < 0:
            raise StatementError(sql, found.start(), "the bracket `)` closes nothing")
        yield _Token(text=text, offset=found.start(), depth=depth)
        depth += text == "("
    if depth:
        raise StatementError(sql, len(sql), "a bracket `(` is not closed")


def _comment_end(sql: str, start: int) -> int:
    """Where the comment ends that begins at the offset; comments may lie in one another."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    raise StatementError(sql, start, "a comment is not closed")


def _check_reads(sql: str, tokens: list[_Token]) -> None:
    """Refuse common table expressions that lead to a statement which writes."""
    for before, token in pairwise(tokens):
        follows = before.text == ")" and before.depth == 0
        if not follows or token.text in (*_BEFORE_A_QUERY, ",", "("):
            continue
        if token.text in _WRITES:
            message = f"a transform reads, but its WITH leads to `{token.text}`"
            raise StatementError(sql, token.offset, message)
        return
