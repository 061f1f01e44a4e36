"""Fields that take a scalar as the text that it was written as, whatever YAML makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from framework.spec.document.nodes import MapNode, Node, ScalarNode

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["with_options_as_text"]


def with_options_as_text(root: MapNode) -> MapNode:
    """The document with `source.options` as text: `0.10` stays `0.10`, and does not become 0.1."""
    return _changed(root, "source", _with_text)


def _with_text(source: Node) -> Node:
    """The section with its options as text."""
    return _changed(source, "options", _texts) if isinstance(source, MapNode) else source


def _changed(node: MapNode, name: str, change: Callable[[Node], Node]) -> MapNode:
    """The mapping with the value of that name changed."""
    entries = (
        replace(entry, value=change(entry.value)) if entry.name == name else entry
        for entry in node.entries
    )
    return replace(node, entries=tuple(entries))


def _texts(options: Node) -> Node:
    """The mapping with its numbers and booleans as text; what has no value stays without."""
    if not isinstance(options, MapNode):
        return options
    entries = (replace(entry, value=_text(entry.value)) for entry in options.entries)
    return replace(options, entries=tuple(entries))


def _text(node: Node) -> Node:
    """A number or a boolean as its text."""
    if isinstance(node, ScalarNode) and isinstance(node.value, int | float):
        return replace(node, value=node.text)
    return node
