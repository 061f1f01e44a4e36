"""HTML that is escaped by construction."""

from __future__ import annotations

import re

from framework.engine.reporting.markup import bar, h, joined


def test_text_and_attributes_are_escaped() -> None:
    """Markup within markup is not escaped twice."""
    found = h("p", "a<b", h("i", "&"), class_='"x"', aria_label="<", hidden=True, open=False)
    assert found == '<p class="&quot;x&quot;" aria-label="&lt;" hidden>a&lt;b<i>&amp;</i></p>'


def test_void_element_has_no_end() -> None:
    """As HTML wants it."""
    assert h("meta", name="robots") == '<meta name="robots">'


def test_joined_escapes_text_only() -> None:
    """Sequences are of markup."""
    assert joined("<", [h("b", "x")]) == "&lt;<b>x</b>"


def widths(svg: str) -> list[float]:
    """Return the widths of a bar's pieces, without its track."""
    return [float(each) for each in re.findall(r'width="([\d.]+)"', svg)][1:]


def test_thin_share_stays_visible_and_the_bar_full() -> None:
    """The great share gives way."""
    found = widths(bar([("a", 0.99999), ("b", 0.000005), ("c", 0.0)], "x"))
    assert len(found) == 2
    assert min(found) > 0.5
    assert sum(found) <= 100.1


def test_bar_of_nothing_is_an_empty_track() -> None:
    """With its words."""
    found = bar([("a", 0.0)], "none < some")
    assert widths(found) == []
    assert 'aria-label="none &lt; some"' in found
