"""What the gate checks beside keys, as the spec asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from framework.vocabulary import CheckedRows, CheckKind, OnFail

__all__ = ["MAX_SPLITTING", "Budget", "Check", "ColumnContract", "Quality"]

MAX_SPLITTING: Final = 62
"""Checks that may take rows out: each is a bit of a long, and so are rows that give way."""

_SPLITS: Final = frozenset({OnFail.QUARANTINE, OnFail.DROP})


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How many bad rows a check allows: so many, or this share of the rows that it looks at.

    `share` is None where `rows` counts; it is above 0 and below 1.
    """

    rows: int = 0
    share: float | None = None

    def allows(self, failed: int, looked_at: int) -> bool:
        """Whether so many bad rows are within the budget; the bound itself is."""
        return failed <= (self.rows if self.share is None else self.share * looked_at)

    def __str__(self) -> str:
        """As a spec writes it."""
        return str(self.rows) if self.share is None else f"{self.share * 100:g}%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check.

    Attributes:
        name: unique in the spec; case makes no difference.
        kind: what `text` is.
        text: a Spark SQL predicate, one over aggregates, a query, or an expectation's name.
        on_fail: what bad rows do; of all kinds but `EXPECT` only `ABORT` and `WARN`.
        over: which rows it sees.
        budget: bad rows that are allowed.
        where: predicate of the rows that an `EXPECT` looks at, None for all.
        allow_null: whether a predicate may be null; else null counts as failed.
        arguments: of an expectation, as written.
        key_path: where it stands, in the spec or in the project file.
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
        """Whether bad rows are taken out before anything is written."""
        return self.on_fail in _SPLITS


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnContract:
    """What the spec says of one column, which must then be in the table.

    Attributes:
        name: the column's name, as written.
        type: Spark SQL type in its normal text (`decimal(10,2)`), None where nothing is said.
        nullable: whether it may be null.
        allowed: the only values that it may have, as written; empty for any.
        key_path: where it stands.
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
        quarantine: location of the data set of quarantined rows, None where no check can do so.
        max_ratio: share of the input, from 0 to 1, that may be quarantined and dropped together;
            more refuses the run. The bound itself is allowed.
        samples: bad rows that are shown for each check.
        redacted: columns whose values are never shown.
        columns: the column contract; what it says of values is among the checks too.
    """

    checks: tuple[Check, ...] = ()
    quarantine: str | None = None
    max_ratio: float = 1.0
    samples: int = 5
    redacted: tuple[str, ...] = ()
    columns: tuple[ColumnContract, ...] = ()

    @property
    def splitting(self) -> tuple[Check, ...]:
        """The checks that take rows out before anything is written."""
        return tuple(each for each in self.checks if each.splits)
