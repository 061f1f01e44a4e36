"""The guide to errors lists every condition that the source can raise, and no other."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.support.conditions import raised_conditions

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "errors.md"
HELP = "add it to docs/guide/errors.md"


def test_every_condition_of_the_source_is_in_the_guide() -> None:
    """Every error has its row; a removed condition has none."""
    raised, documented = set(raised_conditions()), set(_documented())
    assert raised - documented == set(), HELP
    assert documented - raised == set(), "the source does not raise it any more"


def test_exit_codes_of_the_guide_are_those_of_the_error_classes() -> None:
    """The code follows from the class of the condition."""
    raised = raised_conditions()
    wrong = {
        condition: (codes, raised[condition])
        for condition, codes in _documented().items()
        if not raised.get(condition, set()) <= codes
    }
    assert wrong == {}


def test_codes_of_a_row_of_the_guide_are_all_met_by_one_of_its_conditions() -> None:
    """A row has no code that none of its conditions has."""
    raised = raised_conditions()
    for conditions, codes, *_ in _rows():
        met = set().union(*(raised.get(each, set()) for each in conditions))
        assert met == codes, conditions


def test_each_condition_is_in_one_row_with_meaning_and_advice() -> None:
    """One place to look, and something to do."""
    rows = _rows()
    counts = Counter(condition for conditions, *_ in rows for condition in conditions)
    assert {condition for condition, count in counts.items() if count > 1} == set()
    assert all(meaning and advice for *_, meaning, advice in rows)


def test_scan_of_the_source_finds_conditions_of_every_form() -> None:
    """Whole ones, those of helpers with their area, and those of key rules and tables."""
    found = raised_conditions()
    assert found["plan/stale"] == {4}
    assert found["commit/foreign-pending"] == {4}
    assert found["key/nested"] == {1}
    assert found["schema/time"] == {1}
    assert found["commit/outcome-unknown"] == {7}
    assert len(found) > 150


def _rows() -> list[tuple[list[str], set[int], str, str]]:
    """Return conditions, exit codes, meaning and advice of each row that has conditions."""
    rows = []
    for line in GUIDE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        conditions = re.findall(r"`([a-z][a-z-]*/[a-z0-9-]+)`", cells[0])
        if line.startswith("| `") and conditions:
            _, codes, meaning, advice = cells
            rows.append((conditions, {int(code) for code in codes.split(",")}, meaning, advice))
    return rows


def _documented() -> dict[str, set[int]]:
    """Return the exit codes that the guide gives to each condition."""
    return {condition: codes for conditions, codes, *_ in _rows() for condition in conditions}
