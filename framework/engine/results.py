"""The results of a run's checks: frozen values that every form of report is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from framework.plan.quality.model import Check
from framework.vocabulary import Outcome

__all__ = ["REDACTED", "AuditReport", "CheckResult", "ColumnFigures", "FailedRow", "Fate"]

REDACTED: Final = "***"
"""Stands for values that are never shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRow:
    """One bad row, for people.

    Attributes:
        file: the source file, or the written file where the source is not known; "" for rows that
            a query made.
        row: its place in the file, from 0; None where that is not known.
        partition: its partition path; "" in unpartitioned tables.
        key: its record key, None where that is not known.
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
        outcome: its.
        rows: rows that it looked at.
        failed: bad rows; of an aggregate 1 or 0.
        nulls: those of `failed` for which the predicate was null.
        observed: what an aggregate or an expectation found, as text; None for other kinds.
        samples: a few of the bad rows, in no set order; fewer than `failed` where there are more.
        seconds: time it took alone; 0.0 where several share one pass.
        fraction: share of the rows that was looked at, 1.0 unless a sample was asked for.
        expectation: an expectation's own result, as Great Expectations gives it, JSON-ready.
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
    """What became of a run's input: `input` is the sum of the others."""

    input: int
    published: int
    quarantined: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """All that one gate found.

    Attributes:
        table: `[database.]table`.
        location: of the table.
        subject: what was checked, such as `bootstrap`, `upsert`, `table` or `source`.
        instant: requested time of the instant, None where nothing was to be published.
        run_id: the run.
        at: when the gate ended, UTC, as in `2026-11-22T09:30:00Z`.
        keys: the proof of the keys, empty where it was not asked for or not found.
        refusal: what refused the run, as of an error's JSON; empty where nothing did.
        checks: in the order of the spec.
        columns: figures of columns; empty where no report asked for them.
        fate: what became of the input's rows, None where nothing was to be published.
        timings: seconds by stage, as far as the run came.
        seconds: wall time of the run, as its commit says; None where nothing was published.
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
        """Seconds of the run; of one that published nothing, those of its stages."""
        return sum(self.timings.values()) if self.seconds is None else self.seconds

    @property
    def passed(self) -> bool:
        """Whether nothing refuses the run: no check failed, and no key."""
        return not self.refusal and all(each.outcome is not Outcome.FAILED for each in self.checks)
