"""The last step of a bootstrap: a final source check, and the commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Final

from framework.engine.audit.keys import KeySource
from framework.engine.audit.screen import Screened
from framework.engine.bootstrap.begin import Begun
from framework.engine.bootstrap.index import StagedIndex
from framework.engine.bootstrap.job import WorkRange, source_uri, table_schemas, work_ranges
from framework.engine.quarantine.record import PLACE
from framework.engine.reading.table_memory import TableMemory, store_memory
from framework.engine.run.quiet import wait_until_quiet
from framework.engine.run.state import Committed, RunContext, RunState, name_quarantined_rows
from framework.engine.tasks import Tasks, decode, encode
from framework.hudi.bootstrap.fingerprint import Fingerprint
from framework.hudi.bootstrap.inventory import InventoryFile, read_files
from framework.hudi.bootstrap.source_file import check_folder_unchanged, check_unchanged
from framework.hudi.commit.intent import Transaction
from framework.hudi.commit.links import check_listing, link_files, place_files
from framework.hudi.commit.statuses import AuditedFiles
from framework.hudi.commit.transaction import Publication, finish, publish
from framework.hudi.storage.locations import open_storage
from framework.hudi.storage.overlap import overlapped
from framework.hudi.storage.port import Storage, uploads_of
from framework.hudi.table import layout
from framework.hudi.table.properties import new_table_properties
from framework.plan.definition import Plan
from framework.plan.facts import FACTS_KEY
from framework.plan.partitions import totals
from framework.plan.stages import CommitBootstrap
from framework.vocabulary import BootstrapMode

__all__ = ["DriftTask", "check_drift", "commit_bootstrap", "drift_task"]

_FILES_PER_TASK: Final = 10_000


def commit_bootstrap(  # noqa: PLR0913, PLR0917  the results of earlier steps
    run: RunState,
    begun: Begun,
    screened: Screened,
    audited: AuditedFiles,
    index: StagedIndex | None,
    stage: CommitBootstrap,
) -> Committed:
    """Name the files, compare the source once more, publish, clean up."""
    ctx, transaction, segments = run.ctx, begun.transaction, audited.written.segments
    with run.stage(stage) as report:
        name_quarantined_rows(ctx, begun.intent, screened)
        link_files(transaction, segments)
        made_full = _made_full(ctx.plan, screened)
        skeletons = totals(ctx.plan.of_mode(BootstrapMode.METADATA_ONLY)).files - made_full
        required = _place_index(transaction, index) if index and skeletons else ()
        wait_until_quiet(ctx.events, transaction)
        check_listing(transaction, segments)
        check_drift(ctx.tasks, begun.job.keys, work_ranges(ctx.plan.partitions))
        audited = ctx.timed(audited)
        publication = _publication(ctx, begun, audited, (made_full, required))
        instant = publish(transaction, audited, publication)
        run.stop_renewal()
        finish(transaction)
        report.summary = f"instant {instant.requested_time} published"
    return Committed(instant=instant.requested_time, audited=audited)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftTask:
    """Some files to compare with the inventory."""

    keys: KeySource
    ranges: tuple[WorkRange, ...]


def check_drift(tasks: Tasks, keys: KeySource, ranges: Sequence[WorkRange]) -> None:
    """Compare size and modification time of each file of the ranges with the inventory.

    Costs one stat per file, in a store one listing per folder; up to 10,000 files are checked here,
    more in tasks.

    Raises:
        SourceDriftError: `source/drift`; the first file found to differ.
    """
    work = [encode(DriftTask(keys=keys, ranges=tuple(part))) for part in _parts(ranges)]
    if len(work) == 1:
        drift_task(work[0])
        return
    for _ in tasks.run(drift_task, work):
        pass


def drift_task(descriptor: str) -> str:
    """Compare the files of a `DriftTask`; return an empty text.

    Raises:
        SourceDriftError: `source/drift`.
    """
    task = decode(DriftTask, descriptor)
    source = open_storage(task.keys.source)
    for each in task.ranges:
        files = read_files(task.keys.inventory, each.start, each.stop)
        for _ in overlapped(source, partial(_compare, source), _together(source, files)):
            pass
    return ""


def _together(source: Storage, files: Iterable[InventoryFile]) -> Iterator[list[Fingerprint]]:
    """Yield the files to compare by one request: in a store, those of a folder, by its listing."""
    listed = uploads_of(source) is not None
    prints = (file.fingerprint for file in files)
    for _, group in groupby(
        prints, key=lambda each: layout.parent_of(each.path) if listed else each.path
    ):
        yield list(group)


def _compare(source: Storage, files: list[Fingerprint]) -> None:
    """Compare files of one folder with the source."""
    if 1 < len(files) < _FILES_PER_TASK:
        check_folder_unchanged(source, layout.parent_of(files[0].path), files)
        return
    for file in files:  # a folder that fills tasks would be listed by each of them
        check_unchanged(source, file)


def _parts(ranges: Sequence[WorkRange]) -> Iterator[list[WorkRange]]:
    """Yield the ranges, cut and grouped into parts of at most a task's files."""
    part: list[WorkRange] = []
    room = _FILES_PER_TASK
    for each in ranges:
        start = each.start
        while start < each.stop:
            stop = min(each.stop, start + room)
            part.append(replace(each, start=start, stop=stop))
            room -= stop - start
            start = stop
            if not room:
                yield part
                part, room = [], _FILES_PER_TASK
    if part:
        yield part


def _publication(
    ctx: RunContext, begun: Begun, audited: AuditedFiles, made: tuple[int, tuple[str, ...]]
) -> Publication:
    """Store the table's memory and return the contents of the commit besides its files.

    `made` is the number of planned skeletons that were written in full, and the paths that the
    commit requires.
    """
    (made_full, required), plan = made, ctx.plan
    intent, target = begun.intent, plan.target
    _, avro = table_schemas(plan)
    facts = plan.facts(write_id=intent.write_id, instant=intent.requested_time)
    facts = replace(facts, skeletons=facts.skeletons - made_full, full=facts.full + made_full)
    described = json.loads(facts.as_json()) | {
        "key_rule": target.key_rule.as_json(),
        "files": plan.taken.files,
    }
    described_text = json.dumps(described, sort_keys=True, ensure_ascii=False)
    place = audited.proof.get(PLACE)
    memory = TableMemory(
        bootstrap=described_text,
        key_rule=target.key_rule,
        immutable=facts.immutable,
        places=(str(place),) if place else (),
    )
    properties = new_table_properties(
        target.name,
        target.table_type,
        key_properties=target.key_rule.properties(),
        ordering_field=target.ordering[0] if target.ordering else None,
        bootstrap_base_path=source_uri(plan) if required else None,
    )
    return Publication(
        extra={
            "schema": json.dumps(avro),
            FACTS_KEY: described_text,
            "lakestrap.spec": target.spec_json,
            **store_memory(ctx.storage, intent, memory),
        },
        properties=properties.render(),
        required=required,
    )


def _made_full(plan: Plan, screened: Screened) -> int:
    """Return how many files of `metadata_only` partitions lose rows, and so are full."""
    partitions = plan.of_mode(BootstrapMode.METADATA_ONLY)
    ranges = [(each.first, each.stop) for each in partitions]
    return sum(any(a <= number < b for a, b in ranges) for number in screened.gone)


def _place_index(transaction: Transaction, index: StagedIndex) -> tuple[str, ...]:
    """Move the index files to their names; return these."""
    placed = {
        layout.BOOTSTRAP_PARTITIONS_INDEX: index.partitions,
        layout.BOOTSTRAP_FILEIDS_INDEX: index.fileids,
    }
    place_files(transaction, placed)
    return tuple(placed)
