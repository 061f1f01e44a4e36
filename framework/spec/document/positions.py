"""The YAML document as a tree of nodes with positions, and the position of each key path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from framework.errors import Finding, Where
from framework.spec.document.findings import finding_at
from framework.spec.document.scalars import ScalarValue
from framework.spec.document.source import SourceText, Span

__all__ = [
    "Entry",
    "ListNode",
    "MapNode",
    "Node",
    "Positions",
    "ScalarNode",
    "child_path",
    "children",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarNode:
    """One scalar value.

    Attributes:
        text: the text as written, without its quotes.
        value: the parsed value.
        plain: whether it was written without quotes and not as a block.
        span: its position.
    """

    text: str
    value: ScalarValue
    plain: bool = True
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One `key: value` pair; the key is always text."""

    key: ScalarNode
    value: Node

    @property
    def name(self) -> str:
        """The key's text."""
        return self.key.text


@dataclass(frozen=True, slots=True, kw_only=True)
class MapNode:
    """A mapping in file order with unique keys; `flow` means written as `{}`."""

    entries: tuple[Entry, ...]
    flow: bool
    span: Span

    def get(self, name: str) -> Entry | None:
        """Return the entry with that key, or None."""
        return next((entry for entry in self.entries if entry.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListNode:
    """A list; `flow` means written as `[]`."""

    items: tuple[Node, ...]
    flow: bool
    span: Span


Node = ScalarNode | MapNode | ListNode


def child_path(parent: str, step: str | int) -> str:
    """Return the dotted path of a child, such as `bootstrap.rules[0].mode`."""
    if isinstance(step, int):
        return f"{parent}[{step}]"
    return f"{parent}.{step}" if parent else step


def children(node: Node, path: str) -> Iterator[tuple[str, Span | None, Node]]:
    """Yield path, key span (None in a list) and node of each direct child."""
    if isinstance(node, MapNode):
        for entry in node.entries:
            yield child_path(path, entry.name), entry.key.span, entry.value
    elif isinstance(node, ListNode):
        for index, item in enumerate(node.items):
            yield child_path(path, index), None, item


_OF_A_KEY = "[key]"  # the last step of pydantic's location for a fault in a mapping's key
_LAST_STEP = re.compile(r"(?:\.[^.\[\]]*|\[[0-9]+\]|^[^.\[\]]+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """Positions of dotted key paths such as `bootstrap.rules[0].mode`.

    A path that is not in the document resolves to its nearest existing ancestor.
    """

    source: SourceText
    root: Node | None
    _keys: dict[str, Span | None] = field(default_factory=dict)
    _nodes: dict[str, Node] = field(default_factory=dict)

    @classmethod
    def of(cls, source: SourceText, root: Node | None) -> Positions:
        """Return the positions of a whole document."""
        positions = cls(source=source, root=root)
        if root is not None:
            positions._add("", None, root)
        return positions

    def _add(self, path: str, key: Span | None, node: Node) -> None:
        """Index the node and everything below it; the walker bounds the depth."""
        self._keys[path], self._nodes[path] = key, node
        for below, below_key, child in children(node, path):
            self._add(below, below_key, child)

    def where(self, key_path: str) -> Where:
        """Return file, line and column of the value at the path, or of its nearest ancestor."""
        return self.span(key_path).where

    def finding(
        self, rule: str, key_path: str, message: str, *, suggestion: str | None = None
    ) -> Finding:
        """Return an error about the value at the path, ready for a code frame."""
        span = self.span(key_path)
        return finding_at(rule, span, message, key_path=key_path, suggestion=suggestion)

    def span(self, key_path: str, *, of_key: bool = False) -> Span:
        """Return the characters to point at: the value if it is on one line, else its key."""
        known = self._known(key_path)
        if known is None:
            return Span(source=self.source, line=1, column=1, end_line=1, end_column=2)
        key, node = self._keys[known], self._nodes[known]
        if key is not None and (of_key or not _stands_alone(node)):
            return key
        if isinstance(node, MapNode) and node.entries and not node.flow and known:
            return node.entries[0].key.span
        return node.span if known else _first_line(self.source)

    def part(self, key_path: str, offset: int, length: int) -> Span:
        """Return the span of a part of the text at the path, or the whole if it cannot be located.

        It cannot be located if the file spells the text differently: folded, escaped, or with a
        reference.
        """
        span, node = self.span(key_path), self._nodes.get(key_path)
        if not isinstance(node, ScalarNode) or "${" in node.text:
            return span
        before = node.text[:offset].split("\n")
        row, shift = len(before) - 1, len(before[-1])
        text = node.text.split("\n")[row]
        line = node.span.line + row + (node.span.end_line > node.span.line)
        shown = node.span.source.lines[line - 1] if line <= len(node.span.source.lines) else ""
        begin = node.span.column - 1 if line == node.span.line else 0
        column = shown.find(text, begin) if text else -1
        if column < 0 or (line != node.span.line and shown.strip() != text.strip()):
            return span
        first = column + shift + 1
        return replace(span, line=line, column=first, end_line=line, end_column=first + length)

    def has(self, key_path: str) -> bool:
        """Return whether the document has a value at exactly this path."""
        return key_path in self._nodes

    def is_foreign(self, key_path: str) -> bool:
        """Return whether the key at exactly this path is in another file."""
        key = self._keys.get(key_path)
        return key is not None and key.source is not self.source

    def node(self, key_path: str) -> Node | None:
        """Return the node at exactly this path, or None."""
        return self._nodes.get(key_path)

    def mentions(self, text: str) -> bool:
        """Return whether any value of the document is written with the text in it."""
        scalars = (node for node in self._nodes.values() if isinstance(node, ScalarNode))
        return any(text in node.text for node in scalars)

    def path_of(self, steps: Sequence[str | int]) -> str:
        """Return the dotted path of a validator's location.

        Steps that the document does not have, such as the tag of a union, are dropped, except the
        last, which may be a missing field. A number in a mapping counts its entries.
        """
        path, node = "", self.root
        for index, step in enumerate(steps):
            found = _child(node, step)
            if found is not None:
                name, node = found
                path = child_path(path, name)
            elif index == len(steps) - 1 and step != _OF_A_KEY and isinstance(node, MapNode):
                path = child_path(path, step)
        return path

    def _known(self, key_path: str) -> str | None:
        """Return the longest existing prefix of the path; None in an empty document."""
        while key_path not in self._nodes:
            if not key_path:
                return None
            shorter = _LAST_STEP.sub("", key_path)
            key_path = shorter if shorter != key_path else ""
        return key_path


def _child(node: Node | None, step: str | int) -> tuple[str | int, Node] | None:
    """Return name and node of the child, or None if there is none."""
    if isinstance(node, MapNode) and isinstance(step, str):
        entry = node.get(step)
        return (entry.name, entry.value) if entry else None
    if isinstance(node, MapNode) and isinstance(step, int) and step < len(node.entries):
        entry = node.entries[step]
        return entry.name, entry.value
    if isinstance(node, ListNode) and isinstance(step, int) and step < len(node.items):
        return step, node.items[step]
    return None


def _stands_alone(node: Node) -> bool:
    """Return whether the value is on one line and can be underlined itself."""
    one_line = node.span.line == node.span.end_line and node.span.column < node.span.end_column
    return one_line and (isinstance(node, ScalarNode) or node.flow)


def _first_line(source: SourceText) -> Span:
    return Span(source=source, line=1, column=1, end_line=1, end_column=2)
