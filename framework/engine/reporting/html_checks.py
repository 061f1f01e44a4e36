"""The checks in the HTML report: what refuses the run first, each opened where it found something.

The whole page is bounded: of many checks, samples and values the first are shown, and the others
counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from framework.engine.reporting.markup import Markup, h, joined
from framework.engine.reporting.text import block_text, line_text, plain
from framework.engine.reporting.words import (
    ON_FAIL,
    allowed_text,
    by_gravity,
    observed_text,
    place_text,
    result_text,
    share_text,
    tally_text,
)
from framework.plan.words import count_text, number_text
from framework.vocabulary import CheckedRows, CheckKind, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.engine.results import CheckResult, FailedRow
    from framework.plan.quality import Check

__all__ = ["checks_section"]

_CHECKS: Final = 200
_SAMPLES: Final = 100
_SAMPLES_EACH: Final = 20
_VALUES: Final = 24
_VALUE: Final = 160
_LONG: Final = 40
_REDACTED: Final = "***"
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


def checks_section(results: Sequence[CheckResult]) -> Markup:
    """Return all checks, or that none was asked for."""
    title = h("h2", "Checks")
    if not results:
        return h("section", title, h("p", "No check was asked for."), id="checks")
    ordered = by_gravity(results)
    hidden = len(ordered) - _CHECKS
    more = [h("p", f"and {count_text(hidden, 'more check')}", class_="more")] if hidden > 0 else []
    left = _SAMPLES
    items = []
    for each in ordered[:_CHECKS]:
        shown = _shown_samples(each, left)
        left -= len(shown)
        items.append(h("li", _check(each, shown)))
    tally = tally_text(Counter(each.outcome for each in results))
    return h(
        "section", title, h("p", f"{tally}."), h("ol", items, class_="checks"), more, id="checks"
    )


def _shown_samples(result: CheckResult, left: int) -> Sequence[FailedRow]:
    """Return the bad rows that there is room for; a check that passed shows none as bad."""
    return result.samples[: min(left, _SAMPLES_EACH)]


def _check(result: CheckResult, samples: Sequence[FailedRow]) -> Markup:
    summary = h(
        "summary",
        h("span", _MARKS[result.outcome], class_="badge"),
        h("bdi", line_text(result.check.name, 160), class_="name"),
        h("span", _count(result), class_="count"),
    )
    inside = h("div", list(_inside(result, samples)), class_="inside")
    opened = result.outcome in {Outcome.FAILED, Outcome.WARNED}
    return h("details", summary, inside, class_=result.outcome.value, open=opened)


def _count(result: CheckResult) -> str:
    """Return the shortest form of what was found."""
    sampled = f", sample of {share_text(result.fraction)}" if result.fraction < 1.0 else ""
    if result.check.kind is CheckKind.EXPECT_AGGREGATE:
        return f"found {observed_text(result, 40)}{sampled}"
    rows = count_text(result.rows, "row")
    if not result.failed:
        return f"{rows}{sampled}"
    return f"{number_text(result.failed)} of {rows}{sampled}"


def _inside(result: CheckResult, samples: Sequence[FailedRow]) -> Iterator[Markup]:
    check = result.check
    yield h("p", _DEMANDS[check.kind])
    yield h("pre", h("code", h("bdi", block_text(_code(check), 600))))
    if check.where:
        yield h("p", "Looked at rows where ", h("code", h("bdi", line_text(check.where))), ".")
    if result.fraction < 1.0:
        share = share_text(result.fraction)
        yield h(
            "p", f"Only a sample of {share} was looked at: the truth may differ.", class_="note"
        )
    yield h("dl", [h("div", h("dt", k), h("dd", h("bdi", v))) for k, v in _facts(result)])
    if samples:
        yield from _samples(result, samples)


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


def _samples(result: CheckResult, samples: Sequence[FailedRow]) -> Iterator[Markup]:
    hidden = result.failed - len(samples)
    word = "Bad row" if len(samples) == 1 else "Bad rows"
    some = f", {number_text(len(samples))} of {number_text(result.failed)}" if hidden > 0 else ""
    yield h("h3", f"{word}{some}")
    named = set(_WORD.findall(f"{result.check.text} {list(result.check.arguments.values())}"))
    yield h("ol", [_sample(each, named) for each in samples], class_="samples")


def _sample(row: FailedRow, named: set[str]) -> Markup:
    """Return one bad row, the columns that the check speaks of in front."""
    values = sorted(row.values.items(), key=lambda each: each[0] not in named)
    hidden = len(values) - _VALUES
    cells = [_cell(name, value, named=name in named) for name, value in values[:_VALUES]]
    if hidden > 0:
        cells.append(
            h("div", h("dd", f"and {count_text(hidden, 'more column')}", class_="nothing"))
        )
    key = (" · key ", h("bdi", h("strong", line_text(row.key, _VALUE)))) if row.key else ()
    place = h("bdi", place_text(row) or "place not known")
    return h("li", h("p", place, joined(*key), class_="at"), h("dl", cells) if cells else Markup())


def _cell(name: str, value: str | None, *, named: bool) -> Markup:
    label = h("dt", h("bdi", line_text(name, 80)), class_="named" if named else False)
    long = max(len(name), len(value or "")) > _LONG
    return h("div", label, h("dd", _value(value)), class_="long" if long else False)


def _value(value: str | None) -> Markup:
    if value is None:
        return h("span", "null", class_="nothing")
    if value == _REDACTED:
        return h("span", "redacted", class_="redacted", title="The spec says never to show this.")
    if not value:
        return h("span", "empty text", class_="nothing")
    return h("bdi", line_text(value, _VALUE))
