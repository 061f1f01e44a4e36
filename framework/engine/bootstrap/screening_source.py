"""The stage of a bootstrap that has the checks understood, and takes out what does not get in.

A skeleton matches its source row for row, so a file that loses rows is written in full, in the same
instant.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from framework.engine.audit.screening import NOTHING, Screened, ScreenPlace, screen
from framework.engine.audit.subject import InputRows
from framework.engine.bootstrap.course import begun_job, table_schemas, work_ranges
from framework.engine.bootstrap.duplicates import KeyedFiles, losers
from framework.engine.inspecting import needed_checker, understand_checks
from framework.engine.quarantine.settling import place_for_rows_aside
from framework.hudi.bootstrap.inventory import read_files
from framework.hudi.table.layout import join
from framework.plan.words import count_text
from framework.vocabulary import FileKind, OnDuplicate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from framework.engine.audit.screening import Gone
    from framework.engine.audit.subject import Checker
    from framework.engine.bootstrap.job import WorkRange
    from framework.engine.course import Course, Run

__all__ = ["screen_source", "with_gone"]


def screen_source(work: Run, course: Course) -> Course:
    """Have the checks understood; find the rows that do not get in.

    Raises:
        PlanError: `quality/bad-sql`.
        NotYetBuiltError: `quality/needs-spark`.
        AuditFailedError: `audit/too-many-set-aside`, `audit/over-budget`.
        TaskError: `audit/check-not-run`.
    """
    schema, _ = table_schemas(work.plan)
    understand_checks(work, schema)
    screened = NOTHING
    if work.plan.target.quality.splitting or _keeps_one(work):
        screened = _screened(work, course, needed_checker(work))
    words = [f"{count_text(len(work.plan.target.quality.checks), 'check')} understood"]
    if screened.rows:
        words.append(f"{count_text(screened.quarantined, 'row')} set aside")
        words += [f"{screened.dropped:,} dropped"] if screened.dropped else []
        words.append(f"{count_text(len(screened.gone), 'file')} to be written in full")
    return replace(course, screened=screened, summary=", ".join(words))


def with_gone(ranges: Iterable[WorkRange], gone: Mapping[int, Gone]) -> Iterator[WorkRange]:
    """Yield the ranges, in which each file that loses rows is one of its own, written in full."""
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
                kind=FileKind.FULL.value,
                gone=gone[number].path,
            )
            start = number + 1
        if start < each.stop:
            yield replace(each, start=start)


def _screened(work: Run, course: Course, checker: Checker) -> Screened:
    """Find the rows that do not get in."""
    transaction, _ = begun_job(course)
    intent, quality = transaction.intent, work.plan.target.quality
    numbers, paths, partitions = _files(work, course)
    rule = work.plan.target.key_rule
    schema, _ = table_schemas(work.plan)
    rows = InputRows(
        numbers=numbers,
        paths=[f"{work.plan.source}/{path}" for path in paths],
        partition_paths=partitions,
        schema=schema,
        partition=rule.partition,
        layout=rule.layout,
    )
    place = ScreenPlace(
        storage=work.storage,
        folder=join(intent.staging.root, "screen"),
        aside=place_for_rows_aside(work, course),
        run_id=intent.write_id,
        instant=intent.requested_time,
        total=work.plan.taken.rows,
        origins=dict(zip(numbers, paths, strict=True)),
    )
    if not _keeps_one(work):
        return screen(checker, rows, quality, place)
    return screen(checker, rows, quality, place, partial(_losers, work, course))


def _keeps_one(work: Run) -> bool:
    """Whether of rows with one key all but one are taken out."""
    target = work.plan.target
    is_chosen = target.on_duplicate is OnDuplicate.REWRITE_FILES
    return is_chosen and not target.key_rule.is_automatic


def _losers(work: Run, course: Course, gone: Mapping[int, Gone]) -> pa.Table:
    """Return the rows that give way to others with their key."""
    transaction, job = begun_job(course)
    ordering = work.plan.target.ordering
    files = KeyedFiles(
        source=job.key_source,
        ranges=work_ranges(work.plan.partitions),
        schema=work.plan.schema,
        ordering=ordering[0] if ordering else None,
    )
    folder = join(transaction.intent.staging.root, "screen", "keys")
    return losers(work.tasks, files, work.storage, folder, gone)


def _files(work: Run, course: Course) -> tuple[Sequence[int], Sequence[str], Sequence[str]]:
    """Return number, path and partition path of each file that is taken."""
    _, job = begun_job(course)
    numbers: list[int] = []
    paths: list[str] = []
    partitions: list[str] = []
    for each in work_ranges(work.plan.partitions):
        for file in read_files(job.key_source.handle, each.start, each.stop):
            numbers.append(file.number)
            paths.append(file.fingerprint.path)
            partitions.append(file.partition_path)
    return numbers, paths, partitions
