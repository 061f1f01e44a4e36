"""A commit's record of its checks: small, without a value of any row, and read back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Final

from framework.engine.reporting.words import by_gravity, cut, plain
from framework.engine.results import AuditReport, CheckResult, Fate
from framework.vocabulary import Outcome

__all__ = ["CheckSummary", "CommitSummary", "commit_summary", "summary_of"]

_CHECKS: Final = 200
_NAME: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSummary:
    """One check of a commit; `kind` and `on_fail` are words of the spec."""

    name: str
    kind: str
    outcome: Outcome
    rows: int
    failed: int
    on_fail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSummary:
    """The checks of a commit, problems first, and the outcome of its input.

    `more` counts checks that are not listed, by outcome; `fate` is None if it is unknown.
    """

    checks: tuple[CheckSummary, ...] = ()
    more: Mapping[Outcome, int] = field(default_factory=lambda: MappingProxyType({}))
    fate: Fate | None = None

    @property
    def outcomes(self) -> Counter[Outcome]:
        """Number of checks per outcome, including those that are not listed."""
        return Counter(each.outcome for each in self.checks) + Counter(self.more)


def commit_summary(report: AuditReport) -> dict[str, object]:
    """Return members for a commit's audit proof: `checks` and `fate`, and `more_checks` if any.

    JSON-ready and bounded: at most 200 checks are listed, those with findings first, names are cut,
    and the others are counted by outcome. It contains no value of any row.
    """
    ordered = by_gravity(report.checks)
    left = Counter(each.outcome.value for each in ordered[_CHECKS:])
    return {
        "checks": [_check(each) for each in ordered[:_CHECKS]],
        "fate": None if report.fate is None else asdict(report.fate),
        **({"more_checks": dict(left)} if left else {}),
    }


def summary_of(proof: Mapping[str, Any]) -> CommitSummary:
    """Return the checks that a commit's audit proof records; unreadable ones are skipped."""
    checks = proof.get("checks")
    listed = checks if isinstance(checks, list) else []
    fate = proof.get("fate")
    return CommitSummary(
        checks=tuple(found for each in listed if (found := _read_check(each)) is not None),
        more=_read_counts(proof.get("more_checks")),
        fate=_read_fate(fate) if isinstance(fate, Mapping) else None,
    )


def _check(result: CheckResult) -> dict[str, object]:
    return {
        "name": plain(cut(result.check.name, _NAME)),
        "kind": result.check.kind.value,
        "outcome": result.outcome.value,
        "rows": result.rows,
        "failed": result.failed,
        "on_fail": result.check.on_fail.value,
    }


def _read_check(found: object) -> CheckSummary | None:
    outcome = _outcome(found.get("outcome")) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or outcome is None:
        return None
    return CheckSummary(
        name=str(found.get("name", "")),
        kind=str(found.get("kind", "")),
        outcome=outcome,
        rows=_count(found.get("rows")),
        failed=_count(found.get("failed")),
        on_fail=str(found.get("on_fail", "")),
    )


def _read_counts(found: object) -> Mapping[Outcome, int]:
    counts = found if isinstance(found, Mapping) else {}
    read = {_outcome(word): _count(number) for word, number in counts.items()}
    return MappingProxyType({word: n for word, n in read.items() if word is not None and n})


def _read_fate(found: Mapping[str, Any]) -> Fate:
    names = ("input", "published", "quarantined", "dropped")
    return Fate(**{name: _count(found.get(name)) for name in names})


def _outcome(word: object) -> Outcome | None:
    return Outcome(word) if isinstance(word, str) and word in set(Outcome) else None


def _count(found: object) -> int:
    return found if isinstance(found, int) and not isinstance(found, bool) else 0
