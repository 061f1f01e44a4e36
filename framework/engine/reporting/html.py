"""A report as one HTML file that needs no network and no script, whatever the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.engine.reporting.html_checks import checks_section
from framework.engine.reporting.html_figures import columns_section, timings_section
from framework.engine.reporting.keys import key_rule_text, key_samples, keys_refused, proof_text
from framework.engine.reporting.markup import Markup, bar, h, joined
from framework.engine.reporting.style import STYLE
from framework.engine.reporting.text import line_text
from framework.engine.reporting.words import Tone, fate_text, verdict
from framework.plan.words import number_text

if TYPE_CHECKING:
    from framework.engine.results import AuditReport, Fate

__all__ = ["html_text"]

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
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
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="color-scheme", content="light dark"),
        h("meta", name="referrer", content="no-referrer"),
        h("meta", name="robots", content="noindex"),
        h("title", title[:1].upper() + title[1:]),
        h("link", rel="icon", href="data:,"),
        h("style", STYLE),
    )
    main = [
        _fate_section(report),
        _keys_section(report),
        checks_section(report.checks),
        columns_section(report.columns),
        timings_section(report.timings, report.took),
    ]
    body = h(
        "body",
        h("a", "To the checks", class_="skip", href="#checks"),
        _header(report),
        h("main", [each for each in main if each]),
        h("footer", h("p", "Made by Lakestrap. Rows of a file count from 0.")),
    )
    return f"<!DOCTYPE html>\n{h('html', head, body, lang='en')}\n"


def _header(report: AuditReport) -> Markup:
    """Return the verdict and what one needs to find the run again."""
    found = verdict(report)
    what = h("bdi", line_text(report.table, 120))
    remedy = line_text(found.remedy, 600)
    advice = h("p", h("strong", "Next: "), _with_code(remedy), class_="next")
    facts = {
        "Instant": report.instant or "none: nothing was to be published",
        "Run": report.run_id,
        "Finished": report.at.replace("T", " ").replace("Z", " UTC"),
        "Table": report.location,
    }
    rows = [h("div", h("dt", name), h("dd", h("bdi", line_text(v)))) for name, v in facts.items()]
    return h(
        "header",
        h("p", "Gate report: ", line_text(report.subject, 60), " of ", what, class_="overline"),
        h(
            "div",
            h("h1", _sign(found.tone), found.word.capitalize()),
            h("p", h("bdi", line_text(found.sentence, 1200))),
            advice if remedy else Markup(),
            class_=f"verdict {found.tone}",
        ),
        h("dl", rows, class_="facts"),
    )


def _with_code(text: str) -> Markup:
    """Return text whose parts in backticks are code."""
    parts = text.split("`")
    return joined(*(h("code", p) if n % 2 else p for n, p in enumerate(parts)))


def _sign(tone: Tone) -> Markup:
    """Return the verdict's sign; the word beside it says the same."""
    line = {"fill": "none", "stroke": "var(--card)", "stroke_width": "2.4"}
    return h(
        "svg",
        h("circle", cx="12", cy="12", r="12", fill="currentColor"),
        h("path", d=_SIGNS[tone], stroke_linecap="round", stroke_linejoin="round", **line),
        viewBox="0 0 24 24",
        aria_hidden="true",
    )


def _fate_section(report: AuditReport) -> Markup:
    """Return what became of the input's rows."""
    if report.fate is None:
        return Markup()
    words = h("p", f"{fate_text(report.fate, published=report.passed)}.")
    picture = _fate(report.fate) if report.passed else Markup()
    title = h("h2", "What became of the rows")
    return h("section", title, h("div", words, picture, class_="card fate"))


def _fate(fate: Fate) -> Markup:
    """Return how the input was divided, as a picture and in numbers."""
    whole = max(fate.input, 1)
    parts = (
        ("published", "Published", fate.published),
        ("quarantined", "Set aside", fate.quarantined),
        ("dropped", "Dropped", fate.dropped),
    )
    shares = [(f"f-{kind}", rows / whole) for kind, _, rows in parts]
    counts = [
        h("div", h("dt", name), h("dd", number_text(rows)), class_=f"s-{kind}")
        for kind, name, rows in parts
    ]
    read = h("div", h("dt", "Came in"), h("dd", number_text(fate.input)), class_="plain")
    return joined(bar(shares, fate_text(fate, published=True)), h("dl", read, counts))


def _keys_section(report: AuditReport) -> Markup:
    """Return how the keys were proven, or which ones refused the run."""
    if not report.keys and not keys_refused(report):
        return Markup()
    rule = h("bdi", key_rule_text(report))
    if not keys_refused(report):
        content = [h("p", h("strong", "Proven: "), rule, "."), h("p", proof_text(report), ".")]
        return h("section", h("h2", "Record keys"), h("div", content, class_="card"))
    samples, more = key_samples(report)
    items = [
        h("li", h("p", h("bdi", each.places or "place not known"), class_="at"), _key(each.key))
        for each in samples
    ]
    hidden = [h("p", f"and {number_text(more)} more", class_="more")] if more > 0 else []
    return h(
        "section",
        h("h2", "Record keys"),
        h("p", "Not ", rule, "."),
        h("ol", items, class_="samples"),
        hidden,
    )


def _key(key: str) -> Markup:
    cell = h("div", h("dt", "key"), h("dd", h("bdi", key)), class_="long")
    return h("dl", cell) if key else Markup()
