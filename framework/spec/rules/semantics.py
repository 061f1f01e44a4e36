"""Faults that no single field shows.

These checks read the data as it was written, before it is a model, so that a fault in one field
does not hide those between others. A part that is itself at fault is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic_core import PydanticCustomError

from framework.spec.document.findings import nearest
from framework.spec.document.nodes import child_path
from framework.spec.document.scalars import scalar_text
from framework.spec.rules.lookup import Lookup
from framework.spec.sections.comparisons import parse_comparisons
from framework.spec.sections.locations import nested
from framework.spec.sections.table_spec import AUTO, BLOOM_MAX_KEYS, TableSpec
from framework.vocabulary import (
    PartitionType,
    SourceLayout,
    TableType,
    WriteOperation,
)

__all__ = ["Semantics"]

_TYPES = {kind.value: kind for kind in PartitionType}


@dataclass(frozen=True, slots=True, kw_only=True)
class Semantics(Lookup):
    """Checks what the table is, and how it begins, across fields."""

    def check(self) -> None:
        """Add every fault to the findings."""
        self._check_record_key()
        self._check_ordering()
        self._check_bloom()
        self._check_overlap("bootstrap")
        self._check_overlap("source")
        if self._at("bootstrap") is not None:
            self._check_layout()
            self._check_rules()
        elif not self._runs():
            message = "without `bootstrap` and `source` a run has nothing to do"
            span = self.positions.span("table", of_key=True)
            self.findings.warn("spec/nothing-to-run", span, message, key_path="table")

    def _runs(self) -> bool:
        """Whether a run has something to do besides a bootstrap."""
        deletes = self._at("write", "operation") == WriteOperation.DELETE_PARTITION.value
        return self._has("source") or deletes

    def _check_record_key(self) -> None:
        """Rows that a source brings may be numbered unasked; those of a bootstrap never are."""
        if self._has("table.record_key") or not isinstance(self._at("table"), Mapping):
            return
        if self._has("source") and not self._has("bootstrap"):
            message = "`record_key` is left out, so that the rows are numbered"
            span = self.positions.span("table", of_key=True)
            self.findings.warn(
                "spec/record-key-left-out",
                span,
                message,
                key_path="table",
                suggestion=f"record_key: {AUTO}",
            )
            return
        examples = TableSpec.model_fields["record_key"].examples or []
        message = "`record_key` must be written"
        self._note("missing-field", "table.record_key", message, f"record_key: {examples[0]}")

    def _check_ordering(self) -> None:
        """Versions of a record are distinguished by an order that nobody can guess."""
        if self._has("table.ordering"):
            return
        upserts = self._at("write", "operation") == WriteOperation.UPSERT.value
        if self._at("table", "type") == TableType.MERGE_ON_READ.value:
            self._note_ordering("table.type", TableType.MERGE_ON_READ.value)
        elif upserts:
            self._note_ordering("write.operation", WriteOperation.UPSERT.value)

    def _note_ordering(self, path: str, who: str) -> None:
        """Ask for the order where its need is written."""
        message = f"{who} needs `ordering`: the column whose greater value wins, or `commit_time`"
        self.findings.add(
            "spec/ordering-required",
            self.positions.span(path),
            message,
            key_path="table.ordering",
            suggestion="ordering: {columns: [updated_at]}",
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

    def _check_overlap(self, section: str) -> None:
        """Table and data that comes in may not lie in one another."""
        table, source = self._place("table", "location"), self._place(section, "path")
        overlap = nested(table, source) if table and source else None
        if overlap:
            how = {"same": "is", "inside": "lies inside", "around": "contains"}[overlap]
            message = f"the table's location {how} the {section} path; keep them apart"
            self._note("path-overlap", "table.location", message)

    def _check_rules(self) -> None:
        """Each rule has a condition that fits the table and that an earlier one leaves open."""
        rules = self._at("bootstrap", "rules")
        seen: set[str] = set()
        for index, rule in enumerate(rules if isinstance(rules, list) else []):
            if not isinstance(rule, Mapping):
                continue
            path = f"bootstrap.rules[{index}]"
            condition = (rule.get("partition"), rule.get("where"), rule.get("having"))
            if repr(condition) in seen or repr((".*", None, None)) in seen:
                span = self.positions.span(path)
                message = "an earlier rule matches whatever this one does"
                self.findings.warn("spec/unreachable-rule", span, message, key_path=path)
            seen.add(repr(condition))
            if not any(condition):
                message = "a rule needs `partition`, `where` or `having`"
                self._note("rule-without-condition", path, message)
            self._check_where(condition[1], f"{path}.where")

    def _check_where(self, where: object, path: str) -> None:
        """Conditions name partition columns and compare with values of their type."""
        columns = self._at("table", "partition_by")
        types = columns if isinstance(columns, Mapping) else {}
        for name, text in where.items() if isinstance(where, Mapping) else ():
            at = child_path(path, name)
            kind = _TYPES.get(str(types.get(name)))
            if name not in types:
                message = f"`{name}` is not a partition column"
                self._note("unknown-partition-column", at, message, nearest(name, types))
            elif isinstance(text, str | int | float) and kind is not None:
                self._check_comparison(name, scalar_text(text), kind, at)

    def _check_comparison(self, name: str, text: str, kind: PartitionType, path: str) -> None:
        """The condition can be read."""
        try:
            parse_comparisons(name, text, kind)
        except PydanticCustomError as error:
            context = error.context or {}
            self._note("bad-comparison", path, context["message"], context.get("suggestion"))
