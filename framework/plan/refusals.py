"""Tables that must not be touched, whatever the spec says."""

from __future__ import annotations

from framework.errors import (
    CommitConflictError,
    LeaseHeldError,
    UnsupportedTableError,
    Where,
)
from framework.hudi.table.layout import LAYOUT_VERSION, PROPERTIES, TABLE_VERSION
from framework.hudi.table.supported import unsupported_entries
from framework.plan.observation import PendingRun, TableState
from framework.plan.words import listing

__all__ = ["refuse_foreign_pending", "refuse_held", "refuse_unsupported"]


def refuse_held(pending: PendingRun | None, table: TableState) -> None:
    """Raise `LeaseHeldError` (`lease/held`) while a live run of ours holds the table."""
    if pending is not None and pending.held_by is not None:
        raise LeaseHeldError(
            "lease/held",
            f"run {pending.write_id} holds the table: {pending.held_by}",
            where=Where(table=table.location, instant=pending.instant),
            remedy="Wait for it to end, then run again.",
        )


def refuse_unsupported(table: TableState) -> None:
    """Raise `UnsupportedTableError` for a table that this version cannot keep right.

    Conditions: `table/version`, `table/metadata-table` and `table/property-not-supported`.
    """
    found = table.properties
    place = Where(table=table.location)
    if found is not None and (found.version, found.layout) != (TABLE_VERSION, LAYOUT_VERSION):
        raise UnsupportedTableError(
            "table/version",
            f"the table has version {found.version} and timeline layout {found.layout}; "
            f"supported are version {TABLE_VERSION} and layout {LAYOUT_VERSION}",
            where=place,
            remedy=(
                "Another writer upgraded it. While skeletons are left, read it with "
                "hoodie.enable.data.skipping=false, or downgrade it with Apache Hudi's CLI."
            ),
        )
    if table.metadata_table:
        raise UnsupportedTableError(
            "table/metadata-table",
            "the table has a Hudi metadata table, which a commit of ours would leave behind",
            where=place,
            remedy=(
                "Delete it with Apache Hudi (hoodie.metadata.enable=false on its next write, or "
                "`call delete_metadata_table`), and keep hoodie.metadata.enable=false."
            ),
        )
    for entry in () if found is None else unsupported_entries(found):
        raise UnsupportedTableError(
            "table/property-not-supported",
            f"the table has {entry.key}={entry.value}: {entry.why}",
            where=Where(table=table.location, file=PROPERTIES),
            remedy="Write it with Apache Hudi, or make a new table from its rows.",
        )


def refuse_foreign_pending(table: TableState) -> None:
    """Raise `CommitConflictError` (`table/foreign-pending`) beside another writer's instant."""
    if table.foreign_pending:
        raise CommitConflictError(
            "table/foreign-pending",
            f"another writer has begun {listing(table.foreign_pending)} and not ended it",
            where=Where(table=table.location, instant=table.foreign_pending[0]),
            remedy="Wait for that writer, or let Apache Hudi roll its dead write back.",
        )
