"""The checks as the HTML report shows them: what refuses the run first, and opened.

The whole page is bounded: of many checks, samples and values the first are shown, and the others
counted.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from framework.engine.reporting.words import (
    ON_FAIL,
    allowed_text,
    by_gravity,
    line_text,
    observed_text,
    place_text,
    plain,
    result_text,
    share_text,
)
from framework.plan.words import count_text, number_text
from framework.vocabulary import CheckedRows, CheckKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.engine.results import CheckResult, FailedRow
    from framework.plan.quality.model import Check

__all__ = ["ShownCell", "ShownCheck", "ShownRow", "shown_checks"]

_CHECKS: Final = 200
_SAMPLES: Final = 100
_SAMPLES_EACH: Final = 20
_VALUES: Final = 24
_LONG: Final = 40
_WORD: Final = re.compile(r"\w+")

_DEMANDS: Final = {
    CheckKind.EXPECT: "Every row must meet this:",
    CheckKind.EXPECT_AGGREGATE: "All rows together must meet this:",
    CheckKind.QUERY: "This must find no row:",
    CheckKind.GX: "Great Expectations must find this met:",
}
_MARKS: Final = {
    Outcome.PASSED: "✓ passed",
    Outcome.FAILED: "✕ failed",
    Outcome.WARNED: "! warned",
    Outcome.QUARANTINED: "↳ quarantined",
    Outcome.DROPPED: "- dropped",
}
_OVER: Final = {
    CheckedRows.WRITTEN: "what this run writes",
    CheckedRows.TABLE: "the table as it will be",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCell:
    """One value of a bad row; `named` where the check speaks of its column."""

    name: str
    value: str | None
    named: bool

    @property
    def long(self) -> bool:
        """Whether it needs a line of its own."""
        return max(len(self.name), len(self.value or "")) > _LONG


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """One bad row: the columns that the check speaks of in front, and how many are not shown."""

    place: str
    key: str | None
    cells: tuple[ShownCell, ...]
    hidden: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCheck:
    """One check with what it found.

    Attributes:
        result: what it found.
        mark: its outcome.
        count: the shortest form of what was found.
        demand: what the code is to the rows.
        code: SQL, or an expectation with its arguments.
        facts: names and values, which are fit to be shown.
        samples: the bad rows that there is room for.
        samples_title: how many of how many.
    """

    result: CheckResult
    mark: str
    count: str
    demand: str
    code: str
    facts: tuple[tuple[str, str], ...]
    samples: tuple[ShownRow, ...]
    samples_title: str

    @property
    def opened(self) -> bool:
        """Whether a reader sees all of it at once."""
        return self.result.outcome in {Outcome.FAILED, Outcome.WARNED}


def shown_checks(results: Sequence[CheckResult]) -> list[ShownCheck]:
    """Return the first of all checks, those that refuse the run in front."""
    shown, left = [], _SAMPLES
    for result in by_gravity(results)[:_CHECKS]:
        samples = result.samples[: min(left, _SAMPLES_EACH)]
        left -= len(samples)
        shown.append(_shown(result, samples))
    return shown


def _shown(result: CheckResult, samples: Sequence[FailedRow]) -> ShownCheck:
    check = result.check
    named = set(_WORD.findall(f"{check.text} {list(check.arguments.values())}"))
    return ShownCheck(
        result=result,
        mark=_MARKS[result.outcome],
        count=_count(result),
        demand=_DEMANDS[check.kind],
        code=_code(check),
        facts=tuple(_facts(result)),
        samples=tuple(_row(each, named) for each in samples),
        samples_title=_samples_title(result, len(samples)),
    )


def _count(result: CheckResult) -> str:
    sampled = f", sample of {share_text(result.fraction)}" if result.fraction < 1.0 else ""
    if result.check.kind is CheckKind.EXPECT_AGGREGATE:
        return f"found {observed_text(result, 40)}{sampled}"
    rows = count_text(result.rows, "row")
    if not result.failed:
        return f"{rows}{sampled}"
    return f"{number_text(result.failed)} of {rows}{sampled}"


def _code(check: Check) -> str:
    if check.kind is not CheckKind.GX:
        return check.text.strip()
    arguments = json.dumps(plain(check.arguments), indent=2, ensure_ascii=False)
    return f"{check.text}\n{arguments}" if check.arguments else check.text


def _facts(result: CheckResult) -> Iterator[tuple[str, str]]:
    check = result.check
    yield "Found", result_text(result)
    if check.kind is not CheckKind.EXPECT_AGGREGATE and result.rows:
        yield "Share", share_text(result.failed / result.rows)
    yield "Allowed", allowed_text(check)
    yield "On failure", ON_FAIL[check.on_fail]
    yield "Looks at", _OVER[check.over]
    if check.kind is CheckKind.EXPECT:
        yield "Null", "counts as met" if check.allow_null else "counts as failed"
    yield "Time", f"{result.seconds:.2f} s" if result.seconds else "one pass with others"
    if check.key_path:
        yield "In the spec", line_text(check.key_path, 120)


def _samples_title(result: CheckResult, shown: int) -> str:
    word = "Bad row" if shown == 1 else "Bad rows"
    hidden = result.failed - shown
    return f"{word}, {number_text(shown)} of {number_text(result.failed)}" if hidden > 0 else word


def _row(row: FailedRow, named: set[str]) -> ShownRow:
    values = sorted(row.values.items(), key=lambda each: each[0] not in named)
    cells = (ShownCell(name=n, value=v, named=n in named) for n, v in values[:_VALUES])
    hidden = len(values) - _VALUES
    return ShownRow(place=place_text(row), key=row.key, cells=tuple(cells), hidden=hidden)
