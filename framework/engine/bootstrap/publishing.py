"""From audited files to a published instant: index, names, last looks, commit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from framework.engine.bootstrap.course import (
    begun_job,
    source_uri,
    table_schemas,
    work_ranges,
)
from framework.engine.bootstrap.drift_check import check_drift
from framework.engine.bootstrap.index_groups import index_groups
from framework.engine.course import begun
from framework.engine.quarantine.settling import settle_rows_aside
from framework.hudi.bootstrap.index import write_index
from framework.hudi.commit.linking import check_listing, link_files, place_files
from framework.hudi.commit.transaction import Publication, finish, publish
from framework.hudi.table.layout import (
    BOOTSTRAP_FILEIDS_INDEX,
    BOOTSTRAP_INSTANT,
    BOOTSTRAP_PARTITIONS_INDEX,
    join,
)
from framework.hudi.table.properties import new_table_properties
from framework.plan.facts import FACTS_KEY
from framework.plan.partitions import totals
from framework.vocabulary import BootstrapMode

if TYPE_CHECKING:
    from framework.engine.course import Course, Run
    from framework.hudi.commit.intent import Transaction

__all__ = ["commit_files", "write_index_files"]


def write_index_files(work: Run, course: Course) -> Course:
    """Write both files of the bootstrap index into the run's folder."""
    transaction, _ = begun_job(course)
    groups = index_groups(work.storage, course.segments, source_uri(work.plan))
    partitions, fileids = _staged_index(transaction)
    work.storage.delete(partitions, fileids)
    with (
        work.storage.create(partitions) as partitions_out,
        work.storage.create(fileids) as fileids_out,
    ):
        write_index(
            partitions_out,
            fileids_out,
            base_uri=source_uri(work.plan),
            groups=groups,
            created_ms=work.clock.now_ms(),
        )
    return course.saying(f"{len(work.plan.of_mode(BootstrapMode.METADATA_ONLY)):,} partitions")


def commit_files(work: Run, course: Course) -> Course:
    """Give the files their names, compare the source once more, publish, clean up."""
    transaction, job = begun_job(course)
    if course.audited is None:
        raise ValueError("only audited files are published")
    segments = course.audited.written.segments
    settle_rows_aside(work, course)
    link_files(transaction, segments)
    required = _place_index(work, course)
    check_listing(transaction, segments)
    check_drift(work.tasks, job.key_source, work_ranges(work.plan.partitions))
    audited = work.timed(course.audited)
    instant = publish(transaction, audited, _publication(work, course, required))
    course.keeping.close()
    finish(transaction)
    done = f"instant {instant.requested_time} published"
    return replace(course, audited=audited, instant=instant.requested_time, summary=done)


def _publication(work: Run, course: Course, required: tuple[str, ...]) -> Publication:
    plan, intent = work.plan, begun(course).intent
    target = plan.target
    _, avro = table_schemas(plan)
    facts = plan.facts(write_id=intent.write_id, instant=intent.requested_time)
    made_full = _made_full(work, course)
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
        bootstrap_base_path=source_uri(work.plan) if required else None,
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


def _made_full(work: Run, course: Course) -> int:
    """Return how many files of `metadata_only` partitions lose rows, so that they are full."""
    partitions = work.plan.of_mode(BootstrapMode.METADATA_ONLY)
    ranges = [(each.first, each.stop) for each in partitions]
    return sum(any(a <= number < b for a, b in ranges) for number in course.screened.gone)


def _place_index(work: Run, course: Course) -> tuple[str, ...]:
    """Give the index files their names; return them, none where the table has no skeleton."""
    transaction = begun(course)
    if transaction.intent.requested_time != BOOTSTRAP_INSTANT:
        return ()
    skeletons = totals(work.plan.of_mode(BootstrapMode.METADATA_ONLY)).files
    if skeletons == _made_full(work, course):
        return ()
    partitions, fileids = _staged_index(transaction)
    place_files(
        transaction,
        {BOOTSTRAP_PARTITIONS_INDEX: partitions, BOOTSTRAP_FILEIDS_INDEX: fileids},
    )
    return (BOOTSTRAP_PARTITIONS_INDEX, BOOTSTRAP_FILEIDS_INDEX)


def _staged_index(transaction: Transaction) -> tuple[str, str]:
    folder = join(transaction.intent.staging.root, "index")
    return join(folder, "partitions.hfile"), join(folder, "fileids.hfile")
