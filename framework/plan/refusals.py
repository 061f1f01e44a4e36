"""Planning faults, all reported at once, and refusals of tables that must not be changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from framework import errors
from framework.hudi.table.layout import LAYOUT_VERSION, PROPERTIES, TABLE_VERSION
from framework.hudi.table.supported import unsupported_entries
from framework.plan.observation import PendingRun, TableState
from framework.plan.words import listing
from framework.spec.document.positions import Positions

__all__ = ["Fault", "refuse", "refuse_foreign_pending", "refuse_held", "refuse_unsupported"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One reason why the spec does not fit source or table.

    Attributes:
        condition: stable id, `area/kebab-name`.
        key_path: the key of the spec at fault; "" is the whole.
        message: one sentence, no trailing newline.
        remedy: what to do, or "".
        partition: the partition concerned, if one.
        source: the source file concerned, relative to the source root, if one.
    """

    condition: str
    key_path: str
    message: str
    remedy: str = ""
    partition: str | None = None
    source: str | None = None


def refuse(faults: Sequence[Fault], positions: Positions) -> NoReturn:
    """Raise one `PlanError` that reports every fault, sorted by its place in the spec.

    The error has the condition, place and remedy of the first. With several, the message lists
    each on its own line; `__cause__` holds them as findings, for code frames.
    """
    findings = tuple(sorted((_finding(fault, positions) for fault in faults), key=_place))
    first = findings[0]
    if len(findings) == 1:
        message = first.message
    else:
        lines = "".join(f"\n  {f.where}: {f.message} [{f.rule}]" for f in findings)
        message = f"the spec has {len(findings)} faults:{lines}"
    raise errors.PlanError(
        first.rule, message, where=first.where, remedy=first.suggestion or ""
    ) from errors.SpecError(findings)


def _finding(fault: Fault, positions: Positions) -> errors.Finding:
    """Return the fault as a finding with its place in the spec."""
    message = f"{fault.source}: {fault.message}" if fault.source else fault.message
    found = positions.finding(
        fault.condition, fault.key_path, message, suggestion=fault.remedy or None
    )
    return replace(found, where=replace(found.where, partition=fault.partition))


def _place(finding: errors.Finding) -> tuple[int, int, str, str]:
    """Return the sort key: line, column, rule and partition."""
    where = finding.where
    return (where.line or 0, where.column or 0, finding.rule, where.partition or "")


def refuse_held(pending: PendingRun | None, table: TableState) -> None:
    """Raise `LeaseHeldError` (`lease/held`) while a live Lakestrap run holds the table."""
    if pending is not None and pending.held_by is not None:
        raise errors.LeaseHeldError(
            "lease/held",
            f"run {pending.write_id} holds the table: {pending.held_by}",
            where=errors.Where(table=table.location, instant=pending.instant),
            remedy="Wait for it to end, then run again.",
        )


def refuse_unsupported(table: TableState) -> None:
    """Raise `UnsupportedTableError` for a table that this version cannot keep correct.

    Conditions: `table/version`, `table/metadata-table` and `table/property-not-supported`.
    """
    found = table.properties
    place = errors.Where(table=table.location)
    if found is not None and (found.version, found.layout) != (TABLE_VERSION, LAYOUT_VERSION):
        raise errors.UnsupportedTableError(
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
        raise errors.UnsupportedTableError(
            "table/metadata-table",
            "the table has a Hudi metadata table, which a Lakestrap commit would leave stale",
            where=place,
            remedy=(
                "Delete it with Apache Hudi (hoodie.metadata.enable=false on its next write, or "
                "`call delete_metadata_table`), and keep hoodie.metadata.enable=false."
            ),
        )
    for entry in () if found is None else unsupported_entries(found):
        raise errors.UnsupportedTableError(
            "table/property-not-supported",
            f"the table has {entry.key}={entry.value}: {entry.why}",
            where=errors.Where(table=table.location, file=PROPERTIES),
            remedy="Write it with Apache Hudi, or make a new table from its rows.",
        )


def refuse_foreign_pending(table: TableState) -> None:
    """Raise `CommitConflictError` (`table/foreign-pending`) if another writer is pending."""
    if table.foreign_pending:
        raise errors.CommitConflictError(
            "table/foreign-pending",
            f"another writer started {listing(table.foreign_pending)} and has not finished",
            where=errors.Where(table=table.location, instant=table.foreign_pending[0]),
            remedy="Wait for that writer, or let Apache Hudi roll back its failed write.",
        )
