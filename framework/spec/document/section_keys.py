"""Fields that are read in another form than they are written: old spellings, options as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from framework.spec.document.findings import FindingList
from framework.spec.document.positions import Entry, ListNode, MapNode, Node, ScalarNode

__all__ = ["in_current_names", "with_options_as_text"]


def with_options_as_text(root: MapNode) -> MapNode:
    """Return the document with `source.options` as text, so that `0.10` does not become 0.1."""
    return _changed(root, "source", _with_text)


def _with_text(source: Node) -> Node:
    return _changed(source, "options", _texts) if isinstance(source, MapNode) else source


def _changed(node: MapNode, name: str, change: Callable[[Node], Node]) -> MapNode:
    """Return the mapping with `change` applied to the value of that name."""
    entries = (
        replace(entry, value=change(entry.value)) if entry.name == name else entry
        for entry in node.entries
    )
    return replace(node, entries=tuple(entries))


def _texts(options: Node) -> Node:
    """Return the mapping with its numbers and booleans as text; an empty value stays empty."""
    if not isinstance(options, MapNode):
        return options
    entries = (replace(entry, value=_text(entry.value)) for entry in options.entries)
    return replace(options, entries=tuple(entries))


def _text(node: Node) -> Node:
    if isinstance(node, ScalarNode) and isinstance(node.value, int | float):
        return replace(node, value=node.text)
    return node


def in_current_names(root: MapNode, findings: FindingList) -> MapNode:
    """Return the document with `table.precombine` renamed to `table.ordering`, with a warning."""
    table = root.get("table")
    if table is None or not isinstance(table.value, MapNode):
        return root
    old = table.value.get("precombine")
    if old is None or table.value.get("ordering") is not None:
        return root
    columns = _columns(old.value)
    message = "`precombine` is the old name of `ordering`"
    suggestion = f"ordering: {{columns: [{', '.join(_names(columns))}]}}"
    findings.warn(
        "spec/deprecated-name",
        old.key.span,
        message,
        key_path="table.ordering",
        suggestion=suggestion,
    )
    inner = Entry(key=replace(old.key, text="columns", value="columns"), value=columns)
    ordering = Entry(
        key=replace(old.key, text="ordering", value="ordering"),
        value=MapNode(entries=(inner,), flow=False, span=old.value.span),
    )
    entries = tuple(ordering if entry is old else entry for entry in table.value.entries)
    new_table = replace(table, value=replace(table.value, entries=entries))
    return replace(root, entries=tuple(new_table if e is table else e for e in root.entries))


def _columns(value: Node) -> ListNode:
    """Return the columns as a list; a single column becomes a list of one."""
    if isinstance(value, ListNode):
        return value
    return ListNode(items=(value,), flow=True, span=value.span)


def _names(columns: ListNode) -> list[str]:
    return [item.text for item in columns.items if isinstance(item, ScalarNode)]
