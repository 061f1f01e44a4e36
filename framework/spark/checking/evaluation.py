"""All checks over the rows of one frame: predicates and aggregates in one pass, then the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, Final, TypeVar

import numpy as np
from pyspark import SparkContext
from pyspark.sql import DataFrame, Row
from pyspark.sql.functions import col, expr, lit

from framework.engine.audit.subject import Judged, Looking
from framework.engine.audit.verdicts import outcome_of
from framework.engine.results import REDACTED, CheckResult, ColumnFigures, FailedRow
from framework.errors import FrameworkError, TaskError
from framework.hudi.table.layout import META_COLUMNS, MetaField
from framework.plan.quality.model import Check
from framework.spark.checking.check_validation import query_frame
from framework.spark.checking.places import Placed
from framework.spark.checking.predicates import Counted, Pass, bad_sql, counting
from framework.spark.jobs import run_job
from framework.spark.reading.adopted import FILE, ROW
from framework.spark.reading.columns import quoted
from framework.spark.reading.jvm import Jvm
from framework.vocabulary import CheckKind

__all__ = ["bad_rows", "judge_frame", "naming_checks", "place_in_source", "query_rows"]


_COLUMNS: Final = 12
_TEXT: Final = 200
_NAMED: Final = (
    MetaField.RECORD_KEY.value,
    MetaField.PARTITION_PATH.value,
    MetaField.FILE_NAME.value,
)

Result = TypeVar("Result")
_ONE_PASS: Final = frozenset({CheckKind.EXPECT, CheckKind.EXPECT_AGGREGATE})
_SEED: Final = 0


def bad_rows(
    placed: Placed, check: Check, limit: int, redacted: Collection[str]
) -> tuple[FailedRow, ...]:
    """Return at most `limit` rows that fail a predicate, with the columns that it names.

    Costs the jobs that Spark needs to collect these rows.
    """
    if limit < 1:
        return ()
    frame = placed.frame
    jvm = Jvm(frame.sparkSession)
    with jvm.speaking():
        is_bad = expr(bad_sql(check))
    bad = frame.where(is_bad)
    mentioned = jvm.mentioned(frame.select(is_bad))
    names = [name for name in frame.columns if name in set(mentioned) - {FILE, ROW}]
    shown = names[:_COLUMNS]
    texts = [expr(f"cast({name} as string)") for name in quoted(shown)]
    meta = [col(name) if name in frame.columns else lit(None).alias(name) for name in _NAMED]
    rows = bad.select(*meta, col(FILE), col(ROW), *texts).limit(limit).collect()
    return tuple(_row(each, shown, placed, redacted) for each in rows)


def query_rows(frame: DataFrame, limit: int, redacted: Collection[str]) -> tuple[FailedRow, ...]:
    """Return at most `limit` rows of a query, with their first columns."""
    if limit < 1:
        return ()
    chosen = [name for name in dict.fromkeys(frame.columns) if name not in META_COLUMNS][:_COLUMNS]
    names = chosen or frame.columns[:_COLUMNS]
    numbered = frame.toDF(*(f"c{at}" for at in range(len(frame.columns))))
    places = [frame.columns.index(name) for name in names]
    rows = numbered.select(*(expr(f"cast(c{at} as string)") for at in places)).limit(limit)
    return tuple(FailedRow(values=_values(each, names, redacted)) for each in rows.collect())


def _row(row: Row, names: Sequence[str], placed: Placed, redacted: Collection[str]) -> FailedRow:
    """Return one bad row; if its source file is unknown, with the file that it is written to.

    With redacted columns the key is hidden, because it may be built from them.
    """
    key, partition, written, file, place = row[:5]
    return FailedRow(
        file=placed.origins.get(file, "") if file else written or "",
        row=place if file not in placed.gone else place_in_source(place, placed.gone[file]),
        partition=partition or "",
        key=REDACTED if redacted and key is not None else key,
        values=_values(row[5:], names, redacted),
    )


def place_in_source(place: int, gone: str) -> int:
    """Return a row's position in its source file, which also has the rows listed in `gone`."""
    left_out = np.fromfile(gone, np.int64)
    before = left_out - np.arange(left_out.size)  # remaining rows before each
    return place + int(np.searchsorted(before, place, side="right"))


def _values(
    texts: Sequence[str | None], names: Sequence[str], redacted: Collection[str]
) -> dict[str, str | None]:
    hidden = {name.lower() for name in redacted}
    return {
        name: _shown(text, hides=name.lower() in hidden)
        for name, text in zip(names, texts, strict=True)
    }


def _shown(text: str | None, *, hides: bool) -> str | None:
    """Return a text for display: hidden if redacted, truncated if long."""
    if text is None or len(text) <= _TEXT:
        return REDACTED if hides and text is not None else text
    return REDACTED if hides else f"{text[:_TEXT]}…"


def judge_frame(
    placed: Placed, checks: Sequence[Check], how: Looking, figures: Sequence[str] = ()
) -> Judged:
    """Return the results of checks over the rows of a frame, in their order.

    Costs one Spark job for all predicates, aggregates and figures, one for each query, one suite of
    Great Expectations, and a short one for the samples of each check with bad rows.

    Args:
        placed: the rows.
        checks: of any kind.
        how: the share of the rows to check, and what to show of bad ones.
        figures: columns whose figures are reported.

    Raises:
        TaskError: `audit/check-not-run`, with every faulty check.
    """
    if how.fraction < 1:
        # PySpark 4 drops the seed if the fraction is passed by position.
        frame = placed.frame.sample(fraction=how.fraction, seed=_SEED)
        placed = replace(placed, frame=frame)
    judging = _Judging(placed=placed, how=how)
    counted = [each for each in checks if each.kind in _ONE_PASS]
    found: dict[str, CheckResult] = {}
    rows, columns = 0, tuple[ColumnFigures, ...]()
    if counted or figures:
        passed = judging.passed(counted, figures)
        rows, columns = passed.rows, passed.columns
        found |= {each.name: judging.of_pass(each, passed.checks[each.name]) for each in counted}
    for check in checks:
        if check.kind is CheckKind.QUERY:
            found[check.name] = judging.of_query(check, rows)
    found |= {each.check.name: each for each in judging.of_expectations(checks)}
    results = tuple(replace(found[each.name], fraction=how.fraction) for each in checks)
    return Judged(results=results, columns=columns, rows=rows)


def naming_checks(
    work: Callable[[], Result], checks: Sequence[Check], alone: Callable[[Check], object]
) -> Result:
    """Return the result of `work`; if it fails, run each check alone and name the faulty ones.

    Raises:
        TaskError: `audit/check-not-run`.
        FrameworkError: as of `work`, if each check alone succeeds.
    """
    try:
        return work()
    except TaskError as error:
        faults = [(check, fault) for check in checks if (fault := _fault(alone, check))]
        if not faults:
            raise
        described = "\n  and ".join(
            f"`{check.name}` ({check.text}): {fault}" for check, fault in faults
        )
        raise TaskError(
            "audit/check-not-run",
            f"a check could not run, so it neither passed nor failed: {described}",
            remedy="Nothing was published. Correct the check, for example with `try_cast`.",
        ) from error


def _fault(alone: Callable[[Check], object], check: Check) -> str:
    """Return why a check fails when run alone, "" if it does not."""
    try:
        alone(check)
    except FrameworkError as error:
        return error.message.partition("each of its attempts: ")[2] or error.message
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judging:
    """The checks over one frame."""

    placed: Placed
    how: Looking

    @property
    def _context(self) -> SparkContext:
        """The context that runs the jobs."""
        return self.placed.frame.sparkSession.sparkContext

    def passed(self, checks: Sequence[Check], figures: Sequence[str]) -> Pass:
        """Return counts of predicates, aggregates and figures."""

        def counts(some: Sequence[Check], columns: Sequence[str] = ()) -> Pass:
            work = partial(counting, self.placed.frame, some, columns)
            return run_job(self._context, f"{len(some)} checks", work)

        return naming_checks(partial(counts, checks, figures), checks, lambda one: counts([one]))

    def of_pass(self, check: Check, counted: Counted) -> CheckResult:
        """Return the result of a predicate or an aggregate."""
        samples: tuple[Any, ...] = ()
        if check.kind is CheckKind.EXPECT and counted.failed:
            quality = self.how.quality
            work = partial(bad_rows, self.placed, check, quality.samples, quality.redacted)
            samples = run_job(self._context, f"bad rows of {check.name}", work)
        return CheckResult(
            check=check,
            outcome=outcome_of(check, counted.failed, counted.looked_at),
            rows=counted.looked_at,
            failed=counted.failed,
            nulls=counted.nulls,
            observed=counted.observed,
            samples=samples,
        )

    def of_query(self, check: Check, rows: int) -> CheckResult:
        """Return the result of a query, which returns the bad rows."""
        begun = time.monotonic()
        quality, seen = self.how.quality, self.placed.frame.drop(FILE, ROW)

        def look() -> tuple[int, tuple[Any, ...]]:
            bad = query_frame(seen, check)
            failed = bad.count()
            samples = query_rows(bad, quality.samples, quality.redacted) if failed else ()
            return failed, samples

        def job(_: Check) -> tuple[int, tuple[Any, ...]]:
            return run_job(self._context, f"query of {check.name}", look)

        failed, samples = naming_checks(lambda: job(check), [check], job)
        return CheckResult(
            check=check,
            outcome=outcome_of(check, failed, rows),
            rows=rows,
            failed=failed,
            samples=samples,
            seconds=time.monotonic() - begun,
        )

    def of_expectations(self, checks: Sequence[Check]) -> Sequence[CheckResult]:
        """Return the results of all expectations, run as one suite."""
        chosen = [each for each in checks if each.kind is CheckKind.GX]
        if not chosen:
            return ()
        quality = self.how.quality
        module = import_module("framework.spark.checking.expectations")  # takes seconds to import
        run: Callable[..., tuple[CheckResult, ...]] = module.run_expectations
        frame = self.placed.frame.drop(FILE, ROW)
        return run(frame, chosen, samples=quality.samples, redacted=quality.redacted)
