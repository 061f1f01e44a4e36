"""A report as one HTML file that needs no network and no script, whatever the data.

The page is `page/report.html.jinja` with its style sheet; here is what is put into it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from framework.engine.reporting.html_checks import shown_checks
from framework.engine.reporting.keys import key_rule_text, key_samples, keys_refused, proof_text
from framework.engine.reporting.words import (
    Tone,
    block_text,
    fate_text,
    line_text,
    share_text,
    tally_text,
    verdict,
)
from framework.plan.words import count_text, number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.engine.results import AuditReport, ColumnFigures, Fate

__all__ = ["PAGE", "html_text"]

PAGE: Final = Path(__file__).parent / "page"
"""Folder of the template and its style sheet."""

_COLUMNS: Final = 200
_STAGES: Final = 30
_THINNEST: Final = 0.8
_MINUTE: Final = 60
_FATE_WORDS: Final = {"published": "Published", "quarantined": "Quarantined", "dropped": "Dropped"}
_SIGNS: Final = {
    Tone.GOOD: "M6 12.5l4 4 8-9",
    Tone.CAUTION: "M12 6.5v7M12 17v.5",
    Tone.BAD: "M7.5 7.5l9 9M16.5 7.5l-9 9",
}


def html_text(report: AuditReport) -> str:
    """Return the report as an HTML document that ends in a newline.

    Its size is bounded, a few megabytes at most: what is left out is counted. Nothing in it runs or
    is fetched, which its content security policy also forbids.
    """
    found = verdict(report)
    title = f"{found.word}: {line_text(report.subject, 60)} of {line_text(report.table, 120)}"
    return _template().render(
        report=report,
        verdict=found,
        title=title[:1].upper() + title[1:],
        sign=_SIGNS[found.tone],
        facts=_facts(report),
        fates=_fates(report.fate) if report.fate else {},
        keys=_keys(report),
        tally=tally_text(Counter(each.outcome for each in report.checks)),
        checks=shown_checks(report.checks),
        columns=[_column(each) for each in report.columns[:_COLUMNS]],
        timings=list(report.timings.items())[:_STAGES],
        longest=max(*report.timings.values(), 1e-9) if report.timings else 0.0,
    )


@cache
def _template() -> Template:
    """Return the page; what is put into it is escaped, and a name that is not there is an error."""
    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "block": block_text,
        "counted": count_text,
        "line": line_text,
        "number": number_text,
        "seconds": _seconds,
        "share": share_text,
    }
    environment.globals |= {
        "bar_pieces": _bar_pieces,
        "fate_text": fate_text,
        "fate_words": _FATE_WORDS,
    }
    return environment.get_template("report.html.jinja")


def _facts(report: AuditReport) -> dict[str, str]:
    """Return what one needs to find the run again."""
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
    """A column's figures with what its bars show."""

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
        null_share=share_text(figures.nulls / rows),
        distinct_share=share_text(distinct / rows),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A piece of a bar, in hundredths of its length from the left."""

    kind: str
    x: float
    width: float


def _bar_pieces(amounts: Mapping[str, float], of: float) -> Iterator[_Piece]:
    """Yield the pieces of a bar; what is there is never too thin to be seen: others give way."""
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
