"""YAML text -> tree of nodes with positions.

This is the only module that reads YAML. It works on libyaml's events and never builds a Python
object from a tag. YAML features beyond plain data are refused here, each with its own rule:
anchors, aliases, merge keys, tags, directives, several documents, non-text keys, duplicate keys,
deep nesting. The rules of `scalars` give scalars their values.

A reference `${…}` inside `{}` or `[]` is a syntax error in YAML, because its braces open a mapping.
To report that fault precisely, and to find the next one, the braces of references are replaced by
two private characters of equal width before parsing, and restored in each scalar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from yaml import CBaseLoader, MarkedYAMLError, events

from framework.errors import SpecError
from framework.spec.document.findings import FindingList, finding_at
from framework.spec.document.positions import Entry, ListNode, MapNode, Node, ScalarNode, child_path
from framework.spec.document.scalars import ScalarValue, core_scalar
from framework.spec.document.source import SourceText, Span

__all__ = ["MAX_DEPTH", "parse"]

MAX_DEPTH = 50
"""Mappings and lists nested deeper than this are refused."""

_REFERENCE = re.compile(r"\$\{([^{}\r\n]*)\}")
_OPEN, _CLOSE = "\ue000", "\ue001"
_UNMASK = str.maketrans({_OPEN: "{", _CLOSE: "}"})
_TAB_INDENT = re.compile(r" *\t")


def parse(source: SourceText, findings: FindingList, at: str = "") -> Node | None:
    """Return the document as a tree, or None if it is empty or cannot be parsed.

    `at` is the key path of the document within another one. Every fault is added to `findings`.
    After a fault that leaves the structure clear (a duplicate key, an anchor, …) the tree is still
    returned, without the faulty part.
    """
    masked = _REFERENCE.sub(rf"${_OPEN}\1{_CLOSE}", source.text)
    try:
        return _Walker(source=source, findings=findings, events=CBaseLoader(masked)).document(at)
    except MarkedYAMLError as error:
        _note_syntax(source, error, findings)
    except SpecError as error:
        findings.extend(error.findings)
    return None


def _note_syntax(source: SourceText, error: MarkedYAMLError, findings: FindingList) -> None:
    """Report the parser's error, or a tab indent if that caused it."""
    line, column = _problem(source, error)
    text = source.lines[line - 1]
    tab = _TAB_INDENT.match(text)
    column = tab.end() if tab else column
    span = Span(source=source, line=line, column=column, end_line=line, end_column=column + 1)
    if tab:
        suggestion = "indent with two spaces per level"
        findings.add("spec/yaml-tab", span, "indented with a tab", suggestion=suggestion)
        return
    context = f" {error.context}" if error.context else ""
    findings.add("spec/yaml-syntax", span, f"not YAML: {error.problem}{context}")


def _problem(source: SourceText, error: MarkedYAMLError) -> tuple[int, int]:
    """Return line and column where the parser stopped, or of its context at the file's end."""
    for mark in (error.problem_mark, error.context_mark):
        if mark and mark.line < len(source.lines) and source.lines[mark.line].strip():
            return mark.line + 1, mark.column + 1
    last = max((i for i, text in enumerate(source.lines) if text.strip()), default=0)
    return last + 1, len(source.lines[last]) + 1


@dataclass(slots=True, kw_only=True)
class _Walker:
    """One pass over the events of a document."""

    source: SourceText
    findings: FindingList
    events: CBaseLoader
    depth: int = 0
    flow: int = 0

    def document(self, at: str) -> Node | None:
        """Return the first document; report any further one."""
        self.events.get_event()
        if self.events.check_event(events.StreamEndEvent):
            return None
        start: Any = self.events.get_event()
        if start.version or start.tags:
            self._refuse("directive", start, "a % directive is not allowed")
        root = self._node(at)
        self.events.get_event()
        if not self.events.check_event(events.StreamEndEvent):
            second = self.events.peek_event()
            self._refuse("many-documents", second, "a second document starts here")
        return root

    def _node(self, path: str) -> Node:
        """Return the node that starts at the next event."""
        event: Any = self.events.get_event()
        if isinstance(event, events.AliasEvent):
            self._refuse("alias", event, f"the alias `*{event.anchor}` is not allowed", path)
            text = f"*{event.anchor}"
            return ScalarNode(text=text, value=text, span=self._span(event))
        self._check_properties(event, path)
        if isinstance(event, events.ScalarEvent):
            return self._scalar(event, path)
        self.depth += 1
        self.flow += bool(event.flow_style)
        if self.depth > MAX_DEPTH:
            message = f"nested deeper than {MAX_DEPTH} levels"
            raise SpecError((finding_at("spec/yaml-too-deep", self._span(event), message),))
        mapping = isinstance(event, events.MappingStartEvent)
        node = self._mapping(event, path) if mapping else self._list(event, path)
        self.depth -= 1
        self.flow -= bool(event.flow_style)
        return node

    def _check_properties(self, event: Any, path: str) -> None:
        """Report an anchor or a tag; the node itself is still read."""
        if event.anchor:
            self._refuse("anchor", event, f"the anchor `&{event.anchor}` is not allowed", path)
        if event.tag:
            self._refuse("tag", event, f"the tag `{event.tag}` is not allowed", path)

    def _scalar(self, event: Any, path: str) -> ScalarNode:
        """Return the scalar with its value; quoted and block scalars are always text."""
        text = event.value.translate(_UNMASK)
        plain = not event.style
        if plain and self.flow and text != event.value:
            message = "a reference inside {} or [] must be quoted"
            span = self._span(event)
            self.findings.add(
                "spec/unquoted-reference", span, message, key_path=path, suggestion=f"'{text}'"
            )
        value: ScalarValue = text
        if plain:
            try:
                value = core_scalar(text)
            except OverflowError:
                message = "the number is outside 64 bits"
                self._refuse("number", event, message, path, suggestion=f"'{text[:40]}'")
        return ScalarNode(text=text, value=value, plain=plain, span=self._span(event))

    def _list(self, start: Any, path: str) -> ListNode:
        items: list[Node] = []
        while not self.events.check_event(events.SequenceEndEvent):
            items.append(self._node(child_path(path, len(items))))
        span = self._span(start, self.events.get_event())
        return ListNode(items=tuple(items), flow=bool(start.flow_style), span=span)

    def _mapping(self, start: Any, path: str) -> MapNode:
        """Return the mapping up to its end, without the entries whose key is not usable."""
        entries: dict[str, Entry] = {}
        while not self.events.check_event(events.MappingEndEvent):
            key = self._node(path)
            name = key.text if isinstance(key, ScalarNode) else ""
            value = self._node(child_path(path, name))
            fault = _key_fault(key)
            if fault or not isinstance(key, ScalarNode):
                rule, message, suggestion = fault or _NOT_TEXT
                at = child_path(path, name)
                self.findings.add(rule, key.span, message, key_path=at, suggestion=suggestion)
                continue
            first = entries.setdefault(name, Entry(key=key, value=value))
            if first.key is not key:
                self._note_duplicate(first.key, key, path)
        span = self._span(start, self.events.get_event())
        return MapNode(entries=tuple(entries.values()), flow=bool(start.flow_style), span=span)

    def _note_duplicate(self, first: ScalarNode, second: ScalarNode, path: str) -> None:
        """Report a key that is written twice, with the line of the first."""
        message = f"`{second.text}` is written twice, first on line {first.span.line}"
        where = child_path(path, second.text)
        self.findings.add("spec/duplicate-key", second.span, message, key_path=where)

    def _refuse(
        self, kind: str, event: Any, message: str, path: str = "", *, suggestion: str | None = None
    ) -> None:
        """Report a YAML feature that a spec may not use."""
        span = self._span(event)
        self.findings.add(f"spec/yaml-{kind}", span, message, key_path=path, suggestion=suggestion)

    def _span(self, start: Any, end: Any = None) -> Span:
        """Return the span from the start of one event to the end of another."""
        first, last = start.start_mark, (end or start).end_mark
        return Span(
            source=self.source,
            line=first.line + 1,
            column=first.column + 1,
            end_line=last.line + 1,
            end_column=last.column + 1,
        )


_NOT_TEXT = ("spec/key-not-text", "a key must be text", None)


def _key_fault(key: Node) -> tuple[str, str, str | None] | None:
    """Return rule, message and suggestion if the key cannot be used, else None."""
    if not isinstance(key, ScalarNode):
        return _NOT_TEXT
    if not isinstance(key.value, str):
        return (*_NOT_TEXT[:2], f"'{key.text}'")
    if key.text == "<<" and key.plain:
        return "spec/yaml-merge", "the merge key `<<` is not allowed", None
    if _REFERENCE.search(key.text):
        return "spec/reference-in-key", "a key may not hold a reference", None
    return None
