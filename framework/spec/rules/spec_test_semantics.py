"""Faults between the section `tests` and what it tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from framework.spec.document.findings import FindingList, nearest
from framework.spec.document.positions import Positions
from framework.spec.rules.lookup import Lookup
from framework.spec.sections.pipeline_spec import PipelineDocument
from framework.spec.sections.quality_spec import PlacedCheck
from framework.vocabulary import WriteOperation

__all__ = ["SpecTestSemantics", "note_unknown_checks"]

_GATE: Final = ("duplicate-keys", "null-keys", "taken-keys", "too-many-set-aside")
"""What refuses a run besides checks."""

_CONTRACT: Final = "columns."
"""How the names of checks begin that a column's contract means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTestSemantics(Lookup):
    """Checks `tests` across fields."""

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
                message = f"`{name}` is the name of {first} already"
                self._note("duplicate-test", f"{path}.name", message)
            self._check_rows(test, path)
            self._check_expected(test.get("expect"), f"{path}.expect")

    def _check_rows(self, test: Mapping[str, object], path: str) -> None:
        """Rows have somewhere to go."""
        if test.get("table") is not None and self._has("bootstrap") and not self._has("write"):
            message = "the run begins the table, so there can be no rows in it before"
            self._note("rows-not-allowed", f"{path}.table", message)
        deletes = self._at("write", "operation") == WriteOperation.DELETE_PARTITION.value
        if test.get("given") and deletes:
            message = f"`{WriteOperation.DELETE_PARTITION}` loads nothing, so no row is given"
            self._note("rows-not-allowed", f"{path}.given", message, "given: []")

    def _check_expected(self, expected: object, path: str) -> None:
        """A run that is refused changes nothing."""
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
    """Add a fault for each name in `refused_by` that can refuse nothing."""
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
