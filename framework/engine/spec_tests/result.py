"""One test of a spec: what it was given, what came out, and whether that is what it expects."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from framework.engine.results import CheckResult
from framework.engine.spec_tests.comparison import Difference, compare
from framework.hudi.keygen.paths import partition_paths
from framework.hudi.keygen.text import null_rows, record_keys
from framework.vocabulary import KeyScope, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from framework.errors import AuditFailedError, FrameworkError
    from framework.hudi.keygen.rule import KeyRule
    from framework.plan.faults import Fault
    from framework.plan.spec_tests.spec_test import SpecTest

__all__ = [
    "NO_ROWS",
    "Happened",
    "Refusal",
    "SpecTestOutcome",
    "SpecTestResult",
    "differences",
    "reasons",
    "refused_rows",
    "refusing_names",
]


NO_ROWS: Final = pa.table({})
"""Rows of nothing: nobody knows their columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A gate that let nothing through: in its words, by which checks, and for which rows."""

    words: str
    names: tuple[str, ...]
    rows: pa.Table


def refusing_names(error: AuditFailedError) -> tuple[str, ...]:
    """Return the checks that refused a run, sorted; else what did, such as `duplicate-keys`."""
    kind = error.condition.partition("/")[2]
    if kind == "checks-failed":
        results = (each for each in error.results if isinstance(each, CheckResult))
        failed = {each.check.name for each in results if each.outcome is Outcome.FAILED}
        return tuple(sorted(failed or {str(each["name"]) for each in _failed(error)}))
    return (str(error.report.get("name", kind)),)


def refused_rows(error: AuditFailedError, rule: KeyRule, rows: pa.Table) -> pa.Table:
    """Return those of the input's rows whose keys the gate refused; none for other refusals."""
    kind = error.condition.partition("/")[2]
    if kind not in _CHOSEN or not rows.num_rows or rule.is_automatic:
        return NO_ROWS
    if kind == "null-keys":
        return rows.take(pa.array(null_rows(rule, rows, {})))
    keys = record_keys(rule, rows, {}).to_pylist()
    if kind == "taken-keys":
        taken = {sample["key"] for sample in _samples(error)}
        return rows.filter(pa.array([key in taken for key in keys]))
    scoped = list(zip(_scopes(rule, rows), keys, strict=True))
    counted = Counter(scoped)
    return rows.filter(pa.array([counted[each] > 1 for each in scoped]))


_CHOSEN: Final = ("null-keys", "taken-keys", "duplicate-keys")


def _scopes(rule: KeyRule, rows: pa.Table) -> Sequence[Any]:
    """Return within what the key of each row must be unique."""
    if rule.scope is KeyScope.TABLE or not rule.partition:
        return [None] * rows.num_rows
    return list(partition_paths(rule, rows).to_pylist())


def _samples(error: AuditFailedError) -> list[dict[str, Any]]:
    """Return the samples of a report."""
    found = error.report.get("samples")
    return found if isinstance(found, list) else []


def _failed(error: AuditFailedError) -> list[dict[str, Any]]:
    """Return the failed checks of a report."""
    found = error.report.get("failed")
    return found if isinstance(found, list) else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """The result of a run.

    Attributes:
        rows: by the names of what a test may expect; what no test asks for may be missing.
        refusal: None where the run was not refused.
    """

    rows: Mapping[str, pa.Table]
    refusal: Refusal | None


def reasons(test: SpecTest, happened: Happened) -> Iterator[str]:
    """Yield why the run is not what the test expects, apart from its rows."""
    refusal, names = happened.refusal, test.refused_by
    if refusal is None:
        if test.is_refusal:
            by = f" by {_listed(names)}" if names else ""
            yield f"the run should be refused{by}, and was not"
        return
    if not test.is_refusal:
        yield f"the run was refused: {refusal.words}"
    elif names is not None and Counter(names) != Counter(refusal.names):
        yield f"the run should be refused by {_listed(names)}, and was by {_listed(refusal.names)}"


def differences(test: SpecTest, happened: Happened, faults: list[Fault]) -> Iterator[Difference]:
    """Yield what differs of each list of rows that the test expects.

    A run that is refused or not, against what is expected, is decided by that alone. Faults of the
    expected rows are added to `faults`.
    """
    if (happened.refusal is not None) != test.is_refusal:
        return
    for what, expected in test.expected.items():
        found = compare(what, expected, happened.rows[what], faults)
        if found is not None:
            yield found


def _listed(names: tuple[str, ...]) -> str:
    """Return names for people."""
    return ", ".join(f"`{name}`" for name in names)


@unique
class SpecTestOutcome(StrEnum):
    """`FAILED` is another result than expected; with an `ERROR` there is no result."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTestResult:
    """The result of one test.

    Attributes:
        name: of the test.
        seconds: wall time.
        reasons: what is not as expected, one sentence each, besides rows.
        differences: rows that are not as expected.
        error: why there is no result, None where there is one.
        folder: where its files are kept, None where they are not.
    """

    name: str
    seconds: float
    reasons: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    error: FrameworkError | None = None
    folder: str | None = None

    @property
    def outcome(self) -> SpecTestOutcome:
        """The outcome."""
        if self.error is not None:
            return SpecTestOutcome.ERROR
        as_expected = not self.reasons and not self.differences
        return SpecTestOutcome.PASSED if as_expected else SpecTestOutcome.FAILED
