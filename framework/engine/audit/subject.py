"""The rows that a gate checks, and the port of the engine that checks them."""

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
    """Input rows, before any of them is written.

    Attributes:
        numbers: of the files, ascending; reports identify rows by them.
        paths: absolute, in the same order.
        partition_paths: in the same order; of folders that stand for columns, else all "".
        schema: the columns of the rows, those of folders included.
        partition: the columns that folders stand for, in order; empty if files have all columns.
        layout: how folders encode them.
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
        layout: how folders encode them.
        instant: requested time of the write; other rows of the files are older.
        source: root of the files behind skeletons; None without skeletons.
        key_rule: the source of skeletons' keys; None without skeletons.
        slices: how log files are read; None without log files.
        completed: file name of the completed instant.
        replaced: file ids that the commit hides, by partition path.
        exists: whether the table existed before.
        gone: path in the table of the places of excluded rows of a source file, by its number.
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
    """How rows are checked.

    Attributes:
        quality: all checks.
        figures: whether nulls and distinct values of each column are reported too.
        fraction: share of the rows to check, 1.0 for all; less is for people, never for a gate.
    """

    quality: Quality
    figures: bool = False
    fraction: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The results of all checks, in their order.

    Attributes:
        results: one per check.
        columns: figures of each column; empty if not requested.
        rows: number of written rows.
    """

    results: tuple[CheckResult, ...] = ()
    columns: tuple[ColumnFigures, ...] = ()
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineWork:
    """Where rows are quarantined, and what is recorded with each.

    Attributes:
        positions: path of a Parquet file of `number`, `row` and `mask`, sorted by the first two;
            rows that are quarantined again also have the file and row of the first time,
            `original_file` and `original_row`.
        rules: a rule's name for each bit of a mask, from the lowest.
        folder: absolute; it is created.
        run_id: of the run.
        instant: of the write.
        origins: the name of each numbered file, for reports.
    """

    positions: str
    rules: tuple[str, ...]
    folder: str
    run_id: str
    instant: str
    origins: Mapping[int, str]


class Checker(Protocol):
    """Checks rows by SQL."""

    def understand(self, schema: pa.Schema, checks: Sequence[Check]) -> None:
        """Raise for checks that cannot run on rows of a schema; reads no rows.

        Raises:
            PlanError: `quality/bad-sql`, with every check at fault.
        """
        ...

    def find_bad(self, rows: InputRows, checks: Sequence[Check], folder: str) -> Mapping[str, int]:
        """Write the places of rows that fail some check into a new folder, as Parquet files.

        Columns are `number`, `row` (from 0 in its file) and `mask`, whose bit n is set if check n
        failed; each row occurs once, in no defined order. Returns, by name, how many rows a check
        covers, for the checks that do not cover all.

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
