"""A sync in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from framework.plan.catalogs.sync_plan import SyncPlan, TableSync
from framework.plan.words import count_text

__all__ = ["SyncDocument", "SyncedTable", "sync_document", "sync_text", "table_text"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedTable:
    """What a sync did, or would do, to one table; partitions are named by their locations."""

    name: str
    creates: bool
    changes: tuple[str, ...]
    partitions_added: tuple[str, ...]
    partitions_moved: tuple[str, ...]
    partitions_dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncDocument:
    """A sync, for JSON."""

    catalog: str
    database: str
    creates_database: bool
    last_commit: str
    has_changes: bool
    tables: tuple[SyncedTable, ...]


def sync_document(plan: SyncPlan) -> SyncDocument:
    """Return a sync as it is printed."""
    return SyncDocument(
        catalog=plan.place,
        database=plan.database,
        creates_database=plan.creates_database,
        last_commit=plan.last_commit,
        has_changes=plan.has_changes,
        tables=tuple(map(_synced, plan.tables)),
    )


def _synced(sync: TableSync) -> SyncedTable:
    return SyncedTable(
        name=sync.table.name,
        creates=sync.creates,
        changes=sync.changes,
        partitions_added=tuple(each.location for each in sync.add),
        partitions_moved=tuple(each.location for each in sync.change),
        partitions_dropped=tuple(each.location for each in sync.drop),
    )
