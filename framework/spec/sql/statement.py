"""The tokens of SQL, and the check that a text is one statement that only reads.

A light scan by Spark's lexical rules: it handles quotes and comments, so that a `;` or a keyword
inside them has no effect, but it does not know the grammar, which is left to Spark.

Spark executes `WITH … INSERT` as soon as it receives it, so a transform could write past the audit
gate; that is why the word after the last common table expression is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["StatementError", "Token", "finished_statement", "tokens_of", "words_of"]

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|--(?:\\\r?\n|[^\r\n])*)
    | (?P<comment>/\*)
    | (?P<quoted>[rR]'[^']*'|[rR]"[^"]*"|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:``|[^`])*`)
    | (?P<number>(?:\d+(?:\.\d*)?|(?<![\w`)\]])\.\d+)(?:e[-+]?\d+)?(?:bd|[lsydf])?(?!\w))
    | (?P<word>\w+)
    | (?P<sign><=>|[<>!=]=|<>|=>|->|::|\|\||<<|>>>?|.)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_READS = ("SELECT", "WITH")
_BEFORE_A_QUERY = ("AS", "MAX")
_WRITES = ("INSERT", "FROM", "UPDATE", "DELETE", "MERGE")


class StatementError(Exception):
    """The text is not such SQL; caught and reported as a finding within this package.

    `offset` counts characters from 0, `line` lines from 1.
    """

    def __init__(self, sql: str, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.line = sql.count("\n", 0, offset) + 1
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One word, sign, number or quoted text.

    Attributes:
        kind: `word`, `sign`, `number` or `quoted`.
        text: in upper case; `''` for every quoted text.
        raw: as written.
        offset: its first character, from 0.
        depth: the number of round brackets around it; a bracket itself is outside of its own.
    """

    kind: str
    text: str
    raw: str
    offset: int
    depth: int

    @property
    def end(self) -> int:
        """The offset after its last character."""
        return self.offset + len(self.raw)


def finished_statement(sql: str) -> str:
    """Return the statement up to the `;`, without surrounding space.

    Raises:
        StatementError: it is empty, does not start with SELECT or WITH, is followed by another one,
            writes, or leaves a quote, a comment or a bracket open.
    """
    tokens = list(tokens_of(sql))
    if not tokens or tokens[0].text == ";":
        raise StatementError(sql, 0, "the statement is empty")
    first = tokens[0]
    if first.text not in _READS:
        message = f"a query starts with SELECT or WITH, not with `{first.text[:40]}`"
        raise StatementError(sql, first.offset, message)
    end = next((index for index, token in enumerate(tokens) if token.text == ";"), len(tokens))
    second = next((token for token in tokens[end:] if token.text != ";"), None)
    if second is not None:
        raise StatementError(sql, second.offset, "a second statement starts after the `;`")
    if first.text == "WITH":
        _check_reads(sql, tokens[:end])
    return (sql[: tokens[end].offset] if end < len(tokens) else sql).strip()


def tokens_of(sql: str) -> Iterator[Token]:
    """Yield the tokens, without space and comments, in order.

    Raises:
        StatementError: a quote, a comment or a round bracket is not closed, or one closes nothing.
    """
    at = 0
    opened: list[int] = []
    while found := _TOKEN.match(sql, at):
        kind, at = found.lastgroup or "", found.end()
        if kind == "comment":
            at = _comment_end(sql, found.start())
        if kind in ("space", "comment"):
            continue
        text = "''" if kind == "quoted" else found.group().upper()
        _check_sign(sql, text, found.start(), opened)
        yield Token(
            kind=kind, text=text, raw=found.group(), offset=found.start(), depth=len(opened)
        )
        if text == "(":
            opened.append(found.start())
    if opened:
        raise StatementError(sql, opened[-1], "a bracket `(` is not closed")


def _check_sign(sql: str, text: str, offset: int, opened: list[int]) -> None:
    """Refuse an unclosed quote; close a bracket, if one is open."""
    if text in ("'", '"', "`"):
        raise StatementError(sql, offset, f"the quote {text} is not closed")
    if text == ")":
        if not opened:
            raise StatementError(sql, offset, "the bracket `)` closes nothing")
        opened.pop()


def words_of(sql: str) -> frozenset[str]:
    """Return the words and quoted names of a statement, in upper case."""
    names = (token for token in tokens_of(sql) if token.kind == "word" or token.raw[0] == "`")
    return frozenset(token.raw.strip("`").upper() for token in names)


def _comment_end(sql: str, start: int) -> int:
    """Return the end of the comment that starts at the offset; comments may be nested."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    raise StatementError(sql, start, "a comment is not closed")


def _check_reads(sql: str, tokens: list[Token]) -> None:
    """Refuse common table expressions before a statement that writes."""
    for before, token in pairwise(tokens):
        follows = before.text == ")" and before.depth == 0
        if not follows or token.text in (*_BEFORE_A_QUERY, ",", "("):
            continue
        if token.text in _WRITES:
            message = f"a query only reads, but its WITH is followed by `{token.text}`"
            raise StatementError(sql, token.offset, message)
        return
