"""Faults between the checks of a spec, its table and the operation of its run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from framework.spec.document.findings import nearest
from framework.spec.document.positions import ScalarNode, child_path
from framework.spec.document.references import LooseText
from framework.spec.document.scalars import quoted, scalar_text
from framework.spec.document.source import Span
from framework.spec.rules.check_semantics import expectations, scanned
from framework.spec.rules.inclusions import COLUMNS_PATH, PROFILES
from framework.spec.rules.lookup import Lookup
from framework.spec.rules.resolved_checks import running
from framework.spec.sections.locations import nested
from framework.spec.sections.project import PROJECT_FILE
from framework.spec.sections.quality_spec import QUARANTINE_SUFFIX, SPLITS
from framework.spec.sql import predicates
from framework.spec.sql.spark_types import TypeTextError, normal_type
from framework.vocabulary import CheckedRows, CheckKind, OnFail, PartitionType, WriteOperation

__all__ = ["ContractSemantics", "QualitySemantics"]


_NESTED = ("array<", "map<", "struct<")

_DELETES = (WriteOperation.DELETE.value, WriteOperation.DELETE_PARTITION.value)
_PARTITION_TYPES = {
    **{kind.value: kind.value for kind in PartitionType},
    PartitionType.LONG.value: "bigint",
}
_DECLARED = "the columns that `table.columns` declares"
_UNKNOWN = "unknown-column"
_KINDS = tuple(kind.value for kind in CheckKind)
_PREDICATES = ("expect", "where", "expect_aggregate")
Placed = tuple[str, str, Mapping[str, object]]
"""Where the spec names a check, where the check is written, and its fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractSemantics(Lookup):
    """Validator of `table.columns`."""

    def check(self) -> None:
        """Add every fault to the findings."""
        contract = self._at("table", "columns")
        for name, column in contract.items() if isinstance(contract, Mapping) else ():
            if isinstance(column, Mapping):
                self._check_column(child_path(COLUMNS_PATH, name), column)

    def _check_column(self, path: str, column: Mapping[str, object]) -> None:
        """Report fields of a column that contradict each other."""
        if "on_fail" in column and "allowed" not in column and column.get("nullable") is not False:
            message = "`on_fail` needs `nullable: false` or `allowed`; this column has neither"
            self._note("idle-field", f"{path}.on_fail", message)
        allowed = column.get("allowed")
        if not isinstance(allowed, list):
            return
        try:
            kind = normal_type(str(column["type"])) if "type" in column else None
        except TypeTextError:
            return  # reported by the field itself
        if kind is not None and kind.startswith(_NESTED):
            message = f"`allowed` is for plain values; the column is a {kind[:60]}"
            self._note("idle-field", f"{path}.allowed", message)
        elif kind is not None:
            self._check_allowed(f"{path}.allowed", allowed, kind)
        elif len({_family(value) for value in allowed}) > 1:
            message = "the values are of several types; add the column's type"
            self._note("bad-literal", f"{path}.allowed", message, "type: string")

    def _check_allowed(self, path: str, allowed: list[object], kind: str) -> None:
        """Report each allowed value that is not of the column's type."""
        for index, value in enumerate(allowed):
            typed = value.typed() if isinstance(value, LooseText) else value
            if not isinstance(typed, str | int | float):
                continue
            at = f"{path}[{index}]"
            node = self.positions.node(at)
            written = node.text if isinstance(node, ScalarNode) else scalar_text(typed)
            if kind == "string" and not isinstance(typed, str):
                message = f"must be text, like the column: `{written[:60]}` is not text"
                self._note("bad-literal", at, message, quoted(written))
            elif not predicates.reads_as(scalar_text(typed), kind):
                self._note("bad-literal", at, f"`{written[:60]}` is not a valid {kind}")


def _family(value: object) -> type:
    """Return the type of a value; all numbers count as float."""
    typed = value.typed() if isinstance(value, LooseText) else value
    return float if type(typed) is int else type(typed)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualitySemantics(Lookup):
    """Validator of the checks that run, against one another and against the table."""

    def check(self) -> None:
        """Add every fault to the findings."""
        if self._at("quality") == {}:
            span = self.positions.span("quality", of_key=True)
            message = "the section is empty"
            self.findings.add("spec/empty-value", span, message, key_path="quality")
        self._check_profiles()
        checks = list(running(self.data))
        self._check_names(checks)
        self._check_vacuous(checks)
        self._check_columns(checks)
        self._check_quarantine(checks)

    def _named_profiles(self) -> list[object]:
        """Return the profile names as written."""
        named = self._at("quality", PROFILES)
        return named if isinstance(named, list) else []

    def _check_profiles(self) -> None:
        """Report profiles that the project file does not have or that are named twice."""
        known = self._at(PROFILES)
        names = list(known) if isinstance(known, Mapping) else []
        seen: set[str] = set()
        for index, name in enumerate(self._named_profiles()):
            path = f"quality.{PROFILES}[{index}]"
            if not isinstance(name, str) or self.findings.full:
                continue
            if name not in names:
                there = ", ".join(names) or "none"
                message = f"{PROJECT_FILE} has no profile `{name[:60]}`; it has: {there}"
                self._note("unknown-profile", path, message, nearest(name, names))
            elif name in seen:
                self._note("duplicate-check", path, f"the profile `{name}` is named twice")
            seen.add(name)

    def _check_names(self, checks: list[Placed]) -> None:
        """Report checks of the same name, within a profile as well."""
        seen: dict[str, str] = {}
        for named, path, check in checks:
            name = check.get("name")
            first = seen.setdefault(str(name).lower(), path)
            if first == path or not isinstance(name, str):
                continue
            same_list = first.rpartition("[")[0] == path.rpartition("[")[0]
            at = f"{path}.name" if same_list or named == path else named
            message = f"`{name}` is already the name of {first}; case is ignored"
            self._note("duplicate-check", at, message)

    def _check_vacuous(self, checks: list[Placed]) -> None:
        """Report checks of written rows if the run only deletes."""
        operation = self._at("write", "operation")
        if operation not in _DELETES or self._has("bootstrap"):
            return
        splits = [each.value for each in SPLITS] if operation == WriteOperation.DELETE.value else []
        for named, path, check in checks:
            over = check.get("over", CheckedRows.WRITTEN.value)
            if over != CheckedRows.WRITTEN.value or sum(k in check for k in _KINDS) != 1:
                continue
            if check.get("on_fail") in splits:
                continue  # it removes rows that would delete others
            at = f"{path}.over" if named == path and self._has(f"{path}.over") else named
            who = "the check" if named == path else f"the check `{check.get('name')}`"
            message = f"`{operation}` writes no rows, so {who} checks nothing"
            self._note("vacuous-check", at, message, f"over: {CheckedRows.TABLE.value}")

    def _check_columns(self, checks: list[Placed]) -> None:
        """Warn of names close to declared columns; report texts that do not fit a column's type.

        A contract need not name every column, so other unknown names are found when planning.
        """
        contract = self._at("table", "columns")
        if not isinstance(contract, Mapping):
            return
        known, types = self._known_columns(contract)
        for _, path, check in checks:
            for name in _PREDICATES:
                found = None if self.findings.full else scanned(check.get(name))
                if found is not None:
                    unknown = predicates.unknown_columns(found, known, _DECLARED)
                    faults = () if self.findings.warned else unknown
                    self._note_all(
                        f"{path}.{name}", chain(faults, predicates.text_faults(found, types))
                    )
            self._check_arguments(path, check, known)
        redacted = self._at("quality", "redact")
        for index, name in enumerate(redacted if isinstance(redacted, list) else []):
            self._check_column(f"quality.redact[{index}]", name, known)

    def _note_all(self, path: str, faults: Iterator[predicates.PredicateFault]) -> None:
        """Report the faults of the predicate at the path, up to the limit."""
        for fault in faults:
            if self.findings.full:
                return
            place = (fault.offset, fault.length)
            if fault.rule == _UNKNOWN:
                span = self.positions.part(path, *place)
                self._warn_of_column(path, span, fault.message, fault.suggestion)
                continue
            self._note_within(fault.rule, path, fault.message, place, fault.suggestion)

    def _known_columns(
        self, contract: Mapping[str, object]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return the columns that the spec names, by lower-case name, and their types if known."""
        partitions = self._at("table", "partition_by")
        partitions = partitions if isinstance(partitions, Mapping) else {}
        named = (self._at("table", section, "columns") for section in ("record_key", "ordering"))
        lists = (each for each in named if isinstance(each, list))
        others = (str(name) for each in lists for name in each)
        types = {
            name.lower(): _PARTITION_TYPES[kind]
            for name, kind in partitions.items()
            if isinstance(kind, str) and kind in _PARTITION_TYPES
        }
        for name, column in contract.items():
            text = column.get("type") if isinstance(column, Mapping) else None
            try:
                types |= {name.lower(): normal_type(text)} if isinstance(text, str) else {}
            except TypeTextError:
                types.pop(name.lower(), None)
        names = (*predicates.META_COLUMNS, *others, *partitions, *contract)
        return {name.lower(): name for name in names}, types

    def _check_arguments(
        self, path: str, check: Mapping[str, object], known: Mapping[str, str]
    ) -> None:
        """Check the column arguments of an expectation."""
        name, arguments = check.get("gx"), check.get("arguments")
        if isinstance(name, str) and isinstance(arguments, Mapping):
            for argument, column in expectations().column_arguments(name, arguments):
                self._check_column(child_path(f"{path}.arguments", argument), column, known)

    def _check_column(self, path: str, name: object, known: Mapping[str, str]) -> None:
        """Warn if the column is not declared."""
        if isinstance(name, str) and name.lower() not in known and not self.findings.warned:
            message, near = f"`{name[:60]}` is not among {_DECLARED}", nearest(name, known.values())
            self._warn_of_column(path, self.positions.span(path), message, near)

    def _warn_of_column(self, path: str, span: Span, message: str, near: str | None) -> None:
        """Warn of a name close to a declared column; any other name may be in the data."""
        if near is not None:
            self.findings.warn(f"spec/{_UNKNOWN}", span, message, key_path=path, suggestion=near)

    def _check_quarantine(self, checks: list[Placed]) -> None:
        """Report a quarantine location that overlaps the table or a source."""
        place, path = (
            self._place("quality", "quarantine", "location"),
            "quality.quarantine.location",
        )
        table = self._place("table", "location")
        if not self._has(path):
            if not self._quarantines(checks) or table is None:
                return
            place, path = f"{table}{QUARANTINE_SUFFIX}", "table.location"
        for section, field in (("table", "location"), ("source", "path"), ("bootstrap", "path")):
            other = self._place(section, field)
            overlap = nested(place, other) if place and other else None
            if overlap:
                how = {"same": "is", "inside": "is inside", "around": "contains"}[overlap]
                message = f"the quarantine location, {place}, {how} the {section} {field}"
                self._note("path-overlap", path, f"{message}; keep them apart")

    def _quarantines(self, checks: list[Placed]) -> bool:
        """Return whether a check or a column can quarantine rows."""
        contract = self._at("table", "columns")
        columns = contract.values() if isinstance(contract, Mapping) else ()
        found = (*(check for *_, check in checks), *columns)
        return any(
            isinstance(each, Mapping) and each.get("on_fail") == OnFail.QUARANTINE.value
            for each in found
        )
