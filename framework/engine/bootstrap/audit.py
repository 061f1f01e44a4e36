"""The gate of a bootstrap: every planned file was written, no row is lost, keys are unique."""

from __future__ import annotations

from framework.engine.audit.gate import AuditPlace, audit
from framework.engine.audit.screen import Screened
from framework.engine.audit.subject import WrittenRows
from framework.engine.bootstrap.begin import Begun
from framework.engine.bootstrap.job import table_schemas
from framework.engine.run.inspection import Intake, inspect_rows, report_passed
from framework.engine.run.state import RunContext, RunState
from framework.errors import CorruptFileError, Where
from framework.hudi.commit.statuses import AuditedFiles, WrittenFiles
from framework.hudi.table.layout import join
from framework.plan.stages import AuditBootstrap

__all__ = ["audit_bootstrap"]


def audit_bootstrap(
    run: RunState, begun: Begun, screened: Screened, written: WrittenFiles, stage: AuditBootstrap
) -> AuditedFiles:
    """Prove the keys of all written files, and run the checks.

    Raises:
        AuditFailedError: keys are null or occur twice, or a check fails.
        CorruptFileError: `bootstrap/file-count`, `audit/rows-differ`, or see
            `read_back`.
    """
    ctx = run.ctx
    with run.stage(stage) as report:
        _refuse_loss(ctx.storage.location, screened, written, stage)
        intake = Intake(rows=stage.rows, screened=screened)
        place = AuditPlace(
            table=ctx.storage.location,
            folder=join(begun.intent.staging.spill, "audit"),
            keys=begun.job.keys,
            depth=stage.quality.depth,
        )
        inspection = inspect_rows(
            run, stage.quality, intake, _subject(ctx, begun, screened, written, stage)
        )
        audited = audit(ctx.tasks, written, place, inspection=inspection, events=ctx.events)
        proof = audited.proof
        report.summary = f"{proof['rows']:,} keys unique and not null ({proof['method']})"
        report_passed(run, intake, audited, inspection)
    return audited


def _subject(
    ctx: RunContext, begun: Begun, screened: Screened, written: WrittenFiles, stage: AuditBootstrap
) -> WrittenRows:
    """Return the rows that the checks see."""
    rule, (schema, _) = stage.rule, table_schemas(ctx.plan)
    return WrittenRows(
        table=ctx.storage.location,
        segments=written.segments,
        schema=schema,
        partition=rule.partition,
        layout=rule.layout,
        instant=begun.intent.requested_time,
        source=ctx.plan.source,
        key_rule=rule,
        completed=begun.intent.completed.file_name,
        gone={number: each.path for number, each in screened.gone.items()},
    )


def _refuse_loss(
    table: str, screened: Screened, written: WrittenFiles, stage: AuditBootstrap
) -> None:
    """Raise if other files or rows were written than planned."""
    if written.files != stage.files:
        raise CorruptFileError(
            "bootstrap/file-count",
            f"{stage.files} files were planned, {written.files} were written",
            where=Where(table=table),
            remedy="Nothing was published. Run again with --fresh.",
        )
    if written.rows + screened.rows != stage.rows:
        raise CorruptFileError(
            "audit/rows-differ",
            f"the source has {stage.rows:,} rows, {written.rows:,} were written and"
            f" {screened.rows:,} excluded",
            where=Where(table=table),
            remedy="Nothing was published. Run again with --fresh.",
        )
