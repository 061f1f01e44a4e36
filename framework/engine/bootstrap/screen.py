"""The step of a bootstrap that validates the checks and excludes rows.

A skeleton matches its source row for row, so a file that loses rows is written in full, in the same
instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from framework.engine.audit.screen import NOTHING, ExcludedRows, Screened, ScreenPlace, screen
from framework.engine.audit.subject import InputRows
from framework.engine.bootstrap.begin import Begun
from framework.engine.bootstrap.duplicates import KeyedFiles, losers
from framework.engine.bootstrap.job import WorkRange, table_schemas, work_ranges
from framework.engine.run.inspection import needed_checker, understand_checks
from framework.engine.run.state import RunContext, RunState, quarantine_place
from framework.hudi.bootstrap.inventory import read_files
from framework.hudi.table.layout import join
from framework.plan.definition import Plan
from framework.plan.stages import Screen
from framework.plan.words import count_text
from framework.vocabulary import BootstrapMode

__all__ = ["screen_source", "with_gone"]


def screen_source(run: RunState, begun: Begun, stage: Screen | None) -> Screened:
    """Validate the checks; find the rows to exclude, none without a stage.

    Raises:
        PlanError: `quality/bad-sql`.
        NotYetBuiltError: `quality/needs-spark`.
        AuditFailedError: `audit/too-many-set-aside`, `audit/over-budget`.
        TaskError: `audit/check-not-run`.
    """
    screened, ctx = NOTHING, run.ctx
    if stage is None:
        return screened
    with run.stage(stage) as report:
        schema, _ = table_schemas(ctx.plan)
        understand_checks(ctx, stage.quality, schema)
        if stage.splitting or stage.keeps_one:
            screened = _screened(ctx, begun, stage)
        words = [f"{count_text(stage.checks, 'check')} validated"]
        if screened.rows:
            words.append(f"{count_text(screened.quarantined, 'row')} quarantined")
            words += [f"{screened.dropped:,} dropped"] if screened.dropped else []
            words.append(f"{count_text(len(screened.gone), 'file')} to be written in full")
        report.summary = ", ".join(words)
    return screened


def with_gone(ranges: Iterable[WorkRange], gone: Mapping[int, ExcludedRows]) -> Iterator[WorkRange]:
    """Yield the ranges; each file that loses rows becomes a range of its own, written in full."""
    losing = sorted(gone)
    for each in ranges:
        start = each.start
        for number in losing:
            if not start <= number < each.stop:
                continue
            if start < number:
                yield replace(each, start=start, stop=number)
            yield replace(
                each,
                start=number,
                stop=number + 1,
                mode=BootstrapMode.FULL_RECORD,
                gone=gone[number].path,
            )
            start = number + 1
        if start < each.stop:
            yield replace(each, start=start)


def _screened(ctx: RunContext, begun: Begun, stage: Screen) -> Screened:
    checker, intent, plan = needed_checker(ctx), begun.intent, ctx.plan
    numbers, paths, partitions = _files(plan, begun)
    rule = plan.target.key_rule
    schema, _ = table_schemas(plan)
    rows = InputRows(
        numbers=numbers,
        paths=[f"{plan.source}/{path}" for path in paths],
        partition_paths=partitions,
        schema=schema,
        partition=rule.partition,
        layout=rule.layout,
    )
    place = ScreenPlace(
        storage=ctx.storage,
        folder=join(intent.staging.root, "screen"),
        quarantine=quarantine_place(ctx, intent),
        run_id=intent.write_id,
        instant=intent.requested_time,
        total=plan.taken.rows,
        origins=dict(zip(numbers, paths, strict=True)),
    )
    duplicates = partial(_losers, ctx, begun) if stage.keeps_one else None
    return screen(checker, rows, stage.quality, place, duplicates)


def _losers(ctx: RunContext, begun: Begun, gone: Mapping[int, ExcludedRows]) -> pa.Table:
    """Return the rows that lose to others with their key."""
    plan = ctx.plan
    ordering = plan.target.ordering
    files = KeyedFiles(
        source=begun.job.keys,
        ranges=work_ranges(plan.partitions),
        schema=plan.schema,
        ordering=ordering[0] if ordering else None,
    )
    folder = join(begun.intent.staging.root, "screen", "keys")
    return losers(ctx.tasks, files, ctx.storage, folder, gone)


def _files(plan: Plan, begun: Begun) -> tuple[Sequence[int], Sequence[str], Sequence[str]]:
    """Return number, path and partition path of each adopted file."""
    numbers: list[int] = []
    paths: list[str] = []
    partitions: list[str] = []
    for each in work_ranges(plan.partitions):
        for file in read_files(begun.job.keys.inventory, each.start, each.stop):
            numbers.append(file.number)
            paths.append(file.fingerprint.path)
            partitions.append(file.partition_path)
    return numbers, paths, partitions
