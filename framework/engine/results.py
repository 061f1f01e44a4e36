"""The results of a run's checks: frozen values behind every form of report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from framework.plan.quality.model import Check
from framework.vocabulary import Outcome

__all__ = ["REDACTED", "AuditReport", "CheckResult", "ColumnFigures", "FailedRow", "Fate"]

REDACTED: Final = "***"
"""Placeholder for values that are never shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRow:
    """One bad row, for people.

    Attributes:
        file: the source file, or the written file if the source is unknown; "" for rows from a
            query.
        row: its place in the file, from 0; None if unknown.
        partition: its partition path; "" in unpartitioned tables.
        key: its record key; None if unknown.
        values: columns to their texts, null as None, redacted ones as `***`.
    """

    file: str = ""
    row: int | None = None
    partition: str = ""
    key: str | None = None
    values: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check.

    Attributes:
        check: as the spec has it.
        outcome: its outcome.
        rows: rows that it checked.
        failed: bad rows; of an aggregate 1 or 0.
        nulls: those of `failed` for which the predicate was null.
        observed: the value of an aggregate or an expectation, as text; None for other kinds.
        samples: a few of the bad rows, unordered; fewer than `failed` if there are more.
        seconds: its own time; 0.0 if several share one pass.
        fraction: share of the rows that was checked, 1.0 unless a sample was requested.
        expectation: an expectation's own result from Great Expectations, JSON-ready.
    """

    check: Check
    outcome: Outcome
    rows: int = 0
    failed: int = 0
    nulls: int = 0
    observed: str | None = None
    samples: tuple[FailedRow, ...] = ()
    seconds: float = 0.0
    fraction: float = 1.0
    expectation: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFigures:
    """One column of the rows that were checked: nulls are counted, distinct values estimated."""

    name: str
    type: str
    rows: int
    nulls: int
    distinct: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """The outcome of a run's input: `input` is the sum of the others."""

    input: int
    published: int
    quarantined: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """All findings of one gate.

    Attributes:
        table: `[database.]table`.
        location: of the table.
        subject: what was checked, such as `bootstrap`, `upsert`, `table` or `source`.
        instant: requested time of the instant; None if there was nothing to publish.
        run_id: the run.
        at: when the gate ended, UTC, as in `2026-11-22T09:30:00Z`.
        keys: the proof of the keys; empty if it was not requested or not found.
        refusal: the refusal, as an error's JSON; empty if there was none.
        checks: in the order of the spec.
        columns: figures of columns; empty if no report requested them.
        fate: the outcome of the input's rows; None if there was nothing to publish.
        timings: seconds by stage, of the stages that ran.
        seconds: wall time of the run, as in its commit; None if nothing was published.
    """

    table: str
    location: str
    subject: str
    instant: str | None
    run_id: str
    at: str
    keys: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    refusal: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    checks: tuple[CheckResult, ...] = ()
    columns: tuple[ColumnFigures, ...] = ()
    fate: Fate | None = None
    timings: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    seconds: float | None = None

    @property
    def took(self) -> float:
        """Seconds of the run; if it published nothing, those of its stages."""
        return sum(self.timings.values()) if self.seconds is None else self.seconds

    @property
    def passed(self) -> bool:
        """Whether nothing refuses the run: neither a check nor a key failed."""
        return not self.refusal and all(each.outcome is not Outcome.FAILED for each in self.checks)
