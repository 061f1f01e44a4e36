"""The engine's reader and checker, recorded: the rows that were read, and those refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.pandas.types import to_arrow_schema

from framework.engine.audit import subject
from framework.engine.results import CheckResult
from framework.engine.run.state import InputReader, PinnedInput
from framework.plan.load import InputRequest
from framework.plan.quality.model import Check
from framework.spark.checking.check_validation import query_frame
from framework.spark.checking.places import checking_session
from framework.spark.checking.predicates import bad_sql
from framework.spark.checking.written import WrittenFrames
from framework.spark.jobs import run_job
from framework.spark.reading.adopted import FILE, ROW
from framework.spark.reading.columns import quoted
from framework.vocabulary import CheckedRows, CheckKind, Outcome

__all__ = ["WatchedChecker", "WatchedInput", "arrow_rows"]


def arrow_rows(frame: DataFrame) -> pa.Table:
    """Return all rows of a small frame; one Spark job."""
    context = frame.sparkSession.sparkContext

    def collect() -> Any:
        if hasattr(DataFrame, "toArrow"):
            return frame.toArrow()
        older: Any = frame
        batches = older._collect_as_arrow()  # noqa: SLF001  PySpark 3.5 has no other way
        return pa.Table.from_batches(batches) if batches else _empty(frame)

    return run_job(context, "rows of a test", collect)


def _empty(frame: DataFrame) -> pa.Table:
    return to_arrow_schema(frame.schema).empty_table()


class WatchedInput:
    """A reader that records the rows of another; `rows` is None before the first read."""

    def __init__(self, reader: InputReader) -> None:
        self._reader = reader
        self.rows: pa.Table | None = None

    def stage(self, request: InputRequest, folder: str) -> PinnedInput:
        """Write the rows of a request as Parquet files into a new local folder."""
        found = self._reader.stage(request, folder)
        tables = [pq.read_table(path) for path in found.paths]
        self.rows = pa.concat_tables(tables) if tables else None
        return found


class WatchedChecker:
    """A checker that records the bad rows of another's failed checks, in `rejected`."""

    def __init__(self, spark: SparkSession, checker: subject.Checker) -> None:
        self._spark = spark
        self._checker = checker
        self.rejected: list[pa.Table] = []

    def understand(self, schema: pa.Schema, checks: Sequence[Check]) -> None:
        """Refuse checks that cannot run on rows of a schema."""
        self._checker.understand(schema, checks)

    def find_bad(
        self, rows: subject.InputRows, checks: Sequence[Check], folder: str
    ) -> Mapping[str, int]:
        """Write the positions of rows that fail some check into a new folder."""
        return self._checker.find_bad(rows, checks, folder)

    def quarantine(self, rows: subject.InputRows, work: subject.QuarantineWork) -> None:
        """Write the rows at given positions into a new folder."""
        self._checker.quarantine(rows, work)

    def judge(self, rows: subject.WrittenRows, how: subject.Looking) -> subject.Judged:
        """Return the results of the checks, after recording the bad rows of failed ones."""
        judged = self._checker.judge(rows, how)
        failed = [each for each in judged.results if each.outcome is Outcome.FAILED]
        if failed:
            frames = WrittenFrames(checking_session(self._spark), rows)
            for over, make in (
                (CheckedRows.WRITTEN, frames.written),
                (CheckedRows.TABLE, frames.table),
            ):
                some = [each for each in failed if each.check.over is over]
                if some:
                    self.rejected += _bad_tables(make().frame, some, rows.schema)
        return judged


def _bad_tables(
    frame: DataFrame, failed: Sequence[CheckResult], schema: pa.Schema
) -> Iterator[pa.Table]:
    """Yield the bad rows of checks: those of all predicates together, each once, then others."""
    predicates = [each.check for each in failed if each.check.kind is CheckKind.EXPECT]
    if predicates:
        bad = " or ".join(bad_sql(check) for check in predicates)
        yield arrow_rows(frame.where(expr(bad)).select(*quoted(schema.names)))
    for result in failed:
        if result.check.kind is CheckKind.QUERY:
            yield arrow_rows(query_frame(frame.drop(FILE, ROW), result.check))
        elif result.check.kind is CheckKind.GX:
            yield _of_samples(result, schema)


def _of_samples(result: CheckResult, schema: pa.Schema) -> pa.Table:
    """Return the samples of a result, in the table's types."""
    names = dict.fromkeys(name for row in result.samples for name in row.values)
    columns: dict[str, Any] = {}
    for name in names:
        texts = pa.array([row.values.get(name) for row in result.samples], pa.string())
        at = schema.get_field_index(name)
        columns[name] = texts if at < 0 else texts.cast(schema.field(at).type)
    return pa.table(columns)
