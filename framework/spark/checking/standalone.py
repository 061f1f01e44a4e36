"""The audit gate alone: on a table, or on the input of a run; writes to neither."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import expr

from framework.engine.audit.subject import InputRows, Looking
from framework.engine.audit.verdicts import as_screened, refusal_of
from framework.engine.bootstrap.job import table_schemas, work_ranges
from framework.engine.load.input_columns import input_columns, input_footers
from framework.engine.prepare import PlanningContext, Prepared
from framework.engine.reading.table import open_table
from framework.engine.results import AuditReport
from framework.engine.run.state import PinnedInput
from framework.engine.source_checks import prove_source
from framework.errors import AuditFailedError, PlanError, Where
from framework.hudi.bootstrap.inventory import read_files
from framework.hudi.commit.staging import new_write_id
from framework.hudi.table.layout import META_COLUMNS, MetaField
from framework.plan.definition import Plan
from framework.plan.target import Target
from framework.spark.checking.check_validation import refuse_unclear
from framework.spark.checking.evaluation import judge_frame
from framework.spark.checking.places import Placed, checking_session, input_frame, without_places
from framework.spark.jobs import run_job
from framework.spark.loading.preview import SparkInput
from framework.spark.reading.adopted import FILE, ROW
from framework.spark.reading.columns import quoted
from framework.spark.reading.snapshot import Reading, rows_of
from framework.vocabulary import KeyScope, WriteOperation

__all__ = ["check_source", "check_table"]

_SHOWN = 5
_COUNT = "_lakestrap_count"
_REFUSES_DUPLICATES = frozenset(
    {WriteOperation.INSERT, WriteOperation.BULK_INSERT, WriteOperation.INSERT_OVERWRITE}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """The rows to check: their label, the rows, and the proof of their keys."""

    word: str
    placed: Placed
    prove: Callable[[], Mapping[str, object]]


def check_table(
    spark: SparkSession, target: Target, *, figures: bool = False, fraction: float = 1.0
) -> AuditReport:
    """Return the gate's report on the current rows of a table.

    Every check reads all rows. Keys are grouped, which shuffles all of them; for a sample they are
    not checked.

    Raises:
        PlanError: `quality/bad-sql`; or as of `read`.
        TaskError: `audit/check-not-run`.
    """
    session = checking_session(spark)
    table = open_table(target.location)
    table.require_meta_columns("counting keys")
    frame = rows_of(session, table, Reading())
    rule = target.key_rule
    columns = [MetaField.RECORD_KEY.value]
    if rule.scope is KeyScope.PARTITION:
        columns.append(MetaField.PARTITION_PATH.value)
    prove = partial(_grouped_keys, frame, target, columns)
    subject = _Subject(word="table", placed=Placed(frame=without_places(frame)), prove=prove)
    return _report(target, subject, figures=figures, fraction=fraction)


def check_source(
    spark: SparkSession,
    prepared: Prepared,
    planning: PlanningContext,
    *,
    figures: bool = False,
    fraction: float = 1.0,
) -> AuditReport:
    """Return the gate's report on the rows that a run would load now.

    For a check that removes rows, bad rows are reported and do not refuse the run. Input other than
    plain Parquet is written to the scratch folder first, as in a run. Columns are compared with the
    table's.

    Raises:
        PlanError: `check/no-source`, `quality/bad-sql`; or as of `open_input` or `input_columns`.
        TaskError: `audit/check-not-run`.
    """
    plan = prepared.plan
    rows = _load_rows(spark, plan, planning) or _source_rows(plan)
    if rows is None:
        raise PlanError(
            "check/no-source",
            "a run would load nothing now: there is no source, or all of it is loaded",
            where=Where(table=plan.target.location),
            remedy="Omit --source to check the table.",
        )
    placed = input_frame(checking_session(spark), rows)
    prove: Callable[[], Mapping[str, object]] = partial(prove_source, plan, planning)
    if plan.load is not None:
        refuses = plan.load.operation in _REFUSES_DUPLICATES
        columns = list(plan.target.key_rule.record_key) if refuses else []
        prove = partial(_grouped_keys, placed.frame, plan.target, columns)
    subject = _Subject(word="source", placed=placed, prove=prove)
    return _report(plan.target, subject, figures=figures, fraction=fraction)


def _load_rows(spark: SparkSession, plan: Plan, planning: PlanningContext) -> InputRows | None:
    """Return the rows that a load would read, or None."""
    load = plan.load
    request = load.request if load else None
    if load is None or request is None or not plan.stages:
        return None
    if request.is_plain_parquet and request.files is not None:
        pinned = PinnedInput(paths=request.files)
    else:
        pinned = SparkInput(spark, planning.events).stage(request, str(planning.scratch / "input"))
    footers = input_footers(pinned.paths)
    table = None if load.creates else open_table(plan.target.location)
    columns = input_columns(plan.target, table, load, (pinned, footers))
    return InputRows(
        numbers=[each.number for each in footers.files],
        paths=[each.path for each in footers.files],
        partition_paths=[""] * len(footers.files),
        schema=columns.found,
    )


def _source_rows(plan: Plan) -> InputRows | None:
    """Return the rows that a bootstrap would read, or None."""
    if plan.inventory is None or plan.source is None or not plan.taken.files:
        return None
    numbers: list[int] = []
    paths: list[str] = []
    partitions: list[str] = []
    for each in work_ranges(plan.partitions):
        for file in read_files(plan.inventory, each.start, each.stop):
            numbers.append(file.number)
            paths.append(f"{plan.source}/{file.fingerprint.path}")
            partitions.append(file.partition_path)
    rule = plan.target.key_rule
    return InputRows(
        numbers=numbers,
        paths=paths,
        partition_paths=partitions,
        schema=table_schemas(plan)[0],
        partition=rule.partition,
        layout=rule.layout,
    )


def _report(target: Target, subject: _Subject, *, figures: bool, fraction: float) -> AuditReport:
    """Return the report on keys and checks."""
    shown = subject.placed.frame.drop(FILE, ROW)
    refuse_unclear(shown, target.quality.checks)
    looking = Looking(quality=target.quality, figures=figures, fraction=fraction)
    columns = [name for name in shown.columns if name not in META_COLUMNS] if figures else []
    judged = judge_frame(subject.placed, target.quality.checks, looking, columns)
    results = judged.results
    if subject.word == "source":
        results = tuple(map(as_screened, results))
    keys: Mapping[str, object] = {}
    refusal = None
    try:
        keys = subject.prove() if fraction >= 1 else {}
    except AuditFailedError as error:
        refusal = error
    refusal = refusal or refusal_of(results, target.location)
    return AuditReport(
        table=target.name,
        location=target.location,
        subject=subject.word,
        instant=None,
        run_id=new_write_id(),
        at=datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        keys=keys,
        refusal={**refusal.as_json(), "report": refusal.report} if refusal else {},
        checks=results,
        columns=judged.columns,
    )


def _grouped_keys(frame: DataFrame, target: Target, columns: Sequence[str]) -> Mapping[str, object]:
    """Return the proof that values of some columns are unique and not null; shuffles them.

    Raises:
        AuditFailedError: `audit/duplicate-keys`, `audit/null-keys`.
    """
    if not columns:
        return {}
    context = frame.sparkSession.sparkContext
    names = quoted(columns)

    def count() -> tuple[int, int, int, list[Row]]:
        missing = " or ".join(f"{name} is null" for name in names)
        grouped = frame.groupBy(*names).agg(expr("count(1)").alias(_COUNT))
        counted = grouped.agg(
            expr(f"coalesce(sum({_COUNT}), 0)").alias("rows"),
            expr(f"coalesce(sum(if({missing}, {_COUNT}, 0)), 0)").alias("nulls"),
            expr(f"count_if({_COUNT} > 1 and not ({missing}))").alias("groups"),
        ).collect()[0]
        repeated = grouped.where(f"{_COUNT} > 1 and not ({missing})")
        shown = repeated.limit(_SHOWN).collect() if counted["groups"] else []
        return counted["rows"], counted["nulls"], counted["groups"], shown

    rows, nulls, groups, shown = run_job(context, "keys", count)
    rule = target.key_rule
    common: dict[str, object] = {"columns": list(rule.record_key), "scope": rule.scope.value}
    if nulls:
        raise AuditFailedError(
            "audit/null-keys",
            f"{nulls:,} rows have no value, or only part of one, for ({', '.join(columns)})",
            report={"check": "null-keys", **common, "rows": nulls},
            where=Where(table=target.location),
            remedy="Correct these rows.",
        )
    if groups:
        samples = [{"key": _key_text(row, columns), "count": row[_COUNT]} for row in shown]
        raise AuditFailedError(
            "audit/duplicate-keys",
            f"{groups:,} record keys occur more than once;"
            f" for example {samples[0]['key']}, {samples[0]['count']:,} times",
            report={"check": "duplicate-keys", **common, "groups": groups, "samples": samples},
            where=Where(table=target.location),
            remedy="Correct these rows.",
        )
    return {
        **common,
        "unique": groups == 0,
        "not_null": nulls == 0,
        "method": "grouped",
        "rows": rows,
    }


def _key_text(row: Row, columns: Sequence[str]) -> str:
    return ", ".join(str(row[name]) for name in columns)
