"""The last stage of a load: names for the files, and one atomic instant."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from framework.engine.loaded import load_facts
from framework.engine.quarantine.settling import settle_rows_aside
from framework.engine.writing.load import load_of, load_plan
from framework.engine.writing.replacing import replaced_groups
from framework.hudi.commit.linking import check_listing, link_files
from framework.hudi.commit.transaction import Publication, finish, publish
from framework.hudi.table.properties import new_table_properties, table_names
from framework.hudi.table.schema import avro_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from framework.engine.course import Course, Run
    from framework.engine.writing.load import Load

__all__ = ["commit_load"]


def commit_load(work: Run, course: Course) -> Course:
    """Give the files their names, publish, clean up."""
    transaction, load = load_of(course)
    if course.audited is None:
        raise ValueError("only audited files are published")
    segments = course.audited.written.segments
    settle_rows_aside(work, course)
    link_files(transaction, segments)
    check_listing(transaction, segments)
    audited = work.timed(course.audited)
    instant = publish(transaction, audited, _publication(work, load))
    course.keeping.close()
    finish(transaction)
    done = f"instant {instant.requested_time} published"
    return replace(course, audited=audited, instant=instant.requested_time, summary=done)


def _publication(work: Run, load: Load) -> Publication:
    """Return what the commit says beyond its files."""
    target, plan = work.plan.target, load_plan(work)
    avro = avro_schema(_schema(load), table=table_names(target.name)[1])
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
        },
        properties=properties,
        replaced=replaced_groups(load, plan, work.views),
    )


def _schema(load: Load) -> pa.Schema:
    """Return the table's columns after the load."""
    schema = load.schema or (load.table.schema if load.table else None)
    if schema is None:
        raise ValueError("the stages of a load come in their order")
    return schema
