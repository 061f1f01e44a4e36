"""Figures of columns and of time, as pictures in the HTML report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.engine.reporting.markup import Markup, bar, h
from framework.engine.reporting.text import line_text
from framework.engine.reporting.words import share_text
from framework.plan.words import count_text, number_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.engine.results import ColumnFigures

__all__ = ["columns_section", "timings_section"]

_COLUMNS: Final = 200
_STAGES: Final = 30
_MINUTE: Final = 60


def columns_section(columns: Sequence[ColumnFigures]) -> Markup:
    """Return share of nulls and of distinct values for each column, empty without figures."""
    if not columns:
        return Markup()
    shown = columns[:_COLUMNS]
    hidden = len(columns) - len(shown)
    heads = (h("th", word, scope="col") for word in ("Column", "Nulls", "Distinct, about"))
    more = [h("p", f"and {count_text(hidden, 'more column')}", class_="more")] if hidden else []
    table = h("table", h("thead", h("tr", heads)), h("tbody", map(_column, shown)))
    return h(
        "section",
        h("h2", "Columns"),
        h("p", f"Of {count_text(max(each.rows for each in columns), 'row')} that were checked."),
        h("div", table, more, class_="card columns"),
    )


def timings_section(timings: Mapping[str, float], total: float) -> Markup:
    """Return the seconds of each stage as bars, empty without any; `total` is of the whole run."""
    if not timings:
        return Markup()
    longest = max(*timings.values(), 1e-9)
    shown = list(timings.items())[:_STAGES]
    hidden = len(timings) - len(shown)
    rows = [
        h(
            "tr",
            h("th", h("bdi", line_text(name, 60)), scope="row"),
            h("td", bar([("f-time", seconds / longest)], f"{share_text(seconds / longest)}")),
            h("td", _seconds(seconds)),
        )
        for name, seconds in shown
    ]
    heads = (h("th", word, scope="col") for word in ("Stage", "Share of the longest", "Time"))
    more = [h("p", f"and {count_text(hidden, 'more stage')}", class_="more")] if hidden else []
    table = h("table", h("thead", h("tr", heads)), h("tbody", rows))
    return h(
        "section",
        h("h2", "Time"),
        h("p", f"{_seconds(total)} in all."),
        h("div", table, more, class_="card timings"),
    )


def _column(figures: ColumnFigures) -> Markup:
    rows = max(figures.rows, 1)
    nulls, distinct = figures.nulls / rows, min(figures.distinct / rows, 1.0)
    none = "none" if not figures.nulls else f"{number_text(figures.nulls)} ({share_text(nulls)})"
    name = h("bdi", line_text(figures.name, 120))
    return h(
        "tr",
        h("th", name, h("span", line_text(figures.type, 80), class_="kind"), scope="row"),
        h("td", bar([("f-null", nulls)], f"{share_text(nulls)} are null"), none),
        h(
            "td",
            bar([("f-distinct", distinct)], f"{share_text(distinct)} are distinct"),
            number_text(figures.distinct),
        ),
    )


def _seconds(seconds: float) -> str:
    """Return `0.93 s`, `12.6 s` or `3 min 12 s`."""
    if seconds < _MINUTE:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"  # noqa: PLR2004
    minutes, rest = divmod(round(seconds), _MINUTE)
    return f"{number_text(minutes)} min {rest} s"
