"""Builders for reports of a gate: plain, refused, hostile, endless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from framework.engine.results import (
    AuditReport,
    CheckResult,
    ColumnFigures,
    FailedRow,
    Fate,
)
from framework.plan.quality.model import Budget, Check
from framework.vocabulary import CheckedRows, CheckKind, OnFail, Outcome

__all__ = [
    "HOSTILE",
    "KEYS",
    "a_check",
    "a_hostile_report",
    "a_refused_report",
    "a_report",
    "a_result",
    "an_endless_report",
]

ROWS: Final = 336_776

KEYS: Final[dict[str, object]] = {
    "version": 1,
    "columns": ["order_id"],
    "scope": "table",
    "unique": True,
    "not_null": True,
    "method": "hash-buckets",
    "files": 12,
    "rows": ROWS - 15,
    "checksum": "9f0c2d4e6a8b1357",
    "equal_hashes_compared": 0,
}

HOSTILE: Final = (
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(2)>",
    "' onmouseover='alert(3)",
    '" onfocus="alert(4)" autofocus="',
    "&amp;&lt; ]]> --> <!-- {{ 7*7 }} ${x} $& \\1",
    "\u202eevil.exe\u202c שלום مرحبا",
    "\x00\x07\x1b[31mred\x1b[0m\x85\u2028end",
    "👩🏽‍🚀🏳️‍🌈 e\u0301 ﷽",
    "| a | b |\n# @everyone `code` [x](javascript:alert(5)) ~~~",
    "lone \ud800 surrogate",
    "",
    "a" * 500,
    "long" * 1_000,
)
"""Texts that break what is not careful: markup, quotes, directions, controls, great length."""


def a_check(name: str = "amount_is_positive", **changes: Any) -> Check:
    """Return a check that every row has an amount above 0."""
    plain = Check(
        name=name,
        kind=CheckKind.EXPECT,
        text="amount > 0",
        key_path="quality.checks[0]",
    )
    return replace(plain, **changes)


def a_result(check: Check | None = None, **changes: Any) -> CheckResult:
    """Return that a check passed on all rows."""
    return replace(
        CheckResult(check=check or a_check(), outcome=Outcome.PASSED, rows=ROWS), **changes
    )


def a_report(checks: Sequence[CheckResult] | None = None, **changes: Any) -> AuditReport:
    """Return the report of an upsert that was published, with one check of each outcome but one."""
    plain = AuditReport(
        table="shop.orders",
        location="/lake/orders",
        subject="upsert",
        instant="20261122093000123",
        run_id="nightly-2026-11-22",
        at="2026-11-22T09:31:07Z",
        keys=KEYS,
        checks=tuple(_results() if checks is None else checks),
        columns=_columns(),
        fate=Fate(input=ROWS, published=ROWS - 15, quarantined=12, dropped=3),
        timings={"stage input": 3.41, "row checks": 1.87, "keys": 0.93, "write": 12.6},
    )
    return replace(plain, **changes)


def a_refused_report(**changes: Any) -> AuditReport:
    """Return the report of an upsert that two checks refused."""
    amount = a_result(
        a_check(text="amount > 0 AND amount < 100000", budget=Budget(rows=10)),
        outcome=Outcome.FAILED,
        failed=1_204,
        nulls=3,
        samples=(
            _row(411, "A-100411", order_id="A-100411", amount="-12.50", email="***"),
            _row(9_034, "A-109034", order_id="A-109034", amount=None, email="***"),
        ),
    )
    total = a_result(
        a_check(
            "enough_orders",
            kind=CheckKind.EXPECT_AGGREGATE,
            text="count(*) >= 400000",
            key_path="quality.checks[1]",
        ),
        outcome=Outcome.FAILED,
        failed=1,
        observed="336776",
    )
    refusal = {
        "condition": "audit/checks-failed",
        "message": "2 checks failed: amount_is_positive (1,204 of 336,776 rows), enough_orders",
        "remedy": "Correct the source, or say what such rows should do: `on_fail: quarantine`.",
        "exit_code": 3,
        "where": {"table": "/lake/orders"},
    }
    rest = tuple(each for each in _results() if each.check.name != "amount_is_positive")
    plain = a_report([amount, total, *rest], refusal=refusal)
    return replace(plain, **{"fate": Fate(input=ROWS, published=0), **changes})


def a_hostile_report() -> AuditReport:
    """Return a refused report in which every text is one of `HOSTILE`."""
    values = {f"{text[:30]}{n}": text for n, text in enumerate(HOSTILE)}
    rows = tuple(
        FailedRow(file=text, row=n, partition=text, key=text, values=values)
        for n, text in enumerate(HOSTILE)
    )
    results = [
        a_result(
            a_check(
                text or "empty",
                kind=kind,
                text=text,
                where=text,
                arguments={text: text, "number": float("nan"), "many": [text]},
                key_path=text,
            ),
            outcome=outcome,
            failed=10**12,
            nulls=7,
            observed=text,
            samples=rows,
            fraction=1e-9,
            expectation={"result": {text: text, "observed_value": float("inf")}},
        )
        for text in HOSTILE
        for kind, outcome in zip(CheckKind, list(Outcome)[1:], strict=True)
    ]
    return a_report(
        results,
        table=HOSTILE[0],
        location=HOSTILE[1],
        subject=HOSTILE[2],
        run_id=HOSTILE[3],
        at=HOSTILE[5],
        keys={"columns": list(HOSTILE), "scope": HOSTILE[0], "method": HOSTILE[1], "rows": "x"},
        refusal={
            "condition": "audit/duplicate-keys",
            "message": " ".join(HOSTILE),
            "remedy": " ".join(HOSTILE),
            "report": {
                "columns": list(HOSTILE),
                "scope": HOSTILE[0],
                "groups": len(HOSTILE),
                "samples": [
                    {"key": text, "count": 2, "rows": [{"file": text, "row": 1, "partition": text}]}
                    for text in HOSTILE
                ],
            },
        },
        columns=tuple(
            ColumnFigures(name=text, type=text, rows=3, nulls=1, distinct=9) for text in HOSTILE
        ),
        timings={text: float(n) for n, text in enumerate(HOSTILE)},
    )


def an_endless_report() -> AuditReport:
    """Return a report with far more of everything than any page holds."""
    wide = {f"column_{n}": "<&\"'" * 500 for n in range(300)}
    rows = tuple(FailedRow(file="f" * 900, row=n, key="k" * 9_000, values=wide) for n in range(60))
    outcomes = list(Outcome)
    results = [
        a_result(
            a_check(f"check_{n}_" + "&" * 300, text="<" * 30_000, key_path="k" * 900),
            outcome=outcomes[n % len(outcomes)],
            failed=n,
            samples=rows,
            observed="&" * 10_000,
        )
        for n in range(900)
    ]
    columns = tuple(
        ColumnFigures(name="&" * 3_000, type="struct<" * 3_000, rows=9, nulls=n % 9, distinct=n % 9)
        for n in range(3_000)
    )
    timings = {f"stage {n}": 0.5 * n for n in range(500)}
    return a_report(results, columns=columns, timings=timings)


def _results() -> list[CheckResult]:
    """Return one check of each kind and of each outcome that refuses nothing."""
    return [
        a_result(),
        _late(),
        _no_customer(),
        _test_orders(),
        a_result(
            a_check(
                "currency_is_known",
                kind=CheckKind.GX,
                text="expect_column_values_to_be_in_set",
                arguments={"column": "currency", "value_set": ["EUR", "USD", "GBP"]},
                key_path="quality.checks[4]",
            ),
            seconds=0.84,
            fraction=0.1,
            rows=33_511,
            expectation={
                "success": True,
                "result": {
                    "element_count": 33_511,
                    "unexpected_count": 0,
                    "unexpected_percent": 0.0,
                    "partial_unexpected_list": [],
                },
            },
        ),
        a_result(
            a_check(
                "every_order_has_a_line",
                kind=CheckKind.QUERY,
                text="SELECT o.* FROM written o\nLEFT ANTI JOIN lines l USING (order_id)",
                over=CheckedRows.TABLE,
                key_path="quality.checks[5]",
            ),
            rows=1_204_118,
            seconds=2.31,
        ),
        a_result(
            a_check(
                "orders_came_in",
                kind=CheckKind.EXPECT_AGGREGATE,
                text="count(*) >= 100000",
                key_path="quality.checks[6]",
            ),
            observed="336776",
        ),
    ]


def _late() -> CheckResult:
    return a_result(
        a_check(
            "late_orders",
            text="shipped_at <= ordered_at + INTERVAL 30 DAYS",
            where="status = 'shipped'",
            on_fail=OnFail.WARN,
            budget=Budget(share=0.00001),
            key_path="quality.checks[1]",
        ),
        outcome=Outcome.WARNED,
        failed=12,
        rows=301_442,
        samples=(
            _row(17, "A-100017", order_id="A-100017", shipped_at="2026-11-20", email="***"),
            _row(88, "A-100088", order_id="A-100088", shipped_at="2026-11-21", email="***"),
        ),
    )


def _no_customer() -> CheckResult:
    return a_result(
        a_check(
            "customer_is_known",
            text="customer_id IS NOT NULL",
            on_fail=OnFail.QUARANTINE,
            key_path="quality.checks[2]",
        ),
        outcome=Outcome.QUARANTINED,
        failed=12,
        samples=(
            _row(102, "A-100102", order_id="A-100102", customer_id=None, email="***"),
            FailedRow(
                file="country=FR/part-00003.parquet",
                partition="country=FR",
                values={"order_id": "A-200417", "customer_id": None, "note": "à rappeler 📞"},
            ),
        ),
    )


def _test_orders() -> CheckResult:
    return a_result(
        a_check(
            "no_test_orders",
            text="email NOT LIKE '%@test.invalid'",
            on_fail=OnFail.DROP,
            allow_null=True,
            key_path="quality.checks[3]",
        ),
        outcome=Outcome.DROPPED,
        failed=3,
        samples=(_row(55, "A-100055", order_id="A-100055", email="***"),),
    )


def _row(row: int, key: str, **values: str | None) -> FailedRow:
    return FailedRow(
        file="country=DE/part-00001.parquet",
        row=row,
        partition="country=DE",
        key=key,
        values=values,
    )


def _columns() -> tuple[ColumnFigures, ...]:
    figures = (
        ("order_id", "string", 0, ROWS),
        ("customer_id", "bigint", 12, 81_220),
        ("amount", "decimal(12,2)", 0, 41_873),
        ("currency", "string", 0, 3),
        ("status", "string", 0, 5),
        ("ordered_at", "timestamp", 0, 301_904),
        ("shipped_at", "timestamp", 35_334, 287_015),
        ("email", "string", 168_902, 79_846),
        ("coupon", "string", ROWS, 0),
        ("country", "string", 0, 9),
    )
    return tuple(
        ColumnFigures(name=name, type=type_, rows=ROWS, nulls=nulls, distinct=distinct)
        for name, type_, nulls, distinct in figures
    )
