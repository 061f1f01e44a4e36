"""The engine's checker on a Spark session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t
from pyspark.sql.functions import broadcast, coalesce, col, expr, lit

from framework.engine.audit.subject import InputRows, Judged, Looking, QuarantineWork, WrittenRows
from framework.engine.quarantine.record import ORIGINAL_FILE, ORIGINAL_ROW
from framework.engine.results import CheckResult, ColumnFigures
from framework.hudi.keygen.spark_sql import quote_literal
from framework.plan.quality.model import Check
from framework.plan.release import INSTANT, RULES, RUN_ID
from framework.spark.checking.check_validation import refuse_unclear
from framework.spark.checking.evaluation import judge_frame, naming_checks
from framework.spark.checking.places import Placed, checking_session, input_frame
from framework.spark.checking.predicates import bad_sql, counting
from framework.spark.checking.written import WrittenFrames
from framework.spark.jobs import run_job
from framework.spark.reading.adopted import FILE, ROW
from framework.spark.reading.columns import META_SCHEMA, constants, quoted, struct_of
from framework.spark.reading.files import hadoop_path, plain_path
from framework.spark.reading.jvm import Jvm
from framework.spark.task_faults import typed
from framework.vocabulary import CheckedRows

__all__ = ["SparkChecker"]

_PLACE: Final = t.StructType(
    [
        *(t.StructField(name, t.LongType()) for name in ("number", "row", "mask")),
        t.StructField(ORIGINAL_FILE, t.StringType()),
        t.StructField(ORIGINAL_ROW, t.LongType()),
    ]
)
_AT: Final = tuple(f"_lakestrap_at_{each.name}" for each in _PLACE)
_NUMBER, _MASK, _TEXT, _ORIGIN = (
    f"_lakestrap_{name}" for name in ("number", "mask", "text", "origin")
)


class SparkChecker:
    """Checks rows in a session of its own, so that the caller's stays unchanged."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def understand(self, schema: pa.Schema, checks: Sequence[Check]) -> None:
        """Refuse checks that cannot run on rows of a schema; reads no rows.

        Raises:
            PlanError: `quality/bad-sql`, with every faulty check.
        """
        session = checking_session(self._spark)
        columns = t.StructType([*META_SCHEMA, *struct_of(schema)])
        with typed():
            frame = session.createDataFrame([], columns)
        refuse_unclear(frame, checks)

    def find_bad(self, rows: InputRows, checks: Sequence[Check], folder: str) -> Mapping[str, int]:
        """Write the positions of rows that fail some check into a new folder, as Parquet files.

        Returns the number of rows that each check with a `where` applies to. Costs one Spark job
        over the columns that the checks name, and one more over those of checks with a `where`.

        Raises:
            TaskError: `audit/check-not-run`.
        """
        session = checking_session(self._spark)
        placed = input_frame(session, rows)
        bits = [
            f"(case when {bad_sql(check)} then {1 << at}L else 0L end)"
            for at, check in enumerate(checks)
        ]
        with typed(), Jvm(session).speaking():
            masked = placed.frame.select(FILE, ROW, expr(" + ".join(bits)).alias(_MASK))
            found = _numbered(masked.where(col(_MASK) != 0), placed)
            chosen = found.select(
                col(_NUMBER).alias("number"), col(ROW).alias("row"), col(_MASK).alias("mask")
            )

        def alone(check: Check) -> object:
            return self._job("one check", partial(counting, placed.frame, [check]))

        writing = partial(self._job, "rows to remove", partial(_write, chosen, folder))
        naming_checks(writing, checks, alone)
        narrow = [each for each in checks if each.where is not None]
        if not narrow:
            return {}
        looking = partial(counting, placed.frame, narrow)
        passed = run_job(self._spark.sparkContext, "rows that checks apply to", looking)
        return {name: each.looked_at for name, each in passed.checks.items()}

    def quarantine(self, rows: InputRows, work: QuarantineWork) -> None:
        """Write the rows at given positions into a new folder, as Parquet files.

        The columns are those of the rows, then `_lakestrap_rules` (names), `_lakestrap_run_id`,
        `_lakestrap_instant`, `_lakestrap_file` and `_lakestrap_row` (from 0); rows that are
        quarantined again keep the last two. Costs one Spark job.
        """
        session = checking_session(self._spark)
        placed = input_frame(session, rows)
        with typed():
            reader = session.read.schema(_PLACE).option("__globPaths__", "false")
            places = reader.parquet(hadoop_path(work.positions)).toDF(*_AT)
            numbered = _numbered(placed.frame, placed, dict(work.origins))
            same = (col(_NUMBER) == col(_AT[0])) & (col(ROW) == col(_AT[1]))
            taken = numbered.join(broadcast(places), same)
            rules = ", ".join(
                f"if({_mask_has(at)}, {quote_literal(name)}, null)"
                for at, name in enumerate(work.rules)
            )
            chosen = taken.select(
                *quoted(rows.schema.names),
                expr(f"filter(array({rules}), r -> r is not null)").alias(RULES),
                lit(work.run_id).alias(RUN_ID),
                lit(work.instant).alias(INSTANT),
                coalesce(_AT[3], _ORIGIN).alias(FILE),
                coalesce(_AT[4], ROW).alias(ROW),
            )
        self._job("quarantined rows", partial(_write, chosen, work.folder))

    def judge(self, rows: WrittenRows, how: Looking) -> Judged:
        """Return the results of the checks.

        Raises:
            TaskError: `audit/check-not-run`, with every faulty check.
        """
        frames = WrittenFrames(checking_session(self._spark), rows)
        judged: dict[str, CheckResult] = {}
        columns: tuple[ColumnFigures, ...] = ()
        for over, make in (
            (CheckedRows.WRITTEN, frames.written),
            (CheckedRows.TABLE, frames.table),
        ):
            checks = [each for each in how.quality.checks if each.over is over]
            has_figures = how.figures and over is CheckedRows.WRITTEN
            if checks or has_figures:
                figures = rows.schema.names if has_figures else []
                with typed():
                    placed = make()
                found = judge_frame(placed, checks, how, figures)
                judged |= {each.check.name: each for each in found.results}
                columns = found.columns or columns
        results = tuple(judged[each.name] for each in how.quality.checks)
        return Judged(results=results, columns=columns)

    def _job(self, what: str, work: object) -> object:
        """Run jobs that can be interrupted."""
        return run_job(self._spark.sparkContext, what, work)  # type: ignore[arg-type]


def _numbered(frame: DataFrame, placed: Placed, origins: dict[int, str] | None = None) -> DataFrame:
    """Return rows with the number of their file, and with its name if `origins` are given."""
    texts = {
        _TEXT: list(placed.numbers),
        _NUMBER: [str(number) for number in placed.numbers.values()],
    }
    if origins is not None:
        texts[_ORIGIN] = [origins[number] for number in placed.numbers.values()]
    known = constants(frame.sparkSession, texts)
    known = known.withColumn(_NUMBER, col(_NUMBER).cast("bigint"))
    return frame.join(broadcast(known), col(FILE) == col(_TEXT))


def _mask_has(bit: int) -> str:
    return f"({_AT[2]} & {1 << bit}L) != 0"


def _write(frame: DataFrame, folder: str) -> None:
    """Write a frame to a new folder, in which only committed files are visible."""
    frame.write.mode("error").parquet(hadoop_path(plain_path(folder)))
