"""Which rows a gate looks at, and the port through which an engine of queries does so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

import pyarrow as pa

from framework.engine.reading.slice_rows import SliceTable
from framework.engine.results import CheckResult, ColumnFigures
from framework.hudi.commit.segments import SegmentRef
from framework.hudi.keygen.rule import KeyRule
from framework.hudi.table.partition_path import PartitionField
from framework.plan.quality.model import Check, Quality
from framework.vocabulary import SourceLayout

__all__ = ["Checker", "InputRows", "Judged", "Looking", "QuarantineWork", "WrittenRows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRows:
    """Rows that come in, before anything is written of them.

    Attributes:
        numbers: of the files, ascending; rows are reported by them.
        paths: absolute, in step.
        partition_paths: in step; of folders that stand for columns, else all "".
        schema: the columns of the rows, those of folders included.
        partition: the columns that folders stand for, in order; empty where files hold all columns.
        layout: how folders say them.
    """

    numbers: Sequence[int]
    paths: Sequence[str]
    partition_paths: Sequence[str]
    schema: pa.Schema
    partition: tuple[PartitionField, ...] = ()
    layout: SourceLayout | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRows:
    """Rows of files that are written and not published.

    Attributes:
        table: location of the table.
        segments: statuses of the files.
        schema: the table's columns after the write, without meta columns.
        partition: the partition columns.
        layout: how folders say them.
        instant: requested time of the write; other rows of the files are older.
        source: root of the files behind skeletons, None where there are none.
        key_rule: where there are skeletons, which have their keys from it.
        slices: how log files are read, None where there are none.
        completed: file name that the completed instant will have.
        replaced: file ids that the commit hides, by partition path.
        exists: whether there was a table before.
        gone: path in the table of the places of rows that were left out of a source file, by its
            number.
    """

    table: str
    segments: tuple[SegmentRef, ...]
    schema: pa.Schema
    partition: tuple[PartitionField, ...]
    layout: SourceLayout
    instant: str
    source: str | None = None
    key_rule: KeyRule | None = None
    slices: SliceTable | None = None
    completed: str = ""
    replaced: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    exists: bool = False
    gone: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """How rows are looked at.

    Attributes:
        quality: all checks.
        figures: whether nulls and distinct values of each column are reported as well.
        fraction: share of the rows to look at, 1.0 for all; less is for people, never for a gate.
    """

    quality: Quality
    figures: bool = False
    fraction: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The results of all checks, in their order.

    Attributes:
        results: one for each check.
        columns: figures of each column, empty where they were not asked for.
        rows: rows written.
    """

    results: tuple[CheckResult, ...] = ()
    columns: tuple[ColumnFigures, ...] = ()
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineWork:
    """Where rows that are quarantined go, and what is written beside each.

    Attributes:
        positions: path of a Parquet file of `number`, `row` and `mask`, sorted by the first two;
            rows that come a second time have the file and row of the first, `carried_file` and
            `carried_row`, as well.
        rules: a rule's name for each bit of a mask, from the lowest.
        folder: absolute; it is made.
        run_id: of the run.
        instant: of the write.
        origins: what each numbered file is called, for people.
    """

    positions: str
    rules: tuple[str, ...]
    folder: str
    run_id: str
    instant: str
    origins: Mapping[int, str]


class Checker(Protocol):
    """Looks at rows by SQL."""

    def understand(self, schema: pa.Schema, checks: Sequence[Check]) -> None:
        """Refuse checks that cannot be run on rows of a schema; reads no rows.

        Raises:
            PlanError: `quality/bad-sql`, with every check at fault.
        """
        ...

    def find_bad(self, rows: InputRows, checks: Sequence[Check], folder: str) -> Mapping[str, int]:
        """Write the places of rows that fail some check into a new folder, as Parquet files.

        Columns are `number`, `row` (from 0 in its file) and `mask`, whose bit n is set where check
        n failed; each row comes once, in no set order. Returned is, by name, how many rows those
        checks look at that do not look at all.

        Raises:
            TaskError: `audit/check-not-run`.
        """
        ...

    def quarantine(self, rows: InputRows, work: QuarantineWork) -> None:
        """Write the rows at some places into a new folder, as Parquet files."""
        ...

    def judge(self, rows: WrittenRows, how: Looking) -> Judged:
        """Return the results of the checks.

        Raises:
            TaskError: `audit/check-not-run`, with every check at fault.
        """
        ...
