"""The YAML document as a tree that knows where everything stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from framework.spec.document.scalars import ScalarValue
from framework.spec.document.source import Span

__all__ = ["Entry", "ListNode", "MapNode", "Node", "ScalarNode", "child_path", "children"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarNode:
    """One value.

    Attributes:
        text: what was written, without its quotes.
        value: what it means.
        plain: whether it was written without quotes, and not as a block.
        span: where.
    """

    text: str
    value: ScalarValue
    plain: bool = True
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One `key: value`; the key is always text."""

    key: ScalarNode
    value: Node

    @property
    def name(self) -> str:
        """The key's text."""
        return self.key.text


@dataclass(frozen=True, slots=True, kw_only=True)
class MapNode:
    """A mapping in the order of the file, each key once; `flow` means written as `{}`."""

    entries: tuple[Entry, ...]
    flow: bool
    span: Span

    def get(self, name: str) -> Entry | None:
        """The entry of that key, or None."""
        return next((entry for entry in self.entries if entry.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListNode:
    """A list; `flow` means written as `[]`."""

    items: tuple[Node, ...]
    flow: bool
    span: Span


Node = ScalarNode | MapNode | ListNode


def child_path(parent: str, step: str | int) -> str:
    """The dotted path of a child: `bootstrap.rules[0].mode`."""
    if isinstance(step, int):
        return f"{parent}[{step}]"
    return f"{parent}.{step}" if parent else step


def children(node: Node, path: str) -> Iterator[tuple[str, Span | None, Node]]:
    """Path, span of the key (None in a list) and node of each direct child."""
    if isinstance(node, MapNode):
        for entry in node.entries:
            yield child_path(path, entry.name), entry.key.span, entry.value
    elif isinstance(node, ListNode):
        for index, item in enumerate(node.items):
            yield child_path(path, index), None, item
