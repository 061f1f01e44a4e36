"""The HTML report: one file, bounded, and nothing but text from the data."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.engine.reporting.html import PAGE, html_text
from framework.engine.results import AuditReport, FailedRow
from framework.vocabulary import CheckKind, Outcome
from tests.support.reports import (
    HOSTILE,
    a_check,
    a_hostile_report,
    a_refused_report,
    a_report,
    a_result,
    an_endless_report,
)

VOID = {"meta", "link"}
STYLE = (PAGE / "report.css").read_text("utf-8")
TAGS = set(
    re.findall(
        r"\w+",
        """html head meta title link style body header main footer section h1 h2 h3 p a strong span
        bdi code pre div dl dt dd ol li details summary table thead tbody tr th td svg rect circle
        path""",
    )
)
ATTRIBUTES = set(
    re.findall(
        r"[\w-]+",
        """lang charset http-equiv content name rel href class id scope open title role aria-label
        aria-hidden viewbox preserveaspectratio x y width height cx cy r d fill stroke
        stroke-width stroke-linecap stroke-linejoin""",
    )
)


class Page(HTMLParser):
    """A page taken apart; fails where tags do not match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag and its attributes."""
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close what was opened last."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note what a reader sees."""
        if self._open[-1:] != ["style"]:
            self.texts.append(data)

    @property
    def text(self) -> str:
        """All that a reader sees."""
        return " ".join("".join(self.texts).split())


@pytest.mark.parametrize(
    "report",
    [a_report(), a_refused_report(), a_hostile_report(), a_report([], fate=None, keys={})],
)
def test_page_has_only_our_tags_and_fetches_nothing(report: AuditReport) -> None:
    """No script, no handler, no address but those within the page."""
    page = Page(html_text(report))
    assert set(page.tags) <= TAGS
    assert {name for name, _ in page.attributes} <= ATTRIBUTES
    assert {v for n, v in page.attributes if n == "href"} <= {"#checks", "data:,"}
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_verdict_and_reason_are_at_the_top() -> None:
    """In words, before anything else."""
    text = Page(html_text(a_refused_report())).text
    head = text[: text.index("Input rows")]
    assert "Refused" in head
    assert "2 checks failed: amount_is_positive" in head
    assert "Nothing was published" in head
    assert "Next:" in head


def test_page_shows_counts_keys_samples_and_redaction() -> None:
    """All that one looks for at night."""
    text = Page(html_text(a_report())).text
    assert "336,776 input rows: 336,761 published, 12 quarantined, 3 dropped." in text
    assert "(order_id) unique in table, not null" in text
    assert "Only a sample of 10% was checked" in text
    assert "country=DE/part-00001.parquet row 17 · key A-100017" in text
    assert "***" not in text
    assert "redacted" in text
    assert "nullnote" not in text


def test_what_refuses_the_run_is_first_and_open() -> None:
    """Checks that passed are folded, last."""
    html = html_text(a_refused_report())
    names = re.findall(r'<bdi class="name">(.*?)</bdi>', html)
    assert names[:3] == ["amount_is_positive", "enough_orders", "late_orders"]
    assert len(re.findall(r"<details class=\"\w+\" open>", html)) == 3


def test_columns_that_a_check_names_come_first_in_its_rows() -> None:
    """The bad value comes first."""
    values = {f"c{n}": "x" for n in range(40)} | {"amount": "-1"}
    row = FailedRow(file="a.parquet", row=0, values=values)
    result = a_result(outcome=Outcome.FAILED, failed=1, samples=(row,))
    html = html_text(a_report([result]))
    assert html.index('class="named"') < html.index(">c0<")
    assert "and 17 more columns" in html


def test_refused_keys_are_listed_with_their_places() -> None:
    """Instead of a proof."""
    report = {
        "columns": ["id"],
        "scope": "table",
        "groups": 9,
        "samples": [{"key": "k1", "rows": [{"file": "a.parquet", "row": 3}]}],
    }
    refusal = {"condition": "audit/duplicate-keys", "message": "no", "report": report}
    text = Page(html_text(a_report(refusal=refusal, keys={}))).text
    assert "Not (id) unique in table, not null." in text
    assert "a.parquet row 3" in text
    assert "and 8 more" in text


def test_endless_report_is_a_page_of_bounded_size() -> None:
    """Of many checks, rows, columns and long texts the first are shown, the others counted."""
    html = html_text(an_endless_report())
    assert len(html.encode()) < 6_000_000
    text = Page(html).text
    assert "and 700 more checks" in text
    assert "and 2,800 more columns" in text
    assert "and 470 more stages" in text


@pytest.mark.property
@given(st.text(max_size=60), st.sampled_from(list(CheckKind)), st.sampled_from(list(Outcome)))
def test_any_text_is_data(text: str, kind: CheckKind, outcome: Outcome) -> None:
    """In any position, it creates no tag."""
    row = FailedRow(file=text, row=1, partition=text, key=text, values={text: text})
    check = a_check(text, kind=kind, text=text, where=text, arguments={"column": text})
    result = a_result(check, outcome=outcome, failed=1, samples=(row,), observed=text)
    page = Page(html_text(a_report([result], table=text, run_id=text, refusal={"message": text})))
    assert set(page.tags) <= TAGS
    assert {name for name, _ in page.attributes} <= ATTRIBUTES


def test_hostile_texts_are_shown_as_they_are() -> None:
    """Escaped once, not twice."""
    text = Page(html_text(a_hostile_report())).text
    assert HOSTILE[0] in text
    assert "&amp;&lt; ]]>" in text


@pytest.mark.parametrize("template", sorted(PAGE.glob("*.jinja")), ids=lambda path: path.name)
def test_template_switches_escaping_off_nowhere(template: Path) -> None:
    """What holds of the whole page holds of each place in it."""
    assert not re.search(r"\|\s*safe\b|autoescape|Markup", template.read_text("utf-8"))


@pytest.mark.parametrize("report", [a_report(), a_hostile_report()])
def test_page_holds_its_style_sheet_as_it_is(report: AuditReport) -> None:
    """Whatever the data: a style sheet with escapes in it would not be one."""
    assert f"<style>\n{STYLE}</style>" in html_text(report)


def luminance(colour: str) -> float:
    """Return the relative luminance of `#rgb` or `#rrggbb` (WCAG 2)."""
    digits = colour.lstrip("#")
    digits = "".join(c * 2 for c in digits) if len(digits) == 3 else digits
    shares = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return sum(w * s for w, s in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", [0, 1])
def test_text_has_enough_contrast_in_both_schemes(scheme: int) -> None:
    """WCAG AA asks for 4.5 to 1."""
    block = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", block))
    pairs = [(ink, on) for ink in ("ink", "soft") for on in ("page", "card", "sunk")]
    pairs += [(tone, f"{tone}-bg") for tone in ("good", "bad", "caution", "aside")]
    pairs += [("bad", "card"), ("caution", "card"), ("good", "card"), ("link", "page")]
    for ink, on in pairs:
        light, dark = sorted((luminance(colours[ink]), luminance(colours[on])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, on)
