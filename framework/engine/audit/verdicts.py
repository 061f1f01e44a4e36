"""The outcome of each check, given its bad rows, and whether files pass the gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from framework.engine.audit.screen import Screened
from framework.engine.results import CheckResult, ColumnFigures
from framework.errors import AuditFailedError, Where
from framework.plan.quality.model import Check
from framework.plan.words import count_text
from framework.vocabulary import CheckKind, OnFail, Outcome

__all__ = ["UNCHECKED", "Inspection", "as_screened", "outcome_of", "refusal_of", "with_screened"]

_SHOWN = 3
_SPLIT = {OnFail.QUARANTINE: Outcome.QUARANTINED, OnFail.DROP: Outcome.DROPPED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """The results of all checks.

    Attributes:
        table: location of the table.
        results: one per check of the spec.
        columns: figures of columns; empty if not requested.
        committed: the part of it that the commit records, JSON-ready.
        seconds: wall time of the checks.
    """

    table: str = ""
    results: tuple[CheckResult, ...] = ()
    columns: tuple[ColumnFigures, ...] = ()
    committed: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    seconds: float = 0.0

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Attach the results of the checks to a refusal for another reason."""
        try:
            yield
        except AuditFailedError as error:
            error.results = self.results
            raise

    def require(self) -> None:
        """Raise if a check failed.

        Raises:
            AuditFailedError: `audit/checks-failed`.
        """
        refusal = refusal_of(self.results, self.table)
        if refusal is not None:
            raise refusal


UNCHECKED: Final = Inspection()
"""Nothing was checked, since the spec has no checks."""


def outcome_of(check: Check, failed: int, looked_at: int) -> Outcome:
    """Return the outcome of bad rows among those that are written, or would be.

    A check that excludes rows has no budget for bad rows that are written nevertheless.
    """
    allowed = failed == 0 if check.splits else check.budget.allows(failed, looked_at)
    if allowed:
        return Outcome.PASSED
    return Outcome.WARNED if check.on_fail is OnFail.WARN else Outcome.FAILED


def with_screened(results: Sequence[CheckResult], screened: Screened) -> tuple[CheckResult, ...]:
    """Return the results with the rows that were excluded before, which were checked and bad."""
    return tuple(_with_screened(each, screened) for each in results)


def as_screened(result: CheckResult) -> CheckResult:
    """Return a result on input rows as a run would have it: with bad rows excluded if so set."""
    check = result.check
    if not check.splits or not result.failed:
        return result
    bounded = check.budget.rows or check.budget.share is not None
    if bounded and not check.budget.allows(result.failed, result.rows):
        return replace(result, outcome=Outcome.FAILED)
    return replace(result, outcome=_SPLIT[check.on_fail])


def refusal_of(results: Sequence[CheckResult], table: str) -> AuditFailedError | None:
    """Return one error for all failed checks; None if none failed."""
    failed = [each for each in results if each.outcome is Outcome.FAILED]
    if not failed:
        return None
    described = "; ".join(_described(each) for each in failed[:_SHOWN])
    more = f"; and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
    first = next((each.samples[0] for each in failed if each.samples), None)
    return AuditFailedError(
        "audit/checks-failed",
        f"{count_text(len(failed), 'check')} of {len(results)} failed: {described}{more}",
        report={
            "check": "checks",
            "failed": [
                {
                    "name": each.check.name,
                    "kind": each.check.kind.value,
                    "text": each.check.text,
                    "rows": each.rows,
                    "failed": each.failed,
                    "observed": each.observed,
                    "samples": [_sample(row) for row in each.samples],
                }
                for each in failed
            ],
        },
        where=Where(
            table=table,
            file=(first.file or None) if first else None,
            partition=(first.partition or None) if first else None,
        ),
        remedy="Nothing was published. Correct the data, or set what happens to such rows"
        " (`on_fail`, `max_failed`).",
    )


def _with_screened(result: CheckResult, screened: Screened) -> CheckResult:
    """Return one result with the rows that its check excluded before."""
    check, taken = result.check, screened.by_rule.get(result.check.name, 0)
    if not check.splits:
        return result
    result = replace(result, rows=screened.looked.get(check.name, result.rows))
    if not taken:
        return result
    left = result.outcome is not Outcome.PASSED
    return replace(
        result,
        failed=result.failed + taken,
        outcome=Outcome.FAILED if left else _SPLIT[check.on_fail],
    )


def _described(result: CheckResult) -> str:
    """Return the failure as text."""
    check = result.check
    if check.kind is CheckKind.EXPECT_AGGREGATE:
        found = "null" if result.nulls else result.observed
        return f"`{check.name}` ({check.text}) is {found}"
    budget = f", {check.budget} allowed" if str(check.budget) != "0" else ""
    what = "of its rows" if check.kind is CheckKind.QUERY else f"of {result.rows:,} rows"
    if check.kind is CheckKind.QUERY:
        return f"`{check.name}` returned {result.failed:,} bad rows{budget}"
    return f"`{check.name}` ({check.text}) by {result.failed:,} {what}{budget}"


def _sample(row: object) -> dict[str, object]:
    """Return a bad row, JSON-ready."""
    names = ("file", "row", "partition", "key")
    found = {name: getattr(row, name) for name in names}
    return {**found, "values": dict(getattr(row, "values", {}))}
