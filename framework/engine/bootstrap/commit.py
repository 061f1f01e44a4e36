"""From audited files to a published instant: index, names, last looks, commit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from framework.engine.bootstrap.drift_check import check_drift
from framework.engine.bootstrap.index_groups import index_groups
from framework.engine.bootstrap.ranges import source_uri, table_schemas, work_ranges
from framework.engine.run.context import Committed
from framework.engine.run.quarantined_rows import name_quarantined_rows
from framework.hudi.bootstrap.index import write_index
from framework.hudi.commit.links import check_listing, link_files, place_files
from framework.hudi.commit.transaction import Publication, finish, publish
from framework.hudi.table.layout import (
    BOOTSTRAP_FILEIDS_INDEX,
    BOOTSTRAP_PARTITIONS_INDEX,
    join,
)
from framework.hudi.table.properties import new_table_properties
from framework.plan.facts import FACTS_KEY
from framework.plan.partitions import totals
from framework.vocabulary import BootstrapMode

if TYPE_CHECKING:
    from framework.engine.audit.screen import Screened
    from framework.engine.bootstrap.begin import Begun
    from framework.engine.run.state import RunState
    from framework.hudi.commit.files import AuditedFiles, WrittenFiles
    from framework.hudi.commit.intent import Transaction
    from framework.plan.definition import Plan
    from framework.plan.stages import CommitBootstrap, Index

__all__ = ["StagedIndex", "commit_bootstrap", "write_index_files"]


class StagedIndex(NamedTuple):
    """Paths of the index files in the run's folder."""

    partitions: str
    fileids: str


def write_index_files(
    run: RunState, begun: Begun, written: WrittenFiles, stage: Index | None
) -> StagedIndex | None:
    """Write both files of the bootstrap index into the run's folder; None without a stage."""
    if stage is None:
        return None
    ctx, index = run.ctx, _staged_index(begun.transaction)
    with run.stage(stage) as report:
        groups = index_groups(ctx.storage, written.segments, source_uri(ctx.plan))
        ctx.storage.delete(*index)
        with (
            ctx.storage.create(index.partitions) as partitions_out,
            ctx.storage.create(index.fileids) as fileids_out,
        ):
            write_index(
                partitions_out,
                fileids_out,
                base_uri=source_uri(ctx.plan),
                groups=groups,
                created_ms=ctx.clock.now_ms(),
            )
        report.summary = f"{stage.partitions:,} partitions"
    return index


def commit_bootstrap(  # noqa: PLR0913, PLR0917  what the steps before it returned
    run: RunState,
    begun: Begun,
    screened: Screened,
    audited: AuditedFiles,
    index: StagedIndex | None,
    stage: CommitBootstrap,
) -> Committed:
    """Give the files their names, compare the source once more, publish, clean up."""
    ctx, transaction, segments = run.ctx, begun.transaction, audited.written.segments
    with run.stage(stage) as report:
        name_quarantined_rows(ctx, begun.intent, screened)
        link_files(transaction, segments)
        made_full = _made_full(ctx.plan, screened)
        skeletons = totals(ctx.plan.of_mode(BootstrapMode.METADATA_ONLY)).files - made_full
        required = _place_index(transaction, index) if index and skeletons else ()
        check_listing(transaction, segments)
        check_drift(ctx.tasks, begun.job.keys, work_ranges(ctx.plan.partitions))
        audited = ctx.timed(audited)
        publication = _publication(ctx.plan, begun, made_full, required)
        instant = publish(transaction, audited, publication)
        run.stop_renewal()
        finish(transaction)
        report.summary = f"instant {instant.requested_time} published"
    return Committed(instant=instant.requested_time, audited=audited)


def _publication(
    plan: Plan, begun: Begun, made_full: int, required: tuple[str, ...]
) -> Publication:
    """Return what the commit says beyond its files."""
    intent, target = begun.intent, plan.target
    _, avro = table_schemas(plan)
    facts = plan.facts(write_id=intent.write_id, instant=intent.requested_time)
    facts = replace(facts, skeletons=facts.skeletons - made_full, full=facts.full + made_full)
    described = json.loads(facts.as_json()) | {
        "key_rule": target.key_rule.as_json(),
        "files": plan.taken.files,
    }
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
            FACTS_KEY: json.dumps(described, sort_keys=True, ensure_ascii=False),
            "lakestrap.spec": target.spec_json,
        },
        properties=properties.render(),
        required=required,
    )


def _made_full(plan: Plan, screened: Screened) -> int:
    """Return how many files of `metadata_only` partitions lose rows, so that they are full."""
    partitions = plan.of_mode(BootstrapMode.METADATA_ONLY)
    ranges = [(each.first, each.stop) for each in partitions]
    return sum(any(a <= number < b for a, b in ranges) for number in screened.gone)


def _place_index(transaction: Transaction, index: StagedIndex) -> tuple[str, ...]:
    """Give the index files their names; return them."""
    placed = {
        BOOTSTRAP_PARTITIONS_INDEX: index.partitions,
        BOOTSTRAP_FILEIDS_INDEX: index.fileids,
    }
    place_files(transaction, placed)
    return tuple(placed)


def _staged_index(transaction: Transaction) -> StagedIndex:
    folder = join(transaction.intent.staging.root, "index")
    return StagedIndex(join(folder, "partitions.hfile"), join(folder, "fileids.hfile"))
