"""A report as one HTML file that needs no network and no script, whatever the data.

The page is `page/report.html.jinja` with its style sheet; this module provides its values.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from framework.engine.reporting import words
from framework.engine.reporting.keys import key_rule_text, key_samples, keys_refused, proof_text
from framework.engine.results import AuditReport, CheckResult, ColumnFigures, FailedRow, Fate
from framework.plan.quality.model import Check
from framework.plan.words import count_text, number_text
from framework.vocabulary import CheckedRows, CheckKind, Outcome

__all__ = ["PAGE", "ShownCell", "ShownCheck", "ShownRow", "html_text", "shown_checks"]


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
    CheckedRows.WRITTEN: "rows that this run writes",
    CheckedRows.TABLE: "the table after this run",
}

PAGE: Final = Path(__file__).parent / "page"
"""Folder of the template and its style sheet."""
_COLUMNS: Final = 200
_STAGES: Final = 30
_THINNEST: Final = 0.8
_MINUTE: Final = 60
_FATE_WORDS: Final = {"published": "Published", "quarantined": "Quarantined", "dropped": "Dropped"}
_SIGNS: Final = {
    words.Tone.GOOD: "M6 12.5l4 4 8-9",
    words.Tone.CAUTION: "M12 6.5v7M12 17v.5",
    words.Tone.BAD: "M7.5 7.5l9 9M16.5 7.5l-9 9",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCell:
    """One value of a bad row; `named` if the check refers to its column."""

    name: str
    value: str | None
    named: bool

    @property
    def long(self) -> bool:
        """Whether it needs a line of its own."""
        return max(len(self.name), len(self.value or "")) > _LONG


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """One bad row: the columns that the check refers to first, and the number of hidden ones."""

    place: str
    key: str | None
    cells: tuple[ShownCell, ...]
    hidden: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCheck:
    """One check with its result.

    Attributes:
        result: its result.
        mark: its outcome.
        count: the shortest form of the result.
        demand: what the code requires of the rows.
        code: SQL, or an expectation with its arguments.
        facts: names and values, which are safe to show.
        samples: the bad rows that are shown.
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
        """Whether it is expanded at first."""
        return self.result.outcome in {Outcome.FAILED, Outcome.WARNED}


def shown_checks(results: Sequence[CheckResult]) -> list[ShownCheck]:
    """Return the first checks, with those that refuse the run in front."""
    shown, left = [], _SAMPLES
    for result in words.by_gravity(results)[:_CHECKS]:
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
        facts=tuple(_check_facts(result)),
        samples=tuple(_row(each, named) for each in samples),
        samples_title=_samples_title(result, len(samples)),
    )


def _count(result: CheckResult) -> str:
    sampled = f", sample of {words.share_text(result.fraction)}" if result.fraction < 1.0 else ""
    if result.check.kind is CheckKind.EXPECT_AGGREGATE:
        return f"found {words.observed_text(result, 40)}{sampled}"
    rows = count_text(result.rows, "row")
    if not result.failed:
        return f"{rows}{sampled}"
    return f"{number_text(result.failed)} of {rows}{sampled}"


def _code(check: Check) -> str:
    if check.kind is not CheckKind.GX:
        return check.text.strip()
    arguments = json.dumps(words.plain(check.arguments), indent=2, ensure_ascii=False)
    return f"{check.text}\n{arguments}" if check.arguments else check.text


def _check_facts(result: CheckResult) -> Iterator[tuple[str, str]]:
    check = result.check
    yield "Found", words.result_text(result)
    if check.kind is not CheckKind.EXPECT_AGGREGATE and result.rows:
        yield "Share", words.share_text(result.failed / result.rows)
    yield "Allowed", words.allowed_text(check)
    yield "On failure", words.ON_FAIL[check.on_fail]
    yield "Rows", _OVER[check.over]
    if check.kind is CheckKind.EXPECT:
        yield "Null", "counts as met" if check.allow_null else "counts as failed"
    yield "Time", f"{result.seconds:.2f} s" if result.seconds else "one pass with others"
    if check.key_path:
        yield "In the spec", words.line_text(check.key_path, 120)


def _samples_title(result: CheckResult, shown: int) -> str:
    word = "Bad row" if shown == 1 else "Bad rows"
    hidden = result.failed - shown
    return f"{word}, {number_text(shown)} of {number_text(result.failed)}" if hidden > 0 else word


def _row(row: FailedRow, named: set[str]) -> ShownRow:
    values = sorted(row.values.items(), key=lambda each: each[0] not in named)
    cells = (ShownCell(name=n, value=v, named=n in named) for n, v in values[:_VALUES])
    hidden = len(values) - _VALUES
    return ShownRow(place=words.place_text(row), key=row.key, cells=tuple(cells), hidden=hidden)


def html_text(report: AuditReport) -> str:
    """Return the report as an HTML document that ends in a newline.

    Its size is bounded, a few megabytes at most: what is omitted is counted. Nothing in it runs or
    is fetched, which its content security policy also forbids.
    """
    found = words.verdict(report)
    subject, table = words.line_text(report.subject, 60), words.line_text(report.table, 120)
    title = f"{found.word}: {subject} of {table}"
    return _template().render(
        report=report,
        verdict=found,
        title=title[:1].upper() + title[1:],
        sign=_SIGNS[found.tone],
        facts=_facts(report),
        fates=_fates(report.fate) if report.fate else {},
        keys=_keys(report),
        tally=words.tally_text(Counter(each.outcome for each in report.checks)),
        checks=shown_checks(report.checks),
        columns=[_column(each) for each in report.columns[:_COLUMNS]],
        timings=list(report.timings.items())[:_STAGES],
        longest=max(*report.timings.values(), 1e-9) if report.timings else 0.0,
    )


@cache
def _template() -> Template:
    """Return the page's template; values are escaped, and an unknown name is an error."""
    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "block": words.block_text,
        "counted": count_text,
        "line": words.line_text,
        "number": number_text,
        "seconds": _seconds,
        "share": words.share_text,
    }
    environment.globals |= {
        "bar_pieces": _bar_pieces,
        "fate_text": words.fate_text,
        "fate_words": _FATE_WORDS,
    }
    return environment.get_template("report.html.jinja")


def _facts(report: AuditReport) -> dict[str, str]:
    """Return the facts that identify the run."""
    return {
        "Instant": report.instant or "none: nothing was to be published",
        "Run": report.run_id,
        "Finished": report.at.replace("T", " ").replace("Z", " UTC"),
        "Table": report.location,
    }


def _fates(fate: Fate) -> dict[str, int]:
    """Return how the input was divided, in the order of the bar."""
    return {
        "published": fate.published,
        "quarantined": fate.quarantined,
        "dropped": fate.dropped,
    }


def _keys(report: AuditReport) -> dict[str, object]:
    """Return how the keys were proven, or which ones refused the run."""
    samples, hidden = key_samples(report)
    return {
        "refused": keys_refused(report),
        "rule": key_rule_text(report),
        "proof": proof_text(report),
        "samples": samples,
        "hidden": hidden,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column's figures with the values of its bars."""

    figures: ColumnFigures
    distinct_rows: int
    null_share: str
    distinct_share: str


def _column(figures: ColumnFigures) -> _Column:
    rows = max(figures.rows, 1)
    distinct = min(figures.distinct, rows)  # an estimate may exceed the rows
    return _Column(
        figures=figures,
        distinct_rows=distinct,
        null_share=words.share_text(figures.nulls / rows),
        distinct_share=words.share_text(distinct / rows),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A piece of a bar, in hundredths of its length from the left."""

    kind: str
    x: float
    width: float


def _bar_pieces(amounts: Mapping[str, float], of: float) -> Iterator[_Piece]:
    """Yield the pieces of a bar; none is too thin to be seen, at the cost of the others."""
    shares = {kind: amount / (of or 1) for kind, amount in amounts.items() if amount > 0}
    widths = {kind: max(100 * share, _THINNEST) for kind, share in shares.items()}
    scale, x = min(1.0, 100 / max(sum(widths.values()), 1.0)), 0.0
    for kind, width in widths.items():
        yield _Piece(kind=kind, x=x, width=width * scale)
        x += width * scale


def _seconds(seconds: float) -> str:
    """Return `0.93 s`, `12.6 s` or `3 min 12 s`."""
    if seconds < _MINUTE:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"  # noqa: PLR2004
    minutes, rest = divmod(round(seconds), _MINUTE)
    return f"{number_text(minutes)} min {rest} s"
