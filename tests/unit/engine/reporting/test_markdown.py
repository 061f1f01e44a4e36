"""Markdown for a pull request: short, folded, and without markup from the data."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from framework.engine.reporting.markdown import markdown_text
from framework.engine.results import AuditReport
from tests.support.reports import a_hostile_report, a_refused_report, a_report, an_endless_report

ALLOWED = {"<details>", "</details>", "<summary>", "</summary>", "<sub>", "</sub>"}

REFUSED_HEAD = """\
### ❌ Refused: upsert of `shop.orders`

2 checks failed: amount_is_positive (1,204 of 336,776 rows), enough_orders. \
Nothing was published; the table is unchanged.

**Next:** Correct the source, or say what such rows should do: `on_fail: quarantine`.

- **Rows** 336,776 input rows, none published
- **Checks** 2 failed, 1 warned, 1 quarantined, 1 dropped, 3 passed
- **Keys** (order_id) unique in table, not null: 336,761 keys in 12 files: \
the hashes of all keys were compared, and equal ones key by key

| | check | found | allowed | demands |
|---|---|---|---|---|
| ❌ failed | `amount_is_positive` | 1,204 of 336,776 rows failed, 3 of them null | up to 10 \
| `every row: amount > 0 AND amount < 100000` |
"""


def test_refused_report_begins_with_verdict_counts_and_failures() -> None:
    """What is wrong comes before what is right."""
    assert markdown_text(a_refused_report()).startswith(REFUSED_HEAD)


def test_passed_checks_and_columns_are_folded() -> None:
    """They are there, and take no room."""
    text = markdown_text(a_report())
    assert "<details><summary>4 checks passed</summary>" in text
    assert "<details><summary>10 columns</summary>" in text
    assert "late_orders: 2 of 12 bad rows" in text


def tables_are_whole(text: str) -> bool:
    """Whether every row of a table has as many cells as its header."""
    header = 0
    for line in text.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        if header and cells and cells != header:
            return False
        header = cells
    return True


@pytest.mark.parametrize("report", [a_report(), a_refused_report(), a_hostile_report()])
def test_rendered_markdown_has_no_markup_of_the_data(report: AuditReport) -> None:
    """No tag, link, picture or heading but ours, and no mention."""
    text = markdown_text(report)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    flat = [*tokens, *(child for token in tokens for child in token.children or [])]
    html = "".join(t.content for t in flat if t.type in {"html_inline", "html_block"})
    assert set(re.findall(r"<[^>]*>", html)) <= ALLOWED
    kinds = {token.type for token in flat}
    assert kinds.isdisjoint({"link_open", "image", "code_block", "fence"})
    assert sum(token.type == "heading_open" for token in flat) == 1
    outside_code = re.sub(r"`[^`]*`", "", text)
    assert "@everyone" not in outside_code
    assert tables_are_whole(text)


@pytest.mark.parametrize("report", [a_hostile_report(), an_endless_report()])
def test_any_report_fits_in_a_comment(report: AuditReport) -> None:
    """GitHub takes 65,536 characters; what is left out is counted."""
    text = markdown_text(report)
    assert len(text) <= 60_000
    text.encode()
