"""Rows changed between two points of a table's history, each record once, in its latest state."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from framework.engine.reading.table import Table, open_table
from framework.errors import PlanError
from framework.hudi.filegroup.slices import FileSlice
from framework.hudi.table.layout import MetaField
from framework.hudi.timeline.clock import Moment, instant_of
from framework.spark.reading.snapshot import Reading, absolute, rows_of
from framework.vocabulary import Verify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read_incremental"]

_SEQUENCE: Final = re.compile(r"([0-9]{14,17})_([0-9]+)_([0-9]+)")
_START: Final = "0"


def read_incremental(  # noqa: PLR0913 - keywords of the public surface
    spark: SparkSession,
    location: str | Path,
    begin: Moment | None = None,
    end: Moment | None = None,
    *,
    partition: str | None = None,
    verify: Verify = Verify.STAT,
) -> DataFrame:
    """Return the rows that were written after `begin` and not after `end`.

    Each record appears once, as of `end`; records deleted since are excluded. The columns are those
    of `read`; order by `_hoodie_commit_time` and continue from the greatest. A bound may also be a
    `_hoodie_commit_seqno`, inside a commit, to read the rows of a commit in parts.

    Costs as `read`, for the file slices that were written to after `begin`; if only log files were
    written to a slice since, the file below the logs is not scanned.

    Args:
        spark: the session.
        location: the table's base path.
        begin: an instant, a date or time, or a sequence number; exclusive. None: the beginning.
        end: likewise; inclusive. None: the latest commit.
        partition: as of `read`.
        verify: as of `read`.

    Raises:
        PlanError: `read/window-ends-first`, or see `read`.
        UnsupportedTableError: `read/no-meta-columns`, or see `read`.
        SourceDriftError, CorruptFileError, NotYetBuiltError: see `read`.
    """
    place = absolute(location)
    last = _sequence(end)
    table = open_table(place, last[1] if last else end)
    table.require_meta_columns("which rows a commit wrote")
    low = _bound(begin, table) if begin is not None else _Bound(instant=_START)
    high = _bound(end, table) if end is not None else None
    if high is not None and high.instant < low.instant:
        raise PlanError(
            "read/window-ends-first",
            f"the window starts at {low.instant} and ends at {high.instant}",
            remedy="Give the earlier bound first.",
        )

    def below(found: FileSlice) -> bool:
        return low.may_precede(found.base_instant)

    def wanted(found: FileSlice) -> FileSlice | None:
        return found if found.logs or below(found) else None

    how = Reading(partition=partition, verify=verify, wanted=wanted, below=below)
    rows = rows_of(spark, table, how)
    rows = rows.where(low.sql(after=True))
    return rows.where(high.sql(after=False)) if high else rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    """A point of the history: an instant, or a row inside of one.

    Attributes:
        instant: of a commit, which need not exist.
        row: split and row number of a sequence number, None for the end of the instant.
    """

    instant: str
    row: tuple[int, int] | None = None

    def may_precede(self, instant: str) -> bool:
        """Return whether a base file of an instant may contain rows after this bound."""
        return instant > self.instant or (instant == self.instant and self.row is not None)

    def sql(self, *, after: bool) -> str:
        """Return the condition for rows after the bound, or for the rest."""
        time = MetaField.COMMIT_TIME
        sign = ">" if after else "<="
        if self.row is None:
            return f"{time} {sign} '{self.instant}'"
        parts = f"split({MetaField.COMMIT_SEQNO}, '_')"
        number = f"struct(cast({parts}[1] as bigint), cast({parts}[2] as bigint))"
        inside = f"{number} {sign} struct({self.row[0]}L, {self.row[1]}L)"
        other = f"{time} {sign[0]} '{self.instant}'"
        return f"{other} or ({time} = '{self.instant}' and {inside})"


def _sequence(moment: Moment | None) -> re.Match[str] | None:
    """Return the parts of a sequence number, None for any other moment."""
    return _SEQUENCE.fullmatch(moment) if isinstance(moment, str) else None


def _bound(moment: Moment, table: Table) -> _Bound:
    """Return the bound for a moment or a sequence number."""
    found = _sequence(moment)
    if found:
        return _Bound(instant=found[1], row=(int(found[2]), int(found[3])))
    instant = instant_of(moment, table.timeline, table.properties.timezone)
    return _Bound(instant=instant)
