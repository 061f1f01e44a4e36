"""Faults that no single field shows.

These checks read the data as it was written, before it is a model, so that a fault in one field
does not hide those between others. A part that is itself at fault is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

from framework.spec.comparisons import parse_comparisons
from framework.spec.findings import FindingList, nearest
from framework.spec.locations import nested, resolve_location
from framework.spec.nodes import child_path
from framework.spec.references import LooseText
from framework.spec.scalars import scalar_text
from framework.spec.table_spec import BLOOM_MAX_KEYS
from framework.vocabulary import OnDuplicate, PartitionType, SourceLayout, TableType

if TYPE_CHECKING:
    from pathlib import Path

    from framework.spec.positions import Positions

__all__ = ["Semantics"]

_TYPES = {kind.value: kind for kind in PartitionType}


@dataclass(frozen=True, slots=True, kw_only=True)
class Semantics:
    """Checks one document across its fields; `folder` is where relative locations start."""

    data: Mapping[str, object]
    positions: Positions
    findings: FindingList
    folder: Path

    def check(self) -> None:
        """Add every fault to the findings."""
        self._check_not_built()
        self._check_ordering()
        self._check_bloom()
        if self._at("bootstrap") is None:
            message = "without `bootstrap` a run has nothing to do"
            span = self.positions.span("table", of_key=True)
            self.findings.warn("spec/nothing-to-run", span, message, key_path="table")
            return
        self._check_layout()
        self._check_overlap()
        self._check_rules()

    def _check_not_built(self) -> None:
        """Refuse values that a later version brings."""
        if self._at("bootstrap", "on_duplicate") == OnDuplicate.REWRITE_FILES.value:
            message = "`rewrite_files` is not built yet"
            path = "bootstrap.on_duplicate"
            self._note("value-not-built", path, message, OnDuplicate.ABORT.value)

    def _check_ordering(self) -> None:
        """Merge-on-read merges by an ordering column, which nobody can guess."""
        merges = self._at("table", "type") == TableType.MERGE_ON_READ.value
        if merges and self._at("table", "ordering") is None:
            message = "merge_on_read needs `ordering`: the column whose greater value wins"
            span = self.positions.span("table.type")
            suggestion = "ordering: {columns: [updated_at]}"
            self.findings.add(
                "spec/ordering-required",
                span,
                message,
                key_path="table.ordering",
                suggestion=suggestion,
            )

    def _check_bloom(self) -> None:
        """A dynamic filter cannot grow to less than it starts with."""
        expected = self._number("table", "bloom", "expected_keys")
        most = self._number("table", "bloom", "max_keys") or BLOOM_MAX_KEYS
        if expected is not None and most < expected:
            path = "table.bloom.max_keys"
            path = path if self.positions.has(path) else "table.bloom.expected_keys"
            message = f"max_keys ({most}) is less than expected_keys ({expected})"
            self._note("out-of-range", path, message, f"max_keys: {expected}")

    def _check_layout(self) -> None:
        """Folders name partitions exactly where the table has them."""
        layout = self._at("bootstrap", "layout")
        partitioned = bool(self._at("table", "partition_by"))
        if layout == SourceLayout.NONE.value and partitioned:
            message = "layout `none` has no partitions, but `table.partition_by` names some"
            self._note("layout-mismatch", "bootstrap.layout", message, "hive")
        elif layout in (SourceLayout.HIVE.value, SourceLayout.POSITIONAL.value) and not partitioned:
            message = f"layout `{layout}` needs `table.partition_by`"
            self._note("layout-mismatch", "bootstrap.layout", message, "none")

    def _check_overlap(self) -> None:
        """Table and source may not lie in one another."""
        table, source = self._place("table", "location"), self._place("bootstrap", "path")
        overlap = nested(table, source) if table and source else None
        if overlap:
            how = {"same": "is", "inside": "lies inside", "around": "contains"}[overlap]
            message = f"the table's location {how} the bootstrap path; keep them apart"
            self._note("path-overlap", "table.location", message)

    def _place(self, *names: str) -> str | None:
        """The resolved location, or None where it is faulty."""
        text = self._at(*names)
        try:
            return resolve_location(text, self.folder) if isinstance(text, str) else None
        except PydanticCustomError:
            return None

    def _check_rules(self) -> None:
        """Each rule has a condition that fits the table and that an earlier one leaves open."""
        rules = self._at("bootstrap", "rules")
        seen: set[str] = set()
        for index, rule in enumerate(rules if isinstance(rules, list) else []):
            if not isinstance(rule, Mapping):
                continue
            path = f"bootstrap.rules[{index}]"
            condition = (rule.get("partition"), rule.get("where"))
            if repr(condition) in seen or repr((".*", None)) in seen:
                span = self.positions.span(path)
                message = "an earlier rule matches whatever this one does"
                self.findings.warn("spec/unreachable-rule", span, message, key_path=path)
            seen.add(repr(condition))
            if not any(condition):
                message = "a rule needs `partition` or `where`"
                self._note("rule-without-condition", path, message)
            self._check_where(condition[1], f"{path}.where")

    def _check_where(self, where: object, path: str) -> None:
        """Conditions name partition columns and compare with values of their type."""
        columns = self._at("table", "partition_by")
        types = columns if isinstance(columns, Mapping) else {}
        for name, text in where.items() if isinstance(where, Mapping) else ():
            at = child_path(path, name)
            kind = types.get(name)
            if name not in types:
                message = f"`{name}` is not a partition column"
                self._note("unknown-partition-column", at, message, nearest(name, types))
            elif isinstance(text, str | int | float) and kind in _TYPES:
                self._check_comparison(name, scalar_text(text), _TYPES[kind], at)

    def _check_comparison(self, name: str, text: str, kind: PartitionType, path: str) -> None:
        """The condition can be read."""
        try:
            parse_comparisons(name, text, kind)
        except PydanticCustomError as error:
            context = error.context or {}
            self._note("bad-comparison", path, context["message"], context.get("suggestion"))

    def _note(self, rule: str, path: str, message: str, suggestion: str | None = None) -> None:
        """Add a fault at the path."""
        span = self.positions.span(path, of_key=rule == "unknown-partition-column")
        self.findings.add(f"spec/{rule}", span, message, key_path=path, suggestion=suggestion)

    def _number(self, *names: str) -> int | None:
        """The whole number at the path, or None."""
        value = self._at(*names)
        typed = value.typed() if isinstance(value, LooseText) else value
        return typed if isinstance(typed, int) else None

    def _at(self, *names: str) -> object:
        """The value at the path, or None where there is none."""
        value: object = self.data
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value
