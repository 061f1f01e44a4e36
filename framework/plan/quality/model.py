"""The checks of the gate besides keys, as the spec defines them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from framework.vocabulary import AuditDepth, CheckedRows, CheckKind, OnFail

__all__ = ["MAX_SPLITTING", "Budget", "Check", "ColumnContract", "Quality"]

MAX_SPLITTING: Final = 62
"""Limit on the checks that exclude rows: each is one bit of a long, as are excluded duplicates."""

_SPLITS: Final = frozenset({OnFail.QUARANTINE, OnFail.DROP})


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The bad rows that a check allows: `rows`, or a `share` of the rows that it checks.

    `share` is None if `rows` counts; it is above 0 and below 1.
    """

    rows: int = 0
    share: float | None = None

    def allows(self, failed: int, looked_at: int) -> bool:
        """Return whether `failed` bad rows are within the budget, bound included."""
        return failed <= (self.rows if self.share is None else self.share * looked_at)

    def __str__(self) -> str:
        """Return the budget as a spec writes it."""
        return str(self.rows) if self.share is None else f"{self.share * 100:g}%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check.

    Attributes:
        name: unique in the spec; case makes no difference.
        kind: what `text` is.
        text: a Spark SQL predicate, one over aggregates, a query, or an expectation's name.
        on_fail: effect of bad rows; for kinds other than `EXPECT` only `ABORT` and `WARN`.
        over: which rows it checks.
        budget: bad rows that are allowed.
        where: predicate of the rows that an `EXPECT` checks; None for all.
        allow_null: whether a predicate may be null; else null counts as failed.
        arguments: of an expectation, as written.
        key_path: its place in the spec or in the project file.
    """

    name: str
    kind: CheckKind
    text: str
    on_fail: OnFail = OnFail.ABORT
    over: CheckedRows = CheckedRows.WRITTEN
    budget: Budget = field(default_factory=Budget)
    where: str | None = None
    allow_null: bool = False
    arguments: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    key_path: str = ""

    @property
    def splits(self) -> bool:
        """Whether bad rows are excluded before anything is written."""
        return self.on_fail in _SPLITS


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnContract:
    """The contract of one column, which the table must then have.

    Attributes:
        name: the column's name, as written.
        type: Spark SQL type in its normal text (`decimal(10,2)`); None if not declared.
        nullable: whether it may be null.
        allowed: the only allowed values, as written; empty for any.
        key_path: its place in the spec.
    """

    name: str
    type: str | None = None
    nullable: bool = True
    allowed: tuple[str | int | float | bool, ...] = ()
    key_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """All checks of a spec.

    Attributes:
        checks: those of the column contract first, then those of profiles, then the spec's own,
            in order.
        quarantine: location of the data set of quarantined rows; None if no check quarantines.
        max_ratio: share of the input, from 0 to 1, that may be quarantined and dropped together;
            more refuses the run. The bound itself is allowed.
        samples: bad rows that are shown per check.
        redacted: columns whose values are never shown.
        columns: the column contract; its rules on values are among the checks too.
        depth: which stored files are opened again before anything is published.
    """

    checks: tuple[Check, ...] = ()
    quarantine: str | None = None
    max_ratio: float = 1.0
    samples: int = 5
    redacted: tuple[str, ...] = ()
    columns: tuple[ColumnContract, ...] = ()
    depth: AuditDepth = AuditDepth.SAMPLE

    @property
    def splitting(self) -> tuple[Check, ...]:
        """The checks that exclude rows before anything is written."""
        return tuple(each for each in self.checks if each.splits)
