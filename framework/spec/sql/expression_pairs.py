"""Comparisons in an expression whose two sides are plain: columns, texts, NULL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from framework.spec.sql.expression_parts import NULL, Operand, TextComparison
from framework.spec.sql.statement import Token

__all__ = ["pairs"]

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
