"""The last step of a load: file names, and one atomic instant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from framework.engine.load.begin import load_plan, new_files
from framework.engine.load.job import AuditedLoad, Opened
from framework.engine.quarantine.record import PLACE
from framework.engine.reading.load_history import load_facts
from framework.engine.reading.table_memory import HashSet, TableMemory, store_memory, text_hash
from framework.engine.run.quiet import wait_until_quiet
from framework.engine.run.state import Committed, RunContext, RunState, name_quarantined_rows
from framework.hudi.commit.links import check_listing, link_files
from framework.hudi.commit.statuses import AuditedFiles
from framework.hudi.commit.transaction import Publication, finish, publish
from framework.hudi.table.properties import new_table_properties, table_names
from framework.hudi.table.schema import avro_schema
from framework.plan.stages import CommitLoad

__all__ = ["commit_load"]


def commit_load(
    run: RunState, opened: Opened, audited: AuditedLoad, stage: CommitLoad
) -> Committed:
    """Name the files, publish, clean up."""
    ctx, transaction, segments = run.ctx, opened.transaction, audited.files.written.segments
    with run.stage(stage) as report:
        name_quarantined_rows(ctx, opened.intent, audited.screened)
        link_files(transaction, segments)
        wait_until_quiet(ctx.events, transaction)
        check_listing(transaction, segments)
        files = ctx.timed(audited.files)
        memory = store_memory(ctx.storage, opened.intent, _remembered(ctx, opened, files))
        instant = publish(transaction, files, _publication(ctx, audited, memory))
        run.stop_renewal()
        finish(transaction)
        report.summary = f"instant {instant.requested_time} published"
    return Committed(instant=instant.requested_time, audited=files)


def _remembered(ctx: RunContext, opened: Opened, files: AuditedFiles) -> TableMemory:
    """Return the table's memory including this load; store hashes that do not fit inline.

    A table that another writer created has no immutable fields.
    """
    target, plan, intent = ctx.plan.target, load_plan(ctx), opened.intent
    begun = dict(target.immutable) if plan.creates else {}
    memory = opened.memory or TableMemory(key_rule=target.key_rule, immutable=begun)
    known = memory.loaded.get(plan.source_id, HashSet())
    loaded = known.with_added(ctx.storage, intent, "loaded", new_files(plan))
    new_ids = [] if plan.run_id is None else [text_hash(plan.run_id)]
    released = {} if plan.releases is None else {plan.releases: intent.requested_time}
    place = files.proof.get(PLACE)
    return replace(
        memory,
        loaded={**memory.loaded, plan.source_id: loaded},
        run_ids=memory.run_ids.with_added(ctx.storage, intent, "run-ids", new_ids),
        released={**memory.released, **released},
        places=tuple(dict.fromkeys((*memory.places, *([str(place)] if place else [])))),
    )


def _publication(ctx: RunContext, audited: AuditedLoad, memory: Mapping[str, str]) -> Publication:
    """Return the contents of the commit besides its files."""
    target, plan = ctx.plan.target, load_plan(ctx)
    avro = avro_schema(audited.schema, table=table_names(target.name)[1])
    properties = None
    if plan.creates:
        properties = new_table_properties(
            target.name,
            target.table_type,
            key_properties=target.key_rule.properties(),
            ordering_field=target.ordering[0] if target.ordering else None,
        ).render()
    return Publication(
        extra={
            "schema": json.dumps(avro),
            "lakestrap.spec": target.spec_json,
            **load_facts(target, plan),
            **memory,
        },
        properties=properties,
        replaced=audited.replaced,
        required=audited.plans,
    )
