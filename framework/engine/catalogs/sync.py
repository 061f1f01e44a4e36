"""The sync of a table with its catalog: observe, plan, write; repeatable at any point."""

from __future__ import annotations

import importlib.metadata
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final, Protocol

from framework.engine.catalogs.connect import connect
from framework.engine.catalogs.partition_scope import CompletedCommits, scope_since
from framework.engine.catalogs.port import Catalog, catalog_error
from framework.engine.events import Events, StageFinished, StageStarted
from framework.engine.reading.table import Table, open_table
from framework.engine.reading.views import LISTED, Views
from framework.errors import AfterCommitError, FrameworkError
from framework.plan.catalogs.definitions import TableFacts, tables_of
from framework.plan.catalogs.registered import RegisteredTable
from framework.plan.catalogs.sync_plan import (
    PartitionScope,
    SyncPlan,
    TableSync,
    partition_of,
    plan_table,
)
from framework.plan.catalogs.target import CatalogTarget
from framework.plan.catalogs.words import sync_text

__all__ = ["Connect", "observe_sync", "run_sync", "sync_after", "sync_failed"]

_STAGE: Final = "sync"
_NOTHING: Final = PartitionScope(live=())


class Connect(Protocol):
    """Opens the catalog of a target."""

    def __call__(self, target: CatalogTarget) -> AbstractContextManager[Catalog]:
        """Return the catalog; it is connected within the block."""
        ...


def observe_sync(
    location: str, target: CatalogTarget, catalog: Catalog, views: Views = LISTED
) -> SyncPlan:
    """Return the plan to sync the table at a location; changes nothing.

    Costs one request to the catalog for the database and for each table, one for each thousand
    partitions in scope, a stat for each commit, and what `scope_since` says.

    Raises:
        CatalogError: the catalog does not answer; `catalog/no-database`.
        PlanError: see `tables_of` and `plan_table`.
        EngineError: the table cannot be read.
    """
    table = open_table(location)
    commits = CompletedCommits(table.storage, table.timeline)
    creates = not catalog.has_database(target.database)
    if creates and not target.create_database:
        raise catalog_error(
            "no-database",
            f"the catalog has no database '{target.database}'",
            place=target.place,
            remedy="Create it, or set `catalog.create_database: true`.",
        )
    wanted = tables_of(target, _facts(table, commits))
    return SyncPlan(
        location=location,
        place=target.place,
        database=target.database,
        creates_database=creates,
        last_commit=commits.last,
        tables=tuple(_table_sync(table, commits, each, catalog, views) for each in wanted),
    )


def _facts(table: Table, commits: CompletedCommits) -> TableFacts:
    return TableFacts(
        location=table.storage.location,
        type=table.properties.table_type,
        schema=table.schema,
        partition=tuple(each.name for each in table.partition),
        last_commit=commits.last,
        last_completion=commits.last_completion,
        spark_version=importlib.metadata.version("pyspark"),
    )


def _table_sync(
    table: Table,
    commits: CompletedCommits,
    wanted: RegisteredTable,
    catalog: Catalog,
    views: Views,
) -> TableSync:
    """Return what a sync does to one table of the catalog."""
    found = catalog.table(wanted.database, wanted.name)
    if found is not None:
        plan_table(wanted, found, _NOTHING, ())  # refuses another's table before it is read
    scope = scope_since(table, commits, found, views) if wanted.partition_columns else _NOTHING
    if found is None:
        return plan_table(wanted, None, scope, ())
    paths = (*scope.live, *scope.emptied)
    values = None if scope.is_all else [partition_of(wanted, path).values for path in paths]
    present = () if not paths and not scope.is_all else catalog.partitions(found, values)
    return plan_table(wanted, found, scope, present)


def run_sync(plan: SyncPlan, catalog: Catalog) -> None:
    """Write a plan into the catalog.

    The last commit of a table is written after its partitions, so that a sync that dies is repeated
    by the next.

    Raises:
        CatalogError: the catalog does not answer, or refuses.
    """
    if plan.creates_database:
        catalog.create_database(plan.database)
    for each in plan.tables:
        if each.has_changes:
            _write(each, catalog)


def _write(sync: TableSync, catalog: Catalog) -> None:
    first = sync.first
    if first is not None:
        catalog.put_table(first, creates=sync.creates, cascades=sync.cascades)
    if sync.has_partitions:
        catalog.put_partitions(sync)
    if sync.creates or sync.changes:
        new = sync.creates and first is None
        cascades = sync.cascades and first is None
        catalog.put_table(sync.table, creates=new, cascades=cascades)


def sync_after(
    location: str,
    target: CatalogTarget,
    *,
    views: Views = LISTED,
    events: Events,
    opening: Connect = connect,
) -> SyncPlan:
    """Sync a table after a run, whose commit stands; return what was done.

    Raises:
        AfterCommitError: `catalog/sync-failed`.
    """
    begun = time.monotonic()
    events(StageStarted(stage=_STAGE))
    try:
        with opening(target) as catalog:
            plan = observe_sync(location, target, catalog, views)
            run_sync(plan, catalog)
    except FrameworkError as error:
        raise sync_failed(error, location) from error
    seconds = time.monotonic() - begun
    events(StageFinished(stage=_STAGE, seconds=seconds, summary=sync_text(plan)))
    return plan


def sync_failed(error: FrameworkError, location: str) -> AfterCommitError:
    """Return the error of a sync that failed; the caller raises it `from error`."""
    return AfterCommitError(
        "catalog/sync-failed",
        f"the table is published, but its catalog is not up to date: {error.message}"
        f" [{error.condition}]",
        where=replace(error.where, table=error.where.table or location),
        remedy=f"{error.remedy} Then run `run-pipeline sync`.".lstrip(),
    )
