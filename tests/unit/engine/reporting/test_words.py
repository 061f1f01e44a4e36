"""What a report says in words."""

from __future__ import annotations

from typing import Any

import pytest

from framework.engine.reporting.words import (
    Tone,
    allowed_text,
    fate_text,
    meaning,
    place_text,
    result_text,
    sample_text,
    share_text,
    verdict,
)
from framework.engine.results import FailedRow, Fate
from framework.plan.quality.model import Budget
from framework.vocabulary import CheckKind, Outcome
from tests.support.reports import a_check, a_refused_report, a_report, a_result


def test_verdict_of_a_clean_report_is_good() -> None:
    """With what was proven."""
    found = verdict(a_report([a_result(), a_result()]))
    assert (found.word, found.tone) == ("published", Tone.GOOD)
    assert found.sentence == "Keys are unique and not null; all 2 checks passed."


def test_verdict_with_warnings_is_published_with_caution() -> None:
    """Each check that found something is named."""
    found = verdict(a_report())
    assert (found.word, found.tone) == ("published", Tone.CAUTION)
    assert "1 check warned: late_orders" in found.sentence


def test_verdict_of_a_refused_run_says_that_nothing_was_published() -> None:
    """With the refusal's own words and what to do next."""
    found = verdict(a_refused_report())
    assert (found.word, found.tone) == ("refused", Tone.BAD)
    assert found.sentence.endswith("Nothing was published; the table is unchanged.")
    assert found.remedy


def test_verdict_where_nothing_was_to_be_published_says_passed_or_failed() -> None:
    """As when a table or a source is only looked at."""
    assert verdict(a_report(instant=None, fate=None)).word == "passed"
    found = verdict(a_refused_report(instant=None, fate=None, refusal={}))
    assert found.word == "failed"
    assert found.sentence == "2 checks failed: amount_is_positive, enough_orders."


def test_verdict_without_checks_says_so() -> None:
    """Keys or not."""
    assert verdict(a_report([])).sentence.endswith("no further check was requested.")
    assert verdict(a_report([], keys={})).sentence == "No check was requested."


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "every row: amount > 0"),
        ({"where": "a = 1", "allow_null": True}, "rows where a = 1: amount > 0, or null"),
        ({"kind": CheckKind.EXPECT_AGGREGATE}, "all rows together: amount > 0"),
        ({"kind": CheckKind.QUERY, "text": "SELECT *\n  FROM t"}, "no row from: SELECT * FROM t"),
        (
            {"kind": CheckKind.GX, "text": "expect_x", "arguments": {"column": "a", "n": 2}},
            "expect_x (column: a, n: 2)",
        ),
    ],
)
def test_meaning_of_each_kind_is_one_line(changes: dict[str, Any], text: str) -> None:
    """SQL stays as it was written, but for its line breaks."""
    assert meaning(a_check(**changes)) == text


def test_result_text_has_nulls_samples_and_findings() -> None:
    """As far as they apply."""
    found = a_result(rows=1000, failed=12, nulls=3, fraction=0.1, observed="7")
    assert (
        result_text(found) == "12 of 1,000 rows failed, 3 of them null, in a sample of 10%; found 7"
    )
    total = a_result(a_check(kind=CheckKind.EXPECT_AGGREGATE), rows=1, observed="336776")
    assert result_text(total) == "found 336,776 over 1 row"


def test_fate_text_counts_every_row() -> None:
    """Nothing is called published where nothing was."""
    fate = Fate(input=10, published=7, quarantined=2, dropped=1)
    assert fate_text(fate, published=True) == (
        "10 input rows: 7 published, 2 quarantined, 1 dropped"
    )
    assert fate_text(fate, published=False) == (
        "10 input rows, none published; 2 quarantined and 1 dropped by the checks"
    )


def test_place_and_sample_say_only_what_is_known() -> None:
    """A partition that the file's name says is not said twice."""
    row = FailedRow(file="p=1/a.parquet", row=3, partition="p=1", key="k", values={"a": None})
    assert place_text(row) == "p=1/a.parquet row 3"
    assert place_text(FailedRow(file="a.parquet", partition="p=1")) == "a.parquet in p=1"
    assert place_text(FailedRow()) == ""
    assert sample_text(row) == "key k, a=null"
    wide = FailedRow(values={str(n): "x" for n in range(9)})
    assert sample_text(wide, values=2) == "0=x, 1=x, and 7 more columns"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0%"), (1e-9, "<0.01%"), (0.00036, "0.036%"), (0.105, "10.5%"), (0.5, "50%"),
     (0.999999, ">99.99%"), (1.0, "100%")],
)  # fmt: skip
def test_share_text_is_never_rounded_to_none_or_all(share: float, text: str) -> None:
    """Two digits or so."""
    assert share_text(share) == text


def test_allowed_text_has_the_budget() -> None:
    """Rows or a share."""
    assert allowed_text(a_check()) == "none"
    assert allowed_text(a_check(budget=Budget(rows=1200))) == "up to 1,200"
    assert allowed_text(a_check(budget=Budget(share=0.01))) == "up to 1% of the rows"


def test_every_outcome_has_its_place_by_gravity() -> None:
    """What a reader must see first is in front."""
    results = [a_result(outcome=outcome) for outcome in Outcome]
    from_words = verdict(a_report(results)).sentence
    assert from_words.startswith("1 check failed")
