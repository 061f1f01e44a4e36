"""One test of a spec: the pipeline itself, over a few rows, in its own folder and session."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.engine.prepare import PlanningContext, Request, prepare_loaded
from framework.engine.quarantine.datasets import datasets
from framework.engine.quarantine.record import read_record
from framework.engine.runner import run
from framework.engine.spec_tests import result
from framework.engine.spec_tests.rows import (
    ReadySpecTest,
    with_lent_types,
    write_file,
    write_partitions,
)
from framework.engine.spec_tests.values import arrow_type
from framework.engine.tasks import InProcessTasks
from framework.errors import AuditFailedError, FrameworkError, PlanError
from framework.hudi.table.layout import META_COLUMNS, PROPERTIES, MetaField
from framework.plan.definition import Plan
from framework.plan.load_stages import load_request
from framework.plan.refusals import Fault, refuse
from framework.plan.spec_tests.stand_in import StandIn, stand_in
from framework.plan.target import target_of
from framework.spark.checking.checker import SparkChecker
from framework.spark.jobs import run_job
from framework.spark.loading.frames import open_input
from framework.spark.loading.preview import SparkInput
from framework.spark.reading.jvm import Jvm
from framework.spark.reading.snapshot import read
from framework.spark.spec_tests.recorder import WatchedChecker, WatchedInput, arrow_rows
from framework.spark.task_faults import typed
from framework.spec.sections.pipeline_spec import PipelineSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["MASTER", "run_spec_test", "session_of", "start_settings", "write_source"]

_PARQUET: Final = "parquet"
_TIMES: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_BEATEN: Final[Mapping[str, Mapping[str, str]]] = {
    "csv": _TIMES,
    "json": {**_TIMES, "ignoreNullFields": "false"},
}
"""Options that preserve all values; those of the spec override them."""

_FIXED: Final = {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
"""Space is kept, so that the reader's options decide."""

_TASKS: Final = InProcessTasks(2)
_READ: Final = frozenset({"written", "table_after"})


def write_source(spark: SparkSession, ready: ReadySpecTest, place: StandIn) -> None:
    """Write the input rows to where the spec under test reads them.

    Parquet is written here, other formats by Spark with the options of the source, in one job.
    Without rows there is an empty folder.
    """
    if not ready.given.num_rows:
        Path(place.source).mkdir(parents=True, exist_ok=True)
        return
    if place.format == _PARQUET and not ready.folders:
        write_file(ready.given, place.source)
        return
    path = write_file(ready.given, f"{place.folder}/given")
    frame = spark.read.parquet(f"file:{path}")
    work = partial(_write, frame, ready, place)
    run_job(spark.sparkContext, "rows of a test", work)


def _write(frame: DataFrame, ready: ReadySpecTest, place: StandIn) -> None:
    fixed = {name.lower() for name in _FIXED}
    said = {n: value for n, value in place.options.items() if n.lower() not in fixed}
    options = {**_BEATEN.get(place.format, {}), **said, **_FIXED}
    writer = frame.write.format(place.format).options(**options)
    if ready.folders:
        writer = writer.partitionBy(*ready.folders)
    writer.save(f"file:{place.source}")


def run_spec_test(
    spark: SparkSession, spec: PipelineSpec, ready: ReadySpecTest, folder: Path
) -> result.SpecTestResult:
    """Return the result of a test; neither the spec's table nor its source is touched.

    Files are written by threads of this process; Spark reads the source, runs transforms and
    checks, and reads the table afterwards. An error is reported and not raised.

    Args:
        spark: the session, which stays unchanged.
        spec: the spec of the test.
        ready: the test.
        folder: absolute, empty and kept.
    """
    begun = time.monotonic()
    try:
        unmet, found = _tried(spark, spec, ready, str(folder))
    except FrameworkError as error:
        seconds = time.monotonic() - begun
        return result.SpecTestResult(name=ready.test.name, seconds=seconds, error=error)
    return result.SpecTestResult(
        name=ready.test.name,
        seconds=time.monotonic() - begun,
        reasons=unmet,
        differences=found,
    )


def _tried(
    spark: SparkSession, spec: PipelineSpec, ready: ReadySpecTest, folder: str
) -> tuple[tuple[str, ...], tuple[result.Difference, ...]]:
    """Return the differences from the expected result.

    Raises:
        FrameworkError: the run failed other than at the audit gate, or the test itself is faulty.
    """
    place = stand_in(spec, folder, has_rows_before=ready.before is not None)
    faults: list[Fault] = []
    _write_input(spark, place, ready)
    if place.opening is not None:
        lent = _loaded_types(spark, place, ready)
        ready = with_lent_types(ready, lent, faults, has_all=place.keeps_columns)
        if faults:
            refuse(faults, spec.positions)
        _open_table(place, place.opening, ready)
    happened = _happened(spark, place, ready)
    unmet = tuple(result.reasons(ready.test, happened))
    found = tuple(result.differences(ready.test, happened, faults))
    if faults:
        refuse(faults, spec.positions)
    return unmet, found


def _loaded_types(
    spark: SparkSession, place: StandIn, ready: ReadySpecTest
) -> dict[str, pa.DataType]:
    """Return the types of the input columns that a table supports; reads no rows."""
    request = load_request(place.spec)
    if request is None or request.input is None or not ready.given.num_rows:
        return {}
    frame = open_input(spark, request.input)
    found = {}
    for name, text in zip(frame.columns, Jvm(frame.sparkSession).type_texts(frame), strict=True):
        with suppress(ValueError):
            found[name] = arrow_type(text)
    return found


def _open_table(place: StandIn, opening: PipelineSpec, ready: ReadySpecTest) -> None:
    """Create the table with its rows before the run.

    Raises:
        PlanError: `tests/no-table`.
    """
    rows = result.NO_ROWS if ready.before is None else ready.before
    try:
        if place.opens_by_bootstrap:
            target = target_of(opening)
            fields = target.key_rule.partition
            write_partitions(rows, place.opening_source, fields, target.layout)
        else:
            write_file(rows, place.opening_source)
        with _planned(opening, place) as plan:
            run(plan, _TASKS)
    except FrameworkError as error:
        raise PlanError(
            "tests/no-table",
            f"the rows of `table` cannot become a table: {error.message} [{error.condition}]",
            where=opening.positions.where(f"{ready.test.path}.table"),
            remedy="Write rows that are valid in the table, with unique keys.",
        ) from error


def _write_input(spark: SparkSession, place: StandIn, ready: ReadySpecTest) -> None:
    """Write the input rows."""
    if not place.begins:
        write_source(spark, ready, place)
        return
    target = target_of(place.spec)
    write_partitions(ready.given, place.source, target.key_rule.partition, target.layout)


def _happened(spark: SparkSession, place: StandIn, ready: ReadySpecTest) -> result.Happened:
    """Execute the run and return the parts of its outcome that the test checks."""
    reader = WatchedInput(SparkInput(spark))
    checker = WatchedChecker(spark, SparkChecker(spark))
    asked, refusal, instant = set(ready.test.expected), None, None
    with _planned(place.spec, place) as plan:
        try:
            if plan.has_changes:
                instant = run(plan, _TASKS, reader=reader, checker=checker).instant
        except AuditFailedError as error:
            came_in = ready.given if reader.rows is None else reader.rows
            by_key = result.refused_rows(error, plan.target.key_rule, came_in)
            refusal = result.Refusal(
                words=f"{error.message} [{error.condition}]",
                names=result.refusing_names(error),
                rows=by_key if by_key.num_columns else _together(checker.rejected),
            )
        location = plan.target.quality.quarantine
    written, after = (
        _read(spark, place, instant) if asked & _READ else (result.NO_ROWS, result.NO_ROWS)
    )
    rows = {
        "written": written,
        "table_after": after,
        "quarantined": _quarantine(location, place, instant) if location else result.NO_ROWS,
        "rejected": refusal.rows if refusal else result.NO_ROWS,
    }
    return result.Happened(rows=rows, refusal=refusal)


@contextmanager
def _planned(spec: PipelineSpec, place: StandIn) -> Iterator[Plan]:
    """Yield the plan of a run."""
    with TemporaryDirectory(dir=place.folder) as scratch:
        planning = PlanningContext(tasks=_TASKS, scratch=Path(scratch))
        yield prepare_loaded(spec, Request(path=spec.source_path), planning).plan


def _read(spark: SparkSession, place: StandIn, instant: str | None) -> tuple[pa.Table, pa.Table]:
    """Return the rows of an instant and all rows of the table, without meta columns."""
    if not Path(place.location, PROPERTIES).exists():
        return result.NO_ROWS, result.NO_ROWS
    rows = arrow_rows(read(spark, place.location))
    data = rows.drop_columns(list(META_COLUMNS))
    if instant is None:
        return data.slice(0, 0), data
    return data.filter(pc.equal(rows[MetaField.COMMIT_TIME.value], instant)), data


def _quarantine(location: str, place: StandIn, instant: str | None) -> pa.Table:
    """Return the rows that a run quarantined, with the rules that they fail."""
    found = [
        each
        for each in datasets(read_record(place.location), (location,))
        if each.instant == instant
    ]
    return _together([pq.read_table(path) for each in found for path in each.files])


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of all tables; a column that a table lacks is null."""
    some = [each for each in tables if each.num_columns]
    return pa.concat_tables(some, promote_options="permissive") if some else result.NO_ROWS


MASTER: Final = "local[2]"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_QUICK: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "2",
}
_QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Compile little and collect with one thread: half of the CPU if everything runs a few times."""


def start_settings(confs: Sequence[Mapping[str, str]], given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings to start with, for specs with `confs` and a caller with `given`.

    The caller's override ours, which override the specs'; of two specs the first one counts, unless
    the setting can differ per session.
    """
    theirs = {key: value for conf in reversed(confs) for key, value in conf.items()}
    settings = {**theirs, **_QUICK, **given}
    java = settings.get(_JAVA_OPTIONS, "")
    if "-XX:" not in java:  # Java does not start with two collectors
        java = f"{_QUICK_JAVA} {java}".strip()
    return {**settings, _JAVA_OPTIONS: java}


def session_of(
    spark: SparkSession,
    conf: Mapping[str, str],
    given: Mapping[str, str],
    others: Sequence[Mapping[str, str]],
) -> SparkSession:
    """Return a session for one spec, with its own settings and without those of other specs.

    Settings that a running session cannot change keep their values, and so do those that the caller
    has `given`. `others` may contain the spec's own settings too.
    """
    fixed = {*_QUICK, *given}
    with typed():
        session = Jvm(spark).own_session({})
        for key in sorted({key for other in (*others, conf) for key in other} - fixed):
            if session.conf.isModifiable(key):
                session.conf.set(key, conf[key]) if key in conf else session.conf.unset(key)
    return session
