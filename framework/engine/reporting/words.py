"""The wording of a report, the same in every form for people."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final, Literal

from framework.engine.results import AuditReport, CheckResult, FailedRow, Fate
from framework.plan.quality.model import Check
from framework.plan.words import count_text, listing, number_text
from framework.vocabulary import CheckKind, OnFail, Outcome

__all__ = [
    "BY_GRAVITY",
    "ON_FAIL",
    "Tone",
    "Verdict",
    "VerdictWord",
    "allowed_text",
    "block_text",
    "by_gravity",
    "cut",
    "fate_text",
    "line_text",
    "meaning",
    "observed_text",
    "place_text",
    "plain",
    "plain_mapping",
    "result_text",
    "sample_text",
    "share_text",
    "tally_text",
    "verdict",
]


_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufff9-\ufffb]")
_DIRECTION: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BREAKS: Final = {"\n": "⏎", "\t": "⇥"}

BY_GRAVITY: Final = (
    Outcome.FAILED,
    Outcome.WARNED,
    Outcome.QUARANTINED,
    Outcome.DROPPED,
    Outcome.PASSED,
)
"""Outcomes, most serious first."""
ON_FAIL: Final = {
    OnFail.ABORT: "refuses the run",
    OnFail.QUARANTINE: "quarantines bad rows",
    OnFail.DROP: "drops bad rows",
    OnFail.WARN: "only warns",
}
"""The effect of a failed check, as the end of a sentence."""
_NAMED_AT_MOST: Final = 5
_NAME: Final = 80
_MESSAGE: Final = 600
VerdictWord = Literal["published", "passed", "refused", "failed"]


def line_text(text: object, most: int = 200) -> str:
    r"""Return text on one line, at most `most` characters of it and then how many there are.

    Control characters and those that turn the direction of writing become escapes such as
    `\x1b`; line breaks and tabs become signs.
    """
    found = block_text(text, most)
    for sign, shown in _BREAKS.items():
        found = found.replace(sign, shown)
    return found


def block_text(text: object, most: int = 1000) -> str:
    """Return text like `line_text`, but with its line breaks and tabs."""
    found = cut(str(text), most).replace("\r\n", "\n")
    found = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", found)
    found = _CONTROL.sub(_escape, found)
    return _DIRECTION.sub(_escape, found)


def cut(text: str, most: int) -> str:
    """Return a text, or the first characters of a long one and its length."""
    if len(text) <= most:
        return text
    return f"{text[:most]}… ({number_text(len(text))} characters)"


def plain(value: object) -> object:
    """Return a value that every JSON parser accepts; numbers that JSON lacks become text."""
    if isinstance(value, Mapping):
        return plain_mapping(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", str(value))


def plain_mapping(values: Mapping[str, object]) -> dict[str, object]:
    """Return a mapping of values that every JSON parser accepts."""
    return {str(plain(str(name))): plain(value) for name, value in values.items()}


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004  as in Python


@unique
class Tone(StrEnum):
    """The tone of a verdict."""

    GOOD = "good"
    CAUTION = "caution"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of a gate.

    Attributes:
        word: `published`, or `passed` if there was nothing to publish; `refused`, or `failed` if
            there was nothing to publish.
        tone: `CAUTION` if bad rows were found that do not refuse the run.
        sentence: why, ending in a full stop.
        remedy: what to do next; "" if there is nothing to do.
    """

    word: VerdictWord
    tone: Tone
    sentence: str
    remedy: str = ""


def verdict(report: AuditReport) -> Verdict:
    """Return the verdict of the gate, and why."""
    publishes = report.instant is not None
    if not report.passed:
        message = _refusal_text(report)
        left = " Nothing was published; the table is unchanged." if publishes else ""
        return Verdict(
            word="refused" if publishes else "failed",
            tone=Tone.BAD,
            sentence=f"{message}.{left}",
            remedy=cut(str(report.refusal.get("remedy") or ""), _MESSAGE),
        )
    caution = any(each.outcome is not Outcome.PASSED for each in report.checks)
    return Verdict(
        word="published" if publishes else "passed",
        tone=Tone.CAUTION if caution else Tone.GOOD,
        sentence=f"{_passed_text(report)}.",
    )


def by_gravity(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Return results with the most serious first; order is kept among equals."""
    return sorted(results, key=lambda each: BY_GRAVITY.index(each.outcome))


def tally_text(outcomes: Mapping[Outcome, int]) -> str:
    """Return `1 failed, 9 passed`, or `none` if there is nothing to count."""
    parts = (f"{number_text(outcomes[o])} {o}" for o in BY_GRAVITY if outcomes.get(o))
    return ", ".join(parts) or "none"


def meaning(check: Check) -> str:
    """Return what a check requires, as one line; its SQL stays as it was written."""
    rows = f"rows where {' '.join(check.where.split())}" if check.where else "every row"
    before = {
        CheckKind.EXPECT: f"{rows}: ",
        CheckKind.EXPECT_AGGREGATE: "all rows together: ",
        CheckKind.QUERY: "no row from: ",
        CheckKind.GX: "",
    }
    null = ", or null" if check.allow_null else ""
    text = " ".join(check.text.split())
    return line_text(f"{before[check.kind]}{text}{null}{_arguments(check.arguments)}", _MESSAGE)


def result_text(result: CheckResult) -> str:
    """Return what was found: `12 of 336,776 rows failed, 3 of them null`."""
    if result.check.kind is CheckKind.EXPECT_AGGREGATE:
        over = count_text(result.rows, "row")
        return f"found {observed_text(result)} over {over}{_sampled(result)}"
    nulls = f", {number_text(result.nulls)} of them null" if result.nulls else ""
    seen = "" if result.observed is None else f"; found {observed_text(result)}"
    rows = count_text(result.rows, "row")
    return f"{number_text(result.failed)} of {rows} failed{nulls}{_sampled(result)}{seen}"


def observed_text(result: CheckResult, most: int = 200) -> str:
    """Return the value of an aggregate or an expectation; long numbers with their commas."""
    text = "nothing" if result.observed is None else result.observed
    digits = text.isascii() and text.isdecimal() and len(text) < 19  # noqa: PLR2004  a long
    return number_text(int(text)) if digits else line_text(text, most)


def allowed_text(check: Check) -> str:
    """Return the number of bad rows that a check allows."""
    if check.budget.share is not None:
        return f"up to {check.budget} of the rows"
    return f"up to {number_text(check.budget.rows)}" if check.budget.rows else "none"


def fate_text(fate: Fate, *, published: bool) -> str:
    """Return the outcome of the input's rows, or the would-be one if nothing was published."""
    came = count_text(fate.input, "input row")
    left_out = [
        (fate.quarantined, "quarantined"),
        (fate.dropped, "dropped"),
    ]
    parts = [f"{number_text(rows)} {word}" for rows, word in left_out if rows]
    if not published:
        would = f"; {' and '.join(parts)} by the checks" if parts else ""
        return f"{came}, none published{would}"
    return f"{came}: {', '.join([f'{number_text(fate.published)} published', *parts])}"


def place_text(row: FailedRow) -> str:
    """Return where a bad row is; "" if that is unknown; rows count from 0."""
    parts = [line_text(row.file)] if row.file else []
    if row.row is not None:
        parts.append(f"row {row.row}")
    if row.partition and row.partition not in row.file:
        parts.append(f"in {line_text(row.partition)}")
    return " ".join(parts)


def sample_text(row: FailedRow, *, values: int = 6, most: int = 60) -> str:
    """Return a bad row on one line: its key and its first values, texts cut."""
    shown = [
        f"{line_text(name, most)}={'null' if value is None else line_text(value, most)}"
        for name, value in list(row.values.items())[:values]
    ]
    hidden = len(row.values) - len(shown)
    more = [f"and {count_text(hidden, 'more column')}"] if hidden > 0 else []
    key = [] if row.key is None else [f"key {line_text(row.key, most)}"]
    return ", ".join([*key, *shown, *more])


def share_text(share: float) -> str:
    """Return `0.004%`, with two significant digits, never rounded to none or all."""
    percent = share * 100
    if 0 < percent < 0.01:  # noqa: PLR2004  smaller shares mean nothing
        return "<0.01%"
    if 99.99 < percent < 100:  # noqa: PLR2004  likewise
        return ">99.99%"
    return f"{percent:.2g}%" if percent < 10 else f"{percent:.1f}%".replace(".0%", "%")  # noqa: PLR2004


def _refusal_text(report: AuditReport) -> str:
    """Return why the gate refused, without a full stop."""
    message = report.refusal.get("message")
    if message:
        return line_text(str(message).rstrip("."), _MESSAGE)
    return _named(report.checks, Outcome.FAILED)


def _passed_text(report: AuditReport) -> str:
    """Return what was proven, without a full stop."""
    parts = list(_remarks(report))
    if report.keys:
        parts.insert(0, "Keys are unique and not null")
    if not report.checks:
        parts.append("no further check was requested" if parts else "No check was requested")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def _remarks(report: AuditReport) -> Iterator[str]:
    counts = Counter(each.outcome for each in report.checks)
    for outcome in BY_GRAVITY[1:-1]:
        if counts[outcome]:
            yield _named(report.checks, outcome)
    if counts[Outcome.PASSED]:
        every = "all " if len(report.checks) == counts[Outcome.PASSED] > 1 else ""
        yield f"{every}{count_text(counts[Outcome.PASSED], 'check')} passed"


def _named(results: Iterable[CheckResult], outcome: Outcome) -> str:
    """Return `2 checks failed: a, b`; for excluded rows, `2 checks dropped rows: a, b`."""
    names = tuple(line_text(r.check.name, _NAME) for r in results if r.outcome is outcome)
    verbs = {Outcome.QUARANTINED: "quarantined rows", Outcome.DROPPED: "dropped rows"}
    verb = verbs.get(outcome, outcome.value)
    return f"{count_text(len(names), 'check')} {verb}: {listing(names, limit=_NAMED_AT_MOST)}"


def _arguments(arguments: Mapping[str, object]) -> str:
    """Return ` (column: amount, max_value: 10)`."""
    parts = ", ".join(f"{name}: {value}" for name, value in arguments.items())
    return f" ({parts})" if parts else ""


def _sampled(result: CheckResult) -> str:
    """Return the share of the rows that was checked, if it was not all of them."""
    if result.fraction >= 1.0:
        return ""
    return f", in a sample of {share_text(result.fraction)}"
