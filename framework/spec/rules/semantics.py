"""Faults between fields, between sections, and between specs, which no single field shows.

The checks read the data as written, before it becomes a model, so that a fault in one field does
not hide those between others. Parts that are faulty themselves are skipped.

Specs that share a table are at fault, since a run of one would undo or refuse the work of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from pydantic_core import PydanticCustomError

from framework import vocabulary
from framework.errors import Finding
from framework.spec.document.findings import finding_at, nearest
from framework.spec.document.positions import child_path
from framework.spec.document.references import LooseText
from framework.spec.document.scalars import scalar_text
from framework.spec.rules.lookup import Lookup
from framework.spec.sections import maintenance_spec, source_spec
from framework.spec.sections.comparisons import parse_comparisons
from framework.spec.sections.locations import nested
from framework.spec.sections.pipeline_spec import PipelineSpec
from framework.spec.sections.quantities import parse_size, size_text
from framework.spec.sections.table_spec import AUTO, BLOOM_MAX_KEYS, TableSpec

__all__ = ["LoadSemantics", "MaintenanceSemantics", "Semantics", "shared_tables"]


_TYPES = {kind.value: kind for kind in vocabulary.PartitionType}


@dataclass(frozen=True, slots=True, kw_only=True)
class Semantics(Lookup):
    """Validator of the table, and of how it starts, across fields."""

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
        """Return whether a run has something to do besides a bootstrap."""
        deletes = self._at("write", "operation") == vocabulary.WriteOperation.DELETE_PARTITION.value
        return self._has("source") or deletes

    def _check_record_key(self) -> None:
        """Require `record_key`; without one a load numbers its rows, with a warning."""
        if self._has("table.record_key") or not isinstance(self._at("table"), Mapping):
            return
        if self._has("source") and not self._has("bootstrap"):
            message = "without `record_key` the rows are numbered"
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
        """Require `ordering` where versions of a record are compared; it has no safe default."""
        if self._has("table.ordering"):
            return
        upserts = self._at("write", "operation") == vocabulary.WriteOperation.UPSERT.value
        if self._at("table", "type") == vocabulary.TableType.MERGE_ON_READ.value:
            self._note_ordering("table.type", vocabulary.TableType.MERGE_ON_READ.value)
        elif upserts:
            self._note_ordering("write.operation", vocabulary.WriteOperation.UPSERT.value)

    def _note_ordering(self, path: str, who: str) -> None:
        """Report missing `ordering` at the field that requires it."""
        message = f"{who} needs `ordering`: the column whose greater value wins, or `commit_time`"
        self.findings.add(
            "spec/ordering-required",
            self.positions.span(path),
            message,
            key_path="table.ordering",
            suggestion="ordering: {columns: [updated_at]}",
        )

    def _check_bloom(self) -> None:
        """Report a dynamic filter whose maximum is below its initial size."""
        expected = self._number("table", "bloom", "expected_keys")
        most = self._number("table", "bloom", "max_keys") or BLOOM_MAX_KEYS
        if expected is not None and most < expected:
            path = "table.bloom.max_keys"
            path = path if self.positions.has(path) else "table.bloom.expected_keys"
            message = f"max_keys ({most}) is less than expected_keys ({expected})"
            self._note("out-of-range", path, message, f"max_keys: {expected}")

    def _check_layout(self) -> None:
        """Report a layout that does not match the table's partitioning."""
        layout = self._at("bootstrap", "layout")
        partitioned = bool(self._at("table", "partition_by"))
        if layout == vocabulary.SourceLayout.NONE.value and partitioned:
            message = "layout `none` has no partitions, but `table.partition_by` names some"
            self._note("layout-mismatch", "bootstrap.layout", message, "hive")
        elif (
            layout in (vocabulary.SourceLayout.HIVE.value, vocabulary.SourceLayout.POSITIONAL.value)
            and not partitioned
        ):
            message = f"layout `{layout}` needs `table.partition_by`"
            self._note("layout-mismatch", "bootstrap.layout", message, "none")

    def _check_overlap(self, section: str) -> None:
        """Report a table location that overlaps its source."""
        table, source = self._place("table", "location"), self._place(section, "path")
        overlap = nested(table, source) if table and source else None
        if overlap:
            how = {"same": "is", "inside": "is inside", "around": "contains"}[overlap]
            message = f"the table's location {how} the {section} path; keep them apart"
            self._note("path-overlap", "table.location", message)

    def _check_rules(self) -> None:
        """Report rules without a valid condition, and rules that an earlier one shadows."""
        rules = self._at("bootstrap", "rules")
        seen: set[str] = set()
        for index, rule in enumerate(rules if isinstance(rules, list) else []):
            if not isinstance(rule, Mapping):
                continue
            path = f"bootstrap.rules[{index}]"
            condition = (rule.get("partition"), rule.get("where"), rule.get("having"))
            if repr(condition) in seen or repr((".*", None, None)) in seen:
                span = self.positions.span(path)
                message = "an earlier rule matches everything that this one matches"
                self.findings.warn("spec/unreachable-rule", span, message, key_path=path)
            seen.add(repr(condition))
            if not any(condition):
                message = "a rule needs `partition`, `where` or `having`"
                self._note("rule-without-condition", path, message)
            self._check_where(condition[1], f"{path}.where")

    def _check_where(self, where: object, path: str) -> None:
        """Report conditions on other columns, and values that are not of the column's type."""
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

    def _check_comparison(
        self, name: str, text: str, kind: vocabulary.PartitionType, path: str
    ) -> None:
        """Report a condition that cannot be parsed."""
        try:
            parse_comparisons(name, text, kind)
        except PydanticCustomError as error:
            context = error.context or {}
            self._note("bad-comparison", path, context["message"], context.get("suggestion"))


_OPERATIONS = tuple(operation.value for operation in vocabulary.WriteOperation)
_DELETES = vocabulary.WriteOperation.DELETE_PARTITION.value


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSemantics(Lookup):
    """Validator of `source`, `transforms` and `write` across fields."""

    def check(self) -> None:
        """Add every fault to the findings."""
        self._check_presence()
        self._check_partitions()
        self._check_sizes()
        self._check_source()
        self._check_transforms()

    def _check_presence(self) -> None:
        """Require the three sections together, except to delete partitions."""
        operation = self._at("write", "operation")
        if operation == _DELETES:
            for section in ("source", "transforms"):
                if self._has(section):
                    message = f"`{_DELETES}` loads nothing, so `{section}` is not allowed"
                    self._note("source-not-allowed", section, message)
            return
        if self._has("source") and not self._has("write"):
            message = "a `source` needs `write`, which defines how its rows are written"
            self._note("source-without-write", "source", message, "write: {operation: upsert}")
        if not self._has("source") and operation in _OPERATIONS:
            message = f"`{operation}` needs a `source`, which defines the rows to load"
            self._note("write-without-source", "write.operation", message)
        if not self._has("source") and self._has("transforms"):
            message = "`transforms` need a `source`, whose rows they transform"
            self._note("transforms-without-source", "transforms", message)

    def _check_partitions(self) -> None:
        """Require `partitions` for `delete_partition`, and only for it."""
        operation = self._at("write", "operation")
        named = self._at("write", "partitions")
        if operation == _DELETES:
            if named == [] or not self._has("write.partitions"):
                self._note_missing_partitions()
            if not self._has("table.partition_by"):
                message = f"`{_DELETES}` needs a table with `partition_by`"
                self._note("table-without-partitions", "write.operation", message)
        elif named and operation in _OPERATIONS:
            message = f"`partitions` are for `{_DELETES}`; `{operation}` takes them from the rows"
            self._note("partitions-not-allowed", "write.partitions", message)

    def _note_missing_partitions(self) -> None:
        """Report missing partitions at the operation."""
        self.findings.add(
            "spec/partitions-required",
            self.positions.span("write.operation"),
            f"`{_DELETES}` needs `partitions`: their paths, or globs of them",
            key_path="write.partitions",
            suggestion="partitions: ['month=1']",
        )

    def _check_sizes(self) -> None:
        """Report a small-file limit above the target file size."""
        target = self._size("target_file_size") or source_spec.TARGET_FILE_SIZE
        small = self._size("small_file_limit")
        if small is not None and source_spec.MIN_TARGET_FILE_SIZE <= target < small:
            message = (
                f"small_file_limit ({size_text(small)}) is greater than "
                f"target_file_size ({size_text(target)})"
            )
            suggestion = f"small_file_limit: {size_text(target)}"
            self._note("out-of-range", "write.small_file_limit", message, suggestion)

    def _size(self, name: str) -> int | None:
        """Return the size in bytes, or None if it is missing or faulty."""
        value = self._at("write", name)
        typed = value.typed() if isinstance(value, LooseText) else value
        try:
            return parse_size(typed) if isinstance(typed, str | int) else None
        except PydanticCustomError:
            return None

    def _check_source(self) -> None:
        """Require a path for file formats; allow `new_files` only for them."""
        source = self._at("source")
        if not isinstance(source, Mapping):
            return
        name = self._at("source", "format") or source_spec.FILE_FORMATS[0]
        of_files = name in source_spec.FILE_FORMATS
        if of_files and not self._has("source.path"):
            message = f"`path` must be written for the format `{name}`"
            self._note("missing-field", "source.path", message, "path: lake/landing")
        if not of_files and self._at("source", "load") == source_spec.SourceLoad.NEW_FILES.value:
            message = f"a source of format `{name}` cannot load new files only; it loads all"
            self._note("load-mismatch", "source.load", message, source_spec.SourceLoad.ALL.value)

    def _check_transforms(self) -> None:
        """Report transforms without exactly one SQL, and duplicate names."""
        transforms = self._at("transforms")
        seen: dict[str, str] = {}
        for index, transform in enumerate(transforms if isinstance(transforms, list) else []):
            path = f"transforms[{index}]"
            if not isinstance(transform, Mapping):
                continue
            if ("sql" in transform) == ("sql_file" in transform):
                message = "a transform needs either `sql` or `sql_file`"
                self._note("one-sql", path, message)
            name = transform.get("name")
            first = seen.setdefault(str(name).lower(), path)
            if first != path and isinstance(name, str):
                message = f"`{name}` is already the name of {first}; case is ignored"
                self._note("duplicate-transform", f"{path}.name", message)


_POLICIES: Final = ("keep_commits", "keep_for", "keep_versions")
_LEAST_SORTED: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceSemantics(Lookup):
    """Validator of `maintenance` across fields."""

    def check(self) -> None:
        """Add every fault to the findings."""
        self._check_compact()
        self._check_clean()
        self._check_archive()
        self._check_cluster()

    def _check_compact(self) -> None:
        """Report compaction of a table without log files."""
        kind = self._at("table", "type")
        merges = kind == vocabulary.TableType.MERGE_ON_READ.value
        if isinstance(self._at("maintenance", "compact"), Mapping) and not merges:
            message = "a copy_on_write table has no log files to compact"
            self._note("nothing-to-compact", "maintenance.compact", message)

    def _check_clean(self) -> None:
        """Report more than one policy."""
        named = [name for name in _POLICIES if self._has(f"maintenance.clean.{name}")]
        for name in named[1:]:
            message = f"`{named[0]}` is written already; a table has one policy of cleaning"
            self._note("one-clean-policy", f"maintenance.clean.{name}", message)

    def _check_archive(self) -> None:
        """Report limits of archival that cross each other, or the commits that cleaning keeps."""
        section = ("maintenance", "archive")
        least = self._number(*section, "keep_min") or maintenance_spec.ARCHIVE_KEEP_MIN
        most = self._number(*section, "keep_max") or maintenance_spec.ARCHIVE_KEEP_MAX
        if most <= least:
            name = "keep_max" if self._has("maintenance.archive.keep_max") else "keep_min"
            message = f"keep_max ({most}) must be greater than keep_min ({least})"
            suggestion = f"keep_max: {least + 10}" if name == "keep_max" else None
            self._note("out-of-range", f"maintenance.archive.{name}", message, suggestion)
        commits = self._number("maintenance", "clean", "keep_commits")
        if commits is not None and commits >= least:
            message = (
                f"keep_commits ({commits}) must be less than archive.keep_min ({least}): "
                "slices of archived commits cannot be cleaned one by one"
            )
            path = "maintenance.clean.keep_commits"
            self._note("out-of-range", path, message, f"keep_commits: {least - 1}")

    def _check_cluster(self) -> None:
        """Require two columns for a Z-order."""
        columns = self._at("maintenance", "cluster", "by")
        count = len(columns) if isinstance(columns, list) else 0
        z_order = self._at("maintenance", "cluster", "z_order")
        typed = getattr(z_order, "typed", lambda: z_order)()
        if typed is True and count < _LEAST_SORTED:
            message = "a Z-order needs two columns or more in `by`"
            self._note("z-order-columns", "maintenance.cluster.z_order", message)


_HOW: Final = {"same": "is", "inside": "is inside", "around": "contains"}


def shared_tables(specs: Sequence[PipelineSpec]) -> tuple[Finding, ...]:
    """Return the faults between valid specs, each at both places.

    One location for two tables, or one table inside another, is an error. One name for two tables
    is a warning: reports, lineage and queries could not distinguish them.
    """
    return tuple(found for a, b in combinations(specs, 2) for found in _between(a, b))


def _between(first: PipelineSpec, second: PipelineSpec) -> Iterator[Finding]:
    for one, other in ((first, second), (second, first)):
        overlap = nested(one.table.location, other.table.location)
        if overlap:
            what = f"the table's location {_HOW[overlap]} that of the table in"
            yield _fault(one, other, "location", "spec/shared-location", what)
        elif one.table.name == other.table.name:
            what = f"`{one.table.name}` is also the name of the table in"
            found = _fault(one, other, "name", "spec/shared-name", what)
            yield replace(found, severity="warning")


def _fault(one: PipelineSpec, other: PipelineSpec, field: str, rule: str, what: str) -> Finding:
    """Return a fault at a field of one spec that points to the same field of the other."""
    path = f"table.{field}"
    there = other.positions.span(path).where
    message = f"{what} {there}; each table has one spec"
    return finding_at(rule, one.positions.span(path), message, key_path=path)
