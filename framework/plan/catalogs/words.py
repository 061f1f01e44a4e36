"""A sync in words."""

from __future__ import annotations

from collections.abc import Iterator

from framework.plan.catalogs.sync_plan import SyncPlan, TableSync
from framework.plan.words import count_text

__all__ = ["sync_document", "sync_text", "table_text"]


def sync_text(plan: SyncPlan) -> str:
    """Return a sync in one line."""
    if not plan.has_changes:
        return f"{plan.place} is up to date"
    parts = [f"{plan.database}.{each.table.name}: {table_text(each)}" for each in plan.tables]
    new = f"new database {plan.database}; " if plan.creates_database else ""
    return f"{plan.place}: {new}{'; '.join(parts)}"


def table_text(sync: TableSync) -> str:
    """Return what a sync does to one table, in a few words."""
    return ", ".join(_parts(sync)) or "up to date"


def _parts(sync: TableSync) -> Iterator[str]:
    if sync.creates:
        yield "new table"
    if sync.changes:
        yield f"new {' and '.join(sync.changes)}"
    for partitions, word in ((sync.add, "added"), (sync.change, "moved"), (sync.drop, "dropped")):
        if partitions:
            yield f"{count_text(len(partitions), 'partition')} {word}"


def sync_document(plan: SyncPlan) -> dict[str, object]:
    """Return a sync as JSON-ready data; partitions are counted, and named by their locations."""
    return {
        "catalog": plan.place,
        "database": plan.database,
        "creates_database": plan.creates_database,
        "last_commit": plan.last_commit,
        "has_changes": plan.has_changes,
        "tables": [
            {
                "name": each.table.name,
                "creates": each.creates,
                "changes": list(each.changes),
                "partitions_added": [part.location for part in each.add],
                "partitions_moved": [part.location for part in each.change],
                "partitions_dropped": [part.location for part in each.drop],
            }
            for each in plan.tables
        ],
    }
