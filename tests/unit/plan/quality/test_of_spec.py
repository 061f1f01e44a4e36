"""From the words of a spec to the checks that the gate runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.plan.quality.model import Budget, Check, Quality
from framework.plan.quality.of_spec import quality_of
from framework.vocabulary import CheckedRows, CheckKind, OnFail
from tests.support.planning import a_spec


def asked(folder: Path, section: str = "", columns: str = "") -> Quality:
    """Return the checks of the flights' spec with a section and a contract of these fields."""
    contract = f"\n  columns: {{{columns}}}" if columns else ""
    changes = {
        "unique_within: table": f"unique_within: table{contract}",
        "  mode: metadata_only\n": f"  mode: metadata_only\n{section}",
    }
    return quality_of(a_spec(folder, changes=changes))


def test_spec_without_checks_asks_for_none(tmp_path: Path) -> None:
    """And quarantines nothing."""
    found = asked(tmp_path)
    assert (found.checks, found.columns, found.quarantine) == ((), (), None)
    assert (found.samples, found.max_ratio, found.redacted) == (5, 1.0, ())


def test_check_becomes_what_the_gate_runs(tmp_path: Path) -> None:
    """Every field arrives, and budgets are rows or a share."""
    section = (
        "quality:\n  samples: 3\n  redact: [carrier]\n  checks:\n"
        "    - {name: a, expect: day > 0, where: month = 1, allow_null: true, on_fail: drop}\n"
        "    - {name: b, expect_aggregate: count(*) > 1, over: table}\n"
        "    - {name: c, query: SELECT * FROM this, max_failed: 2.5%, on_fail: warn}\n"
        "    - {name: d, expect: day > 0, max_failed: 7}\n"
    )
    found = asked(tmp_path, section)
    assert found.checks == (
        Check(
            name="a",
            kind=CheckKind.EXPECT,
            text="day > 0",
            on_fail=OnFail.DROP,
            where="month = 1",
            allow_null=True,
            key_path="quality.checks[0]",
        ),
        Check(
            name="b",
            kind=CheckKind.EXPECT_AGGREGATE,
            text="count(*) > 1",
            over=CheckedRows.TABLE,
            key_path="quality.checks[1]",
        ),
        Check(
            name="c",
            kind=CheckKind.QUERY,
            text="SELECT * FROM this",
            on_fail=OnFail.WARN,
            budget=Budget(share=0.025),
            key_path="quality.checks[2]",
        ),
        Check(
            name="d",
            kind=CheckKind.EXPECT,
            text="day > 0",
            budget=Budget(rows=7),
            key_path="quality.checks[3]",
        ),
    )
    assert (found.samples, found.redacted) == (3, ("carrier",))


@pytest.mark.parametrize(
    ("section", "place", "ratio"),
    [
        ("checks: [{name: a, expect: day > 0, on_fail: drop}]", None, 1.0),
        (
            "checks: [*]",
            "/lake/flights.quarantine",
            1.0,
        ),
        (
            "quarantine: {location: /lake/bad, max_ratio: 0.25}, checks: [*]",
            "/lake/bad",
            0.25,
        ),
        ("samples: 1, quarantine: {location: /lake/bad}", None, 1.0),
    ],
)
def test_rows_are_quarantined_only_where_a_check_can_do_so(
    tmp_path: Path, section: str, place: str | None, ratio: float
) -> None:
    """Beside the table, unless the spec says where."""
    check = "{name: a, expect: day > 0, on_fail: quarantine}"
    found = asked(tmp_path, f"quality: {{{section.replace('*', check)}}}\n")
    assert (found.quarantine, found.max_ratio) == (place, ratio)


@pytest.mark.parametrize(
    ("column", "text", "allows_null"),
    [
        ("{nullable: false}", "`a` IS NOT NULL", False),
        ("{allowed: [x, it's]}", "`a` IN ('x', 'it\\'s')", True),
        ("{type: int, allowed: [1, '-2']}", "`a` IN (1, -2)", True),
        ("{type: boolean, allowed: [true]}", "`a` IN (TRUE)", True),
        ("{type: date, allowed: [2026-01-01]}", "`a` IN (DATE '2026-01-01')", True),
        ("{type: float, allowed: [0.1]}", "`a` IN (CAST('0.1' AS float))", True),
        (
            "{type: 'DECIMAL(5, 2)', allowed: ['1.10', 2]}",
            "`a` IN (CAST('1.10' AS decimal(5,2)), CAST('2' AS decimal(5,2)))",
            True,
        ),
        (
            "{type: timestamp, allowed: ['2026-01-01 10:00']}",
            "`a` IN (CAST('2026-01-01 10:00' AS timestamp))",
            True,
        ),
        (
            "{allowed: [1.5, .inf]}",
            "`a` IN (CAST('1.5' AS double), CAST('Infinity' AS double))",
            True,
        ),
    ],
)
def test_contract_of_a_column_becomes_a_predicate(
    tmp_path: Path, column: str, text: str, *, allows_null: bool
) -> None:
    """With literals of the column's type, and null allowed where the column may be null."""
    (check,) = asked(tmp_path, columns=f"a: {column}").checks
    assert (check.kind, check.text) == (CheckKind.EXPECT, text)
    assert (check.on_fail, check.allow_null) == (OnFail.ABORT, allows_null)


def test_contract_has_names_and_places_of_its_own(tmp_path: Path) -> None:
    """Its checks come first, and no check of the author can have their names."""
    section = "quality: {checks: [{name: a, expect: day > 0}]}\n"
    columns = "day: {type: long}, 'a``b': {nullable: false, allowed: [x], on_fail: quarantine}"
    found = asked(tmp_path, section, columns)
    assert [(check.name, check.key_path) for check in found.checks] == [
        ("columns.a``b.nullable", "table.columns.a``b.nullable"),
        ("columns.a``b.allowed", "table.columns.a``b.allowed"),
        ("a", "quality.checks[0]"),
    ]
    assert found.checks[0].text == "`a````b` IS NOT NULL"
    assert not found.checks[1].allow_null
    assert found.quarantine == "/lake/flights.quarantine"
    assert [(c.name, c.type, c.nullable, c.allowed) for c in found.columns] == [
        ("day", "bigint", True, ()),
        ("a``b", None, False, ("x",)),
    ]
