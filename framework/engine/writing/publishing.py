"""The last stage of a load: names for the files, and one atomic instant."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from framework.engine.reading.patterns import choose_partitions
from framework.engine.writing.existing import latest_slices
from framework.engine.writing.load import load_of, load_plan
from framework.engine.writing.loaded import load_facts
from framework.hudi.commit.linking import check_listing, link_files
from framework.hudi.commit.transaction import Publication, finish, publish
from framework.hudi.table.properties import new_table_properties, table_names
from framework.hudi.table.schema import avro_schema
from framework.hudi.view.listing import ListingView
from framework.vocabulary import WriteOperation

if TYPE_CHECKING:
    import pyarrow as pa

    from framework.engine.course import Course, Run
    from framework.engine.reading.table import Table
    from framework.engine.writing.load import Load
    from framework.plan.load import LoadPlan

__all__ = ["commit_load"]

_REPLACES: Final = frozenset({WriteOperation.INSERT_OVERWRITE, WriteOperation.DELETE_PARTITION})


def commit_load(work: Run, course: Course) -> Course:
    """Give the files their names, publish, clean up."""
    transaction, load = load_of(course)
    if course.audited is None:
        raise ValueError("only audited files are published")
    segments = course.audited.written.segments
    link_files(transaction, segments)
    check_listing(transaction, segments)
    instant = publish(transaction, course.audited, _publication(work, load))
    course.keeping.close()
    finish(transaction)
    done = f"instant {instant.requested_time} published"
    return replace(course, instant=instant.requested_time, summary=done)


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
        replaced=_replaced(load, plan),
    )


def _schema(load: Load) -> pa.Schema:
    """Return the table's columns after the load."""
    schema = load.schema or (load.table.schema if load.table else None)
    if schema is None:
        raise ValueError("the stages of a load come in their order")
    return schema


def _replaced(load: Load, plan: LoadPlan) -> dict[str, tuple[str, ...]]:
    """Return the file ids that the commit hides, by partition path.

    Raises:
        PlanError: `read/partition-matches-nothing`, `read/bad-glob`.
    """
    if load.table is None or plan.operation not in _REPLACES:
        return {}
    hidden: dict[str, list[str]] = defaultdict(list)
    for each in latest_slices(load.table, _hidden_partitions(load, load.table, plan)):
        hidden[each.group.partition_path].append(each.group.file_id)
    return {path: tuple(ids) for path, ids in hidden.items()}


def _hidden_partitions(load: Load, table: Table, plan: LoadPlan) -> frozenset[str]:
    """Return the partitions that are replaced."""
    if load.compared is not None:
        return frozenset(load.compared.inserts)
    paths = list(ListingView(table.storage, table.timeline).partitions())
    place = table.storage.location
    chosen = (choose_partitions(paths, pattern, table=place) for pattern in plan.partitions)
    return frozenset(path for each in chosen for path in each)
