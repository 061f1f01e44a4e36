"""Names that a spec may use besides those that are built: future sections and old spellings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from framework.spec.document.nodes import Entry, ListNode, MapNode, Node, ScalarNode

if TYPE_CHECKING:
    from framework.spec.document.findings import FindingList

__all__ = ["SECTIONS_NOT_BUILT", "in_current_names", "without_unbuilt"]

SECTIONS_NOT_BUILT = {
    "maintenance": "compaction, cleaning, clustering",
    "catalog": "registration in a metastore",
}
"""Sections that later versions bring, and what they will be for."""


def without_unbuilt(root: MapNode, findings: FindingList) -> MapNode:
    """The document without sections that are not built yet, each of which is a finding."""
    kept = []
    for entry in root.entries:
        purpose = SECTIONS_NOT_BUILT.get(entry.name)
        if purpose is None:
            kept.append(entry)
            continue
        message = f"the section `{entry.name}` ({purpose}) is not built yet in this version"
        rule = "spec/section-not-built"
        findings.add(rule, entry.key.span, message, key_path=entry.name)
    return replace(root, entries=tuple(kept))


def in_current_names(root: MapNode, findings: FindingList) -> MapNode:
    """The document with `table.precombine` as `table.ordering`, which is a warning."""
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
    """A single column as a list of one."""
    if isinstance(value, ListNode):
        return value
    return ListNode(items=(value,), flow=True, span=value.span)


def _names(columns: ListNode) -> list[str]:
    """The columns' names as written."""
    return [item.text for item in columns.items if isinstance(item, ScalarNode)]
