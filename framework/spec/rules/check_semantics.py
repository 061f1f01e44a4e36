"""Faults within a single check or a single test, in the data as written."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from framework.spec.document.findings import MAX_FINDINGS, FindingList, nearest
from framework.spec.document.positions import Positions, child_path
from framework.spec.rules.lookup import Lookup
from framework.spec.rules.resolved_checks import CHECKED_VIEW, placed
from framework.spec.sections.pipeline_spec import PipelineDocument
from framework.spec.sections.quality_spec import SPLITS, PlacedCheck
from framework.spec.sql.allowed_sql import expression_faults
from framework.spec.sql.expressions import Scanned, scan
from framework.spec.sql.predicates import aggregate_faults, literal_faults, row_faults
from framework.spec.sql.statement import StatementError
from framework.vocabulary import CheckedRows, CheckKind, OnFail, WriteOperation

__all__ = ["CheckSemantics", "SpecTestSemantics", "expectations", "note_unknown_checks", "scanned"]

_ONLY_WITH = {
    "where": CheckKind.EXPECT,
    "allow_null": CheckKind.EXPECT,
    "arguments": CheckKind.GX,
}
_PREDICATES = (CheckKind.EXPECT, CheckKind.EXPECT_AGGREGATE)
_SPLITTING = tuple(word.value for word in SPLITS)
_RULES = {
    "unknown-expectation": "spec/unknown-expectation",
    "unknown-argument": "spec/unknown-argument",
    "missing-argument": "spec/missing-argument",
    "argument-type": "spec/argument-type",
}


def expectations() -> Any:
    """Return the catalogue module, loaded only when a check names an expectation."""
    return importlib.import_module("framework.spec.rules.expectations")


def scanned(text: object) -> Scanned | None:
    """Return the scanned predicate; None for an invalid one, which is reported elsewhere."""
    try:
        return scan(text) if isinstance(text, str) else None
    except StatementError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSemantics(Lookup):
    """Validator of each check of the spec and of all profiles, used or not."""

    def check(self) -> None:
        """Add every fault to the findings."""
        for path, check in placed(self.data):
            kinds = [kind for kind in CheckKind if kind.value in check]
            if len(kinds) == 1:
                self._check_fields(path, check, kinds[0])
                self._check_texts(path, check, kinds[0])
            else:
                self._note_kinds(path, kinds)

    def _note_kinds(self, path: str, kinds: list[CheckKind]) -> None:
        """Report a check with no kind or with several."""
        names = ", ".join(f"`{kind.value}`" for kind in CheckKind)
        found = " and ".join(f"`{kind.value}`" for kind in kinds) or "none of them"
        self._note("one-check", path, f"a check has exactly one of {names}; this one has {found}")

    def _check_fields(self, path: str, check: Mapping[str, object], kind: CheckKind) -> None:
        """Report fields that have no effect on a check of this kind."""
        for name, only in _ONLY_WITH.items():
            if name in check and kind is not only:
                message = f"`{name}` works with `{only.value}` only, not with `{kind.value}`"
                self._note("idle-field", f"{path}.{name}", message)
        if "max_failed" in check and kind is CheckKind.EXPECT_AGGREGATE:
            message = "`expect_aggregate` passes or fails as a whole: it has no failed rows"
            self._note("idle-field", f"{path}.max_failed", message)
        if check.get("on_fail") not in _SPLITTING:
            return
        on_fail = check["on_fail"]
        if kind is not CheckKind.EXPECT:
            message = f"`{on_fail}` needs single rows, which only `expect` returns"
            self._note("on-fail-mismatch", f"{path}.on_fail", message, OnFail.ABORT.value)
        elif check.get("over") == CheckedRows.TABLE.value:
            message = f"`{on_fail}` removes rows before they are written, not those of the table"
            self._note("idle-field", f"{path}.over", message, CheckedRows.WRITTEN.value)

    def _check_texts(self, path: str, check: Mapping[str, object], kind: CheckKind) -> None:
        """Check that predicates parse and expectations exist."""
        if kind in _PREDICATES:
            self._check_predicate(f"{path}.{kind.value}", check[kind.value], kind)
        if "where" in check:
            self._check_predicate(f"{path}.where", check["where"], CheckKind.EXPECT)
        if kind is CheckKind.GX:
            self._check_expectation(path, check)

    def _check_predicate(self, path: str, text: object, kind: CheckKind) -> None:
        if not isinstance(text, str) or not text or self.findings.full or self._is_reported(path):
            return
        try:
            found = scan(text)
        except StatementError as error:
            self._note_within("bad-expression", path, error.message, (error.offset, 1))
            return
        of_kind = row_faults if kind is CheckKind.EXPECT else aggregate_faults
        for fault in islice((*of_kind(found), *literal_faults(found, text)), MAX_FINDINGS):
            place = (fault.offset, fault.length)
            self._note_within(fault.rule, path, fault.message, place, fault.suggestion)
        self._check_sql(path, text)

    def _check_sql(self, path: str, text: str) -> None:
        """Report functions that are not allowed, and reads other than of the checked rows."""
        for fault in expression_faults(text, (CHECKED_VIEW,))[:MAX_FINDINGS]:
            place = (fault.offset, fault.length)
            self._note_within(fault.rule, path, fault.message, place, fault.suggestion)

    def _check_expectation(self, path: str, check: Mapping[str, object]) -> None:
        """Report an unknown expectation or wrong arguments."""
        name, arguments = check["gx"], check.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, Mapping):
            return
        for fault in expectations().argument_faults(name, arguments):
            at = f"{path}.gx"
            if fault.argument is not None:
                at = child_path(f"{path}.arguments", fault.argument)
            span = self.positions.span(at, of_key=fault.rule == "unknown-argument")
            self.findings.add(
                _RULES[fault.rule], span, fault.message, key_path=at, suggestion=fault.suggestion
            )
        condition = arguments.get("row_condition")
        if isinstance(condition, str) and not self.findings.full:
            self._check_condition(f"{path}.arguments.row_condition", condition)

    def _check_condition(self, path: str, condition: str) -> None:
        """Check the SQL that selects the rows of an expectation."""
        try:
            self._check_sql(path, condition)
        except StatementError as error:
            self._note_within("bad-expression", path, error.message, (error.offset, 1))


_GATE: Final = ("duplicate-keys", "null-keys", "taken-keys", "too-many-set-aside")
"""Conditions of the audit gate that can refuse a run besides checks."""

_CONTRACT: Final = "columns."
"""Prefix of the names of checks that come from a column's contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTestSemantics(Lookup):
    """Validator of `tests` across fields."""

    def check(self) -> None:
        """Add every fault to the findings."""
        tests = self._at("tests")
        seen: dict[str, str] = {}
        for index, test in enumerate(tests if isinstance(tests, list) else []):
            if not isinstance(test, Mapping):
                continue
            path, name = f"tests[{index}]", test.get("name")
            first = seen.setdefault(str(name).lower(), path)
            if first != path and isinstance(name, str):
                message = f"`{name}` is already the name of {first}"
                self._note("duplicate-test", f"{path}.name", message)
            self._check_rows(test, path)
            self._check_expected(test.get("expect"), f"{path}.expect")

    def _check_rows(self, test: Mapping[str, object], path: str) -> None:
        """Report rows that the run could not use."""
        if test.get("table") is not None and self._has("bootstrap") and not self._has("write"):
            message = "the run creates the table, so it cannot have rows before"
            self._note("rows-not-allowed", f"{path}.table", message)
        deletes = self._at("write", "operation") == WriteOperation.DELETE_PARTITION.value
        if test.get("given") and deletes:
            message = f"`{WriteOperation.DELETE_PARTITION}` loads nothing, so `given` must be empty"
            self._note("rows-not-allowed", f"{path}.given", message, "given: []")

    def _check_expected(self, expected: object, path: str) -> None:
        """Report expected rows of a run that is refused; such a run changes nothing."""
        if not isinstance(expected, Mapping):
            return
        if not expected:
            self._note("empty-value", path, "the test expects nothing")
        refusal = next((n for n in ("refused_by", "rejected") if expected.get(n) is not None), None)
        for name in ("written", "quarantined"):
            if refusal and expected.get(name):
                message = f"a run that is refused (`{refusal}`) leaves no rows `{name}`"
                self._note("expects-both", f"{path}.{name}", message)


def note_unknown_checks(
    document: PipelineDocument,
    checks: Iterable[PlacedCheck],
    positions: Positions,
    findings: FindingList,
) -> None:
    """Report each name in `refused_by` that is no check."""
    known = (*(each.fields.name for each in checks), *_GATE)
    for index, test in enumerate(document.tests or ()):
        for place, name in enumerate(test.expect.refused_by or ()):
            if name not in known and not name.startswith(_CONTRACT):
                path = f"tests[{index}].expect.refused_by[{place}]"
                message = f"there is no check `{name[:60]}`"
                close = nearest(name, known)
                findings.add(
                    "spec/unknown-check",
                    positions.span(path),
                    message,
                    key_path=path,
                    suggestion=close,
                )
