"""A report as Markdown for a pull request or a job's summary: a short part, the rest folded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from framework.engine.reporting import words
from framework.engine.reporting.keys import key_rule_text, key_samples, keys_refused, proof_text
from framework.engine.results import AuditReport, CheckResult
from framework.plan.words import count_text, number_text
from framework.vocabulary import Outcome

__all__ = ["markdown_text"]

_MOST: Final = 60_000
_MARKS: Final = {
    Outcome.PASSED: "✅",
    Outcome.FAILED: "❌",
    Outcome.WARNED: "⚠️",
    Outcome.QUARANTINED: "📥",
    Outcome.DROPPED: "🗑️",
}
_TONES: Final = {words.Tone.GOOD: "✅", words.Tone.CAUTION: "⚠️", words.Tone.BAD: "❌"}
_MARKUP: Final = re.compile(r"[\\`*\[\]~|$]|(?<!\w)_|_(?!\w)|:(?=//)|^[#+>-]|(?<=^\d)[.)]")
_REFERENCE: Final = re.compile(r"#(?=\d)|(?<=www)\.", re.IGNORECASE)


def markdown_text(report: AuditReport) -> str:
    """Return the report as GitHub-flavoured Markdown that ends in a newline.

    Nothing in it starts markup, a link or a mention. It has at most 60,000 characters, to fit in a
    comment: of a longer one samples are dropped first, then checks, those that passed before
    others; their number is stated.
    """
    for checks, samples in ((100, 20), (100, 6), (40, 2), (20, 0), (4, 0)):
        text = "\n".join(_lines(report, checks, samples)).rstrip("\n") + "\n"
        if len(text) <= _MOST:
            return text
    return "\n".join(_head(report)).rstrip("\n") + "\n"


def _lines(report: AuditReport, checks: int, samples: int) -> Iterator[str]:
    yield from _head(report)
    yield from _key_samples(report)
    results = words.by_gravity(report.checks)[:checks]
    open_ones = [each for each in results if each.outcome is not Outcome.PASSED]
    passed = [each for each in results if each.outcome is Outcome.PASSED]
    if open_ones:
        yield from _table(open_ones)
        yield from _samples(open_ones, samples)
    if passed:
        total = sum(each.outcome is Outcome.PASSED for each in report.checks)
        yield from _folded(f"{count_text(total, 'check')} passed", [*_table(passed)])
    hidden = len(report.checks) - len(results)
    if hidden > 0:
        yield f"and {count_text(hidden, 'more check')}, in the other forms of this report"
        yield ""
    yield from _columns(report)
    yield from _run(report)


def _head(report: AuditReport) -> Iterator[str]:
    """Yield the verdict, the counts and the keys."""
    found = words.verdict(report)
    title = f"{found.word.capitalize()}: {words.line_text(report.subject, 60)} of"
    yield f"### {_TONES[found.tone]} {_inline(title)} {_code(report.table)}"
    yield ""
    yield _inline(found.sentence)
    yield ""
    if found.remedy:
        yield f"**Next:** {_inline(words.line_text(found.remedy, 600))}"
        yield ""
    if report.fate is not None:
        yield f"- **Rows** {words.fate_text(report.fate, published=report.passed)}"
    if report.checks:
        tally = words.tally_text(Counter(each.outcome for each in report.checks))
        yield f"- **Checks** {tally}"
    proof = proof_text(report)
    if proof:
        yield f"- **Keys** {_inline(key_rule_text(report))}: {_inline(proof)}"
    elif keys_refused(report):
        yield f"- **Keys** refused: not {_inline(key_rule_text(report))}"
    yield ""


def _key_samples(report: AuditReport) -> Iterator[str]:
    samples, more = key_samples(report)
    if not samples:
        return
    yield "| key | where |"
    yield "|---|---|"
    yield from (f"| {_code(each.key, 80)} | {_code(each.places)} |" for each in samples)
    yield ""
    if more > 0:
        yield f"and {number_text(more)} more"
        yield ""


def _table(results: Sequence[CheckResult]) -> Iterator[str]:
    yield "| | check | found | allowed | demands |"
    yield "|---|---|---|---|---|"
    for each in results:
        yield (
            f"| {_MARKS[each.outcome]} {each.outcome} | {_code(each.check.name, 80)}"
            f" | {_inline(words.result_text(each))} | {words.allowed_text(each.check)}"
            f" | {_code(words.meaning(each.check), 160)} |"
        )
    yield ""


def _samples(results: Sequence[CheckResult], most: int) -> Iterator[str]:
    """Yield the bad rows of the first checks, folded per check."""
    shown = [each for each in results if each.samples][:most]
    for each in shown:
        lines = ["| where | row |", "|---|---|"]
        for row in each.samples[:5]:
            text = words.sample_text(row, values=5, most=50)
            lines.append(f"| {_code(words.place_text(row), 120)} | {_code(text)} |")
        count = f"{min(len(each.samples), 5)} of {count_text(each.failed, 'bad row')}"
        yield from _folded(f"{words.line_text(each.check.name, 80)}: {count}", [*lines, ""])


def _columns(report: AuditReport) -> Iterator[str]:
    columns = report.columns[:60]
    if not columns:
        return
    lines = ["| column | type | nulls | distinct, about |", "|---|---|---:|---:|"]
    lines += [
        f"| {_code(each.name, 60)} | {_code(each.type, 40)} | {number_text(each.nulls)}"
        f" | {number_text(each.distinct)} |"
        for each in columns
    ]
    hidden = len(report.columns) - len(columns)
    more = ["", f"and {count_text(hidden, 'more column')}"] if hidden else []
    yield from _folded(count_text(len(report.columns), "column"), [*lines, *more, ""])


def _run(report: AuditReport) -> Iterator[str]:
    """Yield the facts that identify the run."""
    instant = f"instant {_code(report.instant)}, " if report.instant else ""
    yield (
        f"<sub>{instant}run {_code(report.run_id, 80)}, {_code(report.at, 40)},"
        f" {_code(report.location)}; rows count from 0</sub>"
    )


def _folded(summary: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"<details><summary>{_html(summary)}</summary>"
    yield ""
    yield from lines
    yield "</details>"
    yield ""


def _code(text: str, most: int = 200) -> str:
    """Return text as a code span, which starts no markup; also within a table's cell."""
    shown = words.line_text(text, most).replace("`", "'").replace("|", "\\|").strip()
    return f"`{shown}`" if shown else ""


def _inline(text: str) -> str:
    """Return text that starts no markup, link or mention; also within a table's cell.

    Text in pairs of backticks becomes code.
    """
    parts = words.line_text(text, 600).split("`")
    if len(parts) % 2 == 0:
        return _words("`".join(parts))
    return "".join(_code(each) if n % 2 else _words(each) for n, each in enumerate(parts))


def _words(text: str) -> str:
    escaped = _MARKUP.sub(lambda found: f"\\{found[0]}", text)
    return _REFERENCE.sub(lambda found: f"{found[0]}\u200b", _html(escaped))


def _html(text: str) -> str:
    """Return text without tags and mentions."""
    found = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return found.replace("@", "@\u200b")
