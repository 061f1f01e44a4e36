"""`run-pipeline sync`: registers the tables of specs in their catalogs, after any run."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict

from framework.cli.options import Format, JsonFormat, Place, Target, Variables, pairs
from framework.cli.places import NamedTable, tables_of
from framework.cli.render.console import clean
from framework.cli.services import DryRun, Service, run_service
from framework.cli.usage import usage_error
from framework.engine.catalogs.connect import connect
from framework.engine.catalogs.port import Catalog
from framework.engine.catalogs.sync import observe_sync, run_sync, sync_failed
from framework.errors import CatalogError, PlanError, Where
from framework.plan.catalogs.sync_plan import SyncPlan
from framework.plan.catalogs.target import CatalogTarget, catalog_of
from framework.plan.catalogs.words import sync_document, sync_text

__all__ = ["command"]


def command(
    place: Place = None,
    dry_run: DryRun = False,
    target: Target = None,
    var: Variables = None,
    form: Format = JsonFormat.TEXT,
) -> int:
    """Register the tables of specs in the catalogs that they name, as each run does.

    Writes what differs: tables, columns, properties, and the partitions that commits changed since
    the last sync. Repeatable; starts no Spark. If it fails (exit 6), the tables stay as they are.
    """
    if place is not None and not place.endswith((".yml", ".yaml")):
        raise usage_error("needs-spec", f"{place} is not a spec", "its section `catalog` is needed")
    tables = [
        each for each in tables_of(place, target, pairs(var, "--var")) if place or _target(each)
    ]
    if not tables:
        raise usage_error("no-catalog", "no spec below this folder names a catalog")
    with ExitStack() as stack:
        return run_service(tables, _service(stack, dry_run=dry_run), dry_run=dry_run, form=form)


def _service(stack: ExitStack, *, dry_run: bool) -> Service[SyncPlan, SyncPlan]:
    """Return the sync as a service; connections stay open until the stack is closed."""
    opened: dict[str, Catalog] = {}

    def observe(table: NamedTable) -> SyncPlan:
        target = _required(table)
        try:
            catalog = stack.enter_context(connect(target))
            plan = observe_sync(table.location, target, catalog)
        except CatalogError as error:
            raise (error if dry_run else sync_failed(error, table.location)) from error
        opened[table.location] = catalog
        return plan

    def run(plan: SyncPlan) -> SyncPlan | None:
        if not plan.has_changes:
            return None
        try:
            run_sync(plan, opened[plan.location])
        except CatalogError as error:
            raise sync_failed(error, plan.location) from error
        return plan

    return Service(
        observe=observe,
        run=run,
        plan_text=lambda plan: clean(sync_text(plan)),
        done_text=lambda plan: f"synced up to {plan.last_commit}",
        as_json=lambda plan, done: {**asdict(sync_document(plan)), "synced": done is not None},
    )


def _target(table: NamedTable) -> CatalogTarget | None:
    return None if table.spec is None else catalog_of(table.spec)


def _required(table: NamedTable) -> CatalogTarget:
    """Return where the table is registered.

    Raises:
        PlanError: `catalog/no-section`.
    """
    found = _target(table)
    if found is None:
        raise PlanError(
            "catalog/no-section",
            "the spec names no catalog, or has `enabled: false`",
            where=Where(file=table.named),
            remedy="Write a section `catalog`, such as `{type: hive, uri: thrift://host:9083}`.",
        )
    return found
