"""The report's JSON: its members as types, from which its JSON Schema is made as well.

Members are only added while `report_version` stays the same. A member that does not apply is null,
never absent.
"""

from __future__ import annotations

from typing import Literal, TypedDict

__all__ = [
    "BudgetDocument",
    "CheckDocument",
    "ColumnDocument",
    "FateDocument",
    "ReportDocument",
    "SampleDocument",
]


class BudgetDocument(TypedDict):
    """Bad rows that are allowed: a share where `share` is not null, else so many."""

    rows: int
    share: float | None


class SampleDocument(TypedDict):
    """One bad row: `row` counts from 0, `values` are texts, `***` where they are redacted."""

    file: str
    row: int | None
    partition: str
    key: str | None
    values: dict[str, str | None]


class CheckDocument(TypedDict):
    """One check and what came of it.

    `meaning` is for people. `fraction` is the share of the rows that was looked at. `expectation`
    is what Great Expectations gave, empty for other kinds.
    """

    name: str
    kind: Literal["expect", "expect_aggregate", "query", "gx"]
    meaning: str
    text: str
    where: str | None
    allow_null: bool
    over: Literal["written", "table"]
    arguments: dict[str, object]
    on_fail: Literal["abort", "quarantine", "drop", "warn"]
    budget: BudgetDocument
    key_path: str
    outcome: Literal["passed", "failed", "warned", "quarantined", "dropped"]
    rows: int
    failed: int
    nulls: int
    observed: str | None
    fraction: float
    seconds: float
    samples: list[SampleDocument]
    expectation: dict[str, object]


class ColumnDocument(TypedDict):
    """One column of the rows that were checked; `distinct` is an estimate."""

    name: str
    type: str
    rows: int
    nulls: int
    distinct: int


class FateDocument(TypedDict):
    """What became of the input: `input` is the sum of the others, unless the run was refused."""

    input: int
    published: int
    quarantined: int
    dropped: int


class ReportDocument(TypedDict):
    """All that one gate found; `keys` is the proof of the keys, empty where there is none."""

    report_version: Literal[1]
    verdict: Literal["published", "passed", "refused", "failed"]
    passed: bool
    sentence: str
    table: str
    location: str
    subject: str
    instant: str | None
    run_id: str
    at: str
    keys: dict[str, object]
    refusal: dict[str, object]
    checks: list[CheckDocument]
    columns: list[ColumnDocument]
    fate: FateDocument | None
    timings: dict[str, float]
    seconds: float | None
